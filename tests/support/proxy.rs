//! A proxy between a client and a real server that counts round trips.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use muxwire::Tmux;

use super::{PATIENCE, Server, directory};

/// How long the server must be silent before it is taken to wait for the client.
const SILENCE: Duration = Duration::from_millis(400);

/// What went through in one connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// How often the server needed to hear from the client to go on.
    pub(crate) round_trips: usize,
    /// Bytes from the client that reached the server.
    pub(crate) to_server: usize,
    /// Bytes from the server.
    pub(crate) to_client: usize,
}

/// Relays connections, one after the other, each to its own connection to the server.
///
/// What the client says after the server has begun to answer is held back until the server has
/// been silent for a while: so a round trip is counted only when the server could not do without
/// what the client said, however the bytes happened to be cut.
pub(crate) struct CountingProxy {
    path: PathBuf,
    traffic: Receiver<Traffic>,
    thread: Option<JoinHandle<()>>,
    _directory: tempfile::TempDir,
}

enum Event {
    Client(Vec<u8>),
    Server(Vec<u8>),
    /// One side has hung up.
    End,
}

impl CountingProxy {
    pub(crate) fn new(server: &Server) -> Self {
        let server = server.socket().to_owned();
        Self::to(move || server.clone())
    }

    /// Each connection goes to where it is then said.
    pub(crate) fn to(mut next: impl FnMut() -> PathBuf + Send + 'static) -> Self {
        let directory = directory();
        let path = directory.path().join("proxy");
        let listener = UnixListener::bind(&path).expect("a socket");
        let (report, traffic) = channel();
        let thread = std::thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.expect("a client");
                let Ok(server) = UnixStream::connect(next()) else { return };
                if report.send(relay(&client, &server)).is_err() {
                    return; // the connection that `drop` made
                }
            }
        });
        Self { path, traffic, thread: Some(thread), _directory: directory }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A handle of ours on the server, through this proxy.
    pub(crate) fn handle(&self) -> Tmux {
        let builder = Tmux::builder().socket_path(&self.path);
        builder.deadline(Some(PATIENCE)).build().expect("a handle")
    }

    /// What went through in the next connection that has ended.
    pub(crate) fn next(&self) -> Traffic {
        self.traffic.recv_timeout(PATIENCE).expect("a connection that ended")
    }

    /// What went through in all connections, when none has ended for a while.
    pub(crate) fn all(&self) -> Vec<Traffic> {
        let next = || self.traffic.recv_timeout(Duration::from_millis(300)).ok();
        std::iter::from_fn(next).collect()
    }

    /// Whether every connection that ended was asked for.
    pub(crate) fn is_drained(&self) -> bool {
        self.traffic.try_recv().is_err()
    }
}

impl Drop for CountingProxy {
    fn drop(&mut self) {
        let (_, none) = channel();
        self.traffic = none;
        let _ = UnixStream::connect(&self.path);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn relay(client: &UnixStream, server: &UnixStream) -> Traffic {
    let (events, arrivals) = channel();
    let mut traffic = Traffic::default();
    std::thread::scope(|scope| {
        let from_server = events.clone();
        scope.spawn(move || listen(client, &events, Event::Client));
        scope.spawn(move || listen(server, &from_server, Event::Server));
        let mut held = Vec::new();
        // Whether the server has spoken since it last heard from the client.
        let mut answered = false;
        loop {
            match arrivals.recv_timeout(SILENCE) {
                Ok(Event::Client(bytes)) => {
                    held.extend(bytes);
                    if traffic.round_trips == 0 {
                        traffic.round_trips = 1;
                    }
                    if !answered {
                        send(server, &mut held, &mut traffic);
                    }
                }
                Ok(Event::Server(bytes)) => {
                    answered = true;
                    traffic.to_client += bytes.len();
                    let mut client = client;
                    let _ = client.write_all(&bytes); // it may have gone
                }
                Err(RecvTimeoutError::Timeout) if held.is_empty() => {}
                Err(RecvTimeoutError::Timeout) => {
                    traffic.round_trips += 1;
                    answered = false;
                    send(server, &mut held, &mut traffic);
                }
                Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    });
    traffic
}

fn send(mut server: &UnixStream, held: &mut Vec<u8>, traffic: &mut Traffic) {
    traffic.to_server += held.len();
    let _ = server.write_all(held);
    held.clear();
}

fn listen(mut from: &UnixStream, to: &Sender<Event>, event: impl Fn(Vec<u8>) -> Event) {
    let mut piece = [0; 65_536];
    loop {
        let event = match from.read(&mut piece) {
            Ok(length) if length > 0 => event(piece[..length].to_vec()),
            _ => Event::End,
        };
        let ended = matches!(event, Event::End);
        if to.send(event).is_err() || ended {
            return;
        }
    }
}
