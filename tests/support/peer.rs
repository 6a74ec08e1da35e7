//! A peer that says what a script says and keeps what it heard.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use muxwire::Tmux;
use muxwire::imsg::{Decoder, Dialect};
use muxwire::protocol::{MessageType, ServerMessage};

use super::{PATIENCE, directory};

/// A message that the client sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) kind: MessageType,
    pub(crate) payload: Vec<u8>,
}

/// A listener that plays a server's part.
pub(crate) struct ScriptedPeer {
    path: PathBuf,
    thread: JoinHandle<Vec<Vec<Heard>>>,
    _directory: tempfile::TempDir,
}

impl ScriptedPeer {
    /// Plays `script` once, to the first client; then hangs up.
    pub(crate) fn play(script: impl FnOnce(&mut Talk) + Send + 'static) -> Self {
        let mut script = Some(script);
        Self::play_times(1, move |_, talk| script.take().expect("one client")(talk))
    }

    /// Plays `script` to this many clients, one after the other.
    pub(crate) fn play_times(
        times: usize,
        mut script: impl FnMut(usize, &mut Talk) + Send + 'static,
    ) -> Self {
        let directory = directory();
        let path = directory.path().join("peer");
        let listener = UnixListener::bind(&path).expect("a socket");
        let play = move || {
            (0..times)
                .map(|time| {
                    let mut talk = Talk::accept(&listener);
                    script(time, &mut talk);
                    talk.heard
                })
                .collect()
        };
        let thread = std::thread::Builder::new().name("peer".into()).spawn(play).expect("a thread");
        Self { path, thread, _directory: directory }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A handle of ours on this peer.
    pub(crate) fn handle(&self, deadline: Duration) -> Tmux {
        let builder = Tmux::builder().socket_path(&self.path);
        builder.deadline(Some(deadline)).build().expect("a handle")
    }

    /// Waits for the script to end; gives what each client said.
    pub(crate) fn finish(self) -> Vec<Vec<Heard>> {
        match self.thread.join() {
            Ok(heard) => heard,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// The peer's end of one connection.
pub(crate) struct Talk {
    stream: UnixStream,
    decoder: Decoder,
    buffer: Vec<u8>,
    heard: Vec<Heard>,
}

impl Talk {
    fn accept(listener: &UnixListener) -> Self {
        listener.set_nonblocking(true).expect("a socket");
        let end = Instant::now() + PATIENCE;
        let stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => panic!("no client came: {error}"),
            }
        };
        stream.set_nonblocking(false).expect("a socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_write_timeout(Some(PATIENCE)).expect("a socket");
        let decoder = Decoder::new(Dialect::Modern);
        Self { stream, decoder, buffer: Vec::new(), heard: Vec::new() }
    }

    /// The next message of the client; `None` when it has hung up.
    pub(crate) fn hear(&mut self) -> Option<Heard> {
        loop {
            let mut input = &self.buffer[..];
            let frame = self.decoder.decode(&mut input).expect("a frame of the client's");
            let heard = frame.map(|frame| Heard {
                kind: MessageType(frame.header.kind),
                payload: frame.payload.to_vec(),
            });
            let used = self.buffer.len() - input.len();
            self.buffer.drain(..used);
            if let Some(heard) = heard {
                self.heard.push(heard.clone());
                return Some(heard);
            }
            let mut piece = [0; 65_536];
            match self.stream.read(&mut piece) {
                Ok(0) => return None,
                Ok(length) => self.buffer.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("the client says nothing and stays: {error}"),
            }
        }
    }

    /// Listens up to the next message of `kind`.
    pub(crate) fn hear_until(&mut self, kind: MessageType) -> Heard {
        loop {
            let heard = self.hear().unwrap_or_else(|| panic!("the client left before {kind}"));
            if heard.kind == kind {
                return heard;
            }
        }
    }

    /// Listens until the client hangs up.
    pub(crate) fn hear_out(&mut self) {
        while self.hear().is_some() {}
    }

    /// Says these bytes; false when the client has hung up.
    pub(crate) fn say_bytes(&mut self, bytes: &[u8]) -> bool {
        match self.stream.write_all(bytes) {
            Ok(()) => true,
            Err(error)
                if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) =>
            {
                false
            }
            Err(error) => panic!("the client does not listen: {error}"),
        }
    }

    /// Says a message; false when the client has hung up.
    pub(crate) fn say(&mut self, message: &ServerMessage<'_>) -> bool {
        let mut bytes = BytesMut::new();
        message.encode(Dialect::Modern, &mut bytes).expect("a message that fits");
        self.say_bytes(&bytes)
    }
}
