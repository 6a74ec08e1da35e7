//! What a command list gave.

use std::borrow::Cow;

use bytes::Bytes;

use crate::exchange::{ServerStamp, TextEncoding};

/// Which server answered: two servers never have the same identity, and to one handle one server
/// never has two. The socket file is looked at when a server is first seen; a server that made its
/// file anew (SIGUSR1) may have another identity to another handle, and zeros stand for a file that
/// was gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ServerIdentity {
    /// Device of the socket file.
    pub device: u64,
    /// Inode of the socket file.
    pub inode: u64,
    /// Process id of the server.
    pub pid: u32,
    /// When the server started, in seconds since the epoch.
    pub start_time: u64,
}

/// The server that gave an answer, as it described itself in that answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Which one it is.
    pub identity: ServerIdentity,
    /// How it passes on control bytes in what commands print.
    pub encoding: TextEncoding,
    version: Bytes,
}

impl Server {
    pub(crate) fn new(identity: ServerIdentity, stamp: ServerStamp) -> Self {
        Self { identity, encoding: stamp.encoding, version: stamp.version }
    }

    /// A server for tests of what stands on an answer.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn for_tests() -> Self {
        let identity = ServerIdentity { device: 1, inode: 2, pid: 3, start_time: 4 };
        Self { identity, encoding: TextEncoding::Raw, version: Bytes::from_static(b"3.3a") }
    }

    /// The version as the server gives it, such as `3.3a`, `next-3.8` or `openbsd-7.6`.
    #[must_use]
    pub fn version(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.version)
    }
}

/// What a command list printed and how it ended.
///
/// A status other than 0 is data, not an error: [`ok`](Self::ok) makes it one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Output {
    /// What the commands printed, byte for byte. Slices of it share its memory.
    pub stdout: Bytes,
    /// What the commands complained of: as a rule one line.
    pub stderr: Bytes,
    /// The exit status that tmux's own client would end with; 0 is success.
    pub status: i32,
    /// Who answered. `None` when the list stopped at an error before its end.
    pub server: Option<Server>,
}

impl Output {
    /// The complaint without its newline, invalid UTF-8 replaced.
    #[must_use]
    pub fn complaint(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.stderr.trim_ascii_end())
    }

    /// Makes a status other than 0 an error.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Refused`](super::ErrorKind::Refused) with tmux's words, or
    /// [`ErrorKind::NotFound`](super::ErrorKind::NotFound) when they say that the target is not
    /// there.
    pub fn ok(self) -> Result<Self, super::Error> {
        if self.status == 0 {
            return Ok(self);
        }
        let complaint = self.complaint();
        let kind = if complaint.starts_with("can't find ") {
            super::ErrorKind::NotFound
        } else {
            super::ErrorKind::Refused
        };
        let message = match &*complaint {
            "" => format!("tmux ended with status {} and said nothing", self.status),
            words => format!("tmux refused: {words}"),
        };
        Err(super::Error::new(kind, super::Delivery::Observed, message))
    }
}
