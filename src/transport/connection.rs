//! One connection to a server.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use nix::errno::Errno;
use nix::sys::socket::{self, AddressFamily, MsgFlags, SockFlag, SockType, UnixAddr};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Bytes that are read at one time at most: what the server's side of the socket holds.
const READ_SIZE: usize = 65_536;
/// First and longest pause between two tries while the server's backlog is full.
const BUSY_PAUSE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// What is at a socket's path where nothing answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketFile {
    /// A socket that nobody listens on: its server is gone.
    Stale,
    /// Something that is not a socket.
    NotASocket,
}

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectError {
    /// Nothing is at the path.
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// Nobody listens at the path.
    Refused {
        /// The path.
        path: PathBuf,
        /// What is there.
        file: SocketFile,
    },
    /// The system does not let this process connect.
    Denied {
        /// The path.
        path: PathBuf,
        /// The system's error number.
        errno: i32,
    },
    /// The system reports another error.
    Other {
        /// The path.
        path: PathBuf,
        /// The system's error number.
        errno: i32,
    },
}

impl std::fmt::Display for ConnectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing { path } => {
                write!(f, "no tmux server: there is no socket at {}", path.display())
            }
            Self::Refused { path, file: SocketFile::Stale } => write!(
                f,
                "no tmux server: the socket at {} is left over from one that is gone",
                path.display()
            ),
            Self::Refused { path, file: SocketFile::NotASocket } => {
                write!(f, "no tmux server: {} is not a socket", path.display())
            }
            Self::Denied { path, errno } => write!(
                f,
                "the system does not let this process connect to {} ({}); allow that path, or run \
                 as the user who owns the server",
                path.display(),
                Errno::from_raw(*errno).desc()
            ),
            Self::Other { path, errno } => {
                write!(
                    f,
                    "cannot connect to {}: {}",
                    path.display(),
                    Errno::from_raw(*errno).desc()
                )
            }
        }
    }
}

impl std::error::Error for ConnectError {}

impl ConnectError {
    fn new(path: &Path, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::ENOENT | Errno::ENOTDIR => Self::Missing { path },
            Errno::ECONNREFUSED => {
                let is_socket =
                    std::fs::metadata(&path).is_ok_and(|found| found.file_type().is_socket());
                let file = if is_socket { SocketFile::Stale } else { SocketFile::NotASocket };
                Self::Refused { path, file }
            }
            Errno::EACCES | Errno::EPERM => Self::Denied { path, errno: errno as i32 },
            errno => Self::Other { path, errno: errno as i32 },
        }
    }
}

/// One connection; dropping it closes it.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Registered for reading alone, as tokio's sockets cannot be: the runtime would be woken for
    /// nothing because the socket can be written, and again when the server has read the commands.
    reader: pipe::Receiver,
    /// The same socket, once there is more to send.
    writer: Option<UnixStream>,
    buffer: BytesMut,
    send_failed: bool,
}

impl Connection {
    /// Connects to the socket at `path` and sends what of `outgoing` the socket takes at once: as
    /// a rule all of it, in one write. What was sent is taken off `outgoing`.
    ///
    /// Waits without limit while the server's backlog is full.
    ///
    /// # Cancel safety
    ///
    /// Waiting happens before anything is sent: dropped while waiting, nothing was sent.
    pub(crate) async fn open(path: &Path, outgoing: &mut BytesMut) -> Result<Self, ConnectError> {
        let fail = |errno| ConnectError::new(path, errno);
        let address = UnixAddr::new(path).map_err(fail)?;
        let mut pause = BUSY_PAUSE.0;
        let socket = loop {
            let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
            let socket =
                socket::socket(AddressFamily::Unix, SockType::Stream, flags, None).map_err(fail)?;
            match socket::connect(socket.as_raw_fd(), &address) {
                Ok(()) => break socket,
                Err(Errno::EAGAIN | Errno::EINTR) => {
                    drop(socket);
                    tokio::time::sleep(pause).await;
                    pause = BUSY_PAUSE.1.min(pause * 2);
                }
                Err(errno) => return Err(fail(errno)),
            }
        };
        // Before anything is sent: whatever fails up to here has not acted.
        let reader = pipe::Receiver::from_owned_fd_unchecked(socket)
            .map_err(|error| fail(Errno::from_raw(error.raw_os_error().unwrap_or_default())))?;
        // An error here comes back at the first read, with the reply that may stand before it.
        if let Ok(sent) = socket::send(reader.as_raw_fd(), outgoing, MsgFlags::MSG_NOSIGNAL) {
            outgoing.advance(sent);
        }
        let buffer = BytesMut::with_capacity(READ_SIZE);
        Ok(Self { reader, writer: None, buffer, send_failed: false })
    }

    /// Waits until bytes arrive and gives them, empty at the end of the stream; or until some of
    /// `outgoing` was sent, which is then taken off it, and gives `None`.
    ///
    /// # Cancel safety
    ///
    /// Dropped, nothing received is lost.
    pub(crate) async fn transfer(&mut self, outgoing: &mut BytesMut) -> io::Result<Option<&[u8]>> {
        self.buffer.clear();
        if !outgoing.is_empty() && !self.send_failed {
            let writer = match &mut self.writer {
                Some(writer) => writer,
                None => {
                    let socket = self.reader.as_fd().try_clone_to_owned()?;
                    self.writer.insert(UnixStream::from_std(socket.into())?)
                }
            };
            tokio::select! {
                biased;
                read = self.reader.read_buf(&mut self.buffer) => {
                    read?;
                    return Ok(Some(&self.buffer));
                }
                sent = writer.write_buf(outgoing) => {
                    // The reply that may stand before the error is still to be read.
                    self.send_failed = sent.is_err();
                    return Ok(None);
                }
            }
        }
        self.reader.read_buf(&mut self.buffer).await?;
        Ok(Some(&self.buffer))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[tokio::test]
    async fn more_than_the_socket_takes_at_once_is_sent_while_the_peer_talks() {
        const LENGTH: usize = 4 << 20;
        let directory = tempfile::Builder::new().prefix("muxwire-test-").tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let peer = std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let mut first = [0; 1 << 20];
            stream.read_exact(&mut first).unwrap();
            stream.write_all(b"meanwhile").unwrap();
            let mut rest = Vec::new();
            stream.take((LENGTH - first.len()) as u64).read_to_end(&mut rest).unwrap();
            [&first[..], &rest].concat()
        });
        let sent: Vec<u8> = (0..LENGTH).map(|at| at.to_ne_bytes()[0]).collect();
        let mut outgoing = BytesMut::from(&sent[..]);
        let mut connection = Connection::open(&path, &mut outgoing).await.unwrap();
        assert!(!outgoing.is_empty(), "the socket took everything at once");
        let mut received = Vec::new();
        loop {
            match connection.transfer(&mut outgoing).await.unwrap() {
                Some(b"") => break,
                Some(bytes) => received.extend_from_slice(bytes),
                None => {}
            }
        }
        assert!(outgoing.is_empty());
        assert_eq!(received, b"meanwhile");
        assert!(peer.join().unwrap() == sent);
    }

    #[tokio::test]
    async fn what_a_peer_said_before_it_hung_up_is_read_though_sending_fails() {
        let directory = tempfile::Builder::new().prefix("muxwire-test-").tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let peer = std::thread::spawn(move || {
            listener.accept().unwrap().0.write_all(b"refused").unwrap();
        });
        let mut nothing = BytesMut::new();
        let mut connection = Connection::open(&path, &mut nothing).await.unwrap();
        peer.join().unwrap();
        let mut outgoing = BytesMut::from(&b"late"[..]);
        let mut received = Vec::new();
        loop {
            match connection.transfer(&mut outgoing).await.unwrap() {
                Some(b"") => break,
                Some(bytes) => received.extend_from_slice(bytes),
                None => {}
            }
        }
        assert_eq!(received, b"refused");
    }
}
