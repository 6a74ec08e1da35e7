//! Moves one exchange over one connection.

use std::path::Path;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::{Delivery, Error};
use crate::exchange::{CommandExchange, Reply};
use crate::transport::Connection;

/// Bytes of standard input that are read at one time at most.
const STDIN_CHUNK: usize = 65_536;
/// What tmux is told when standard input cannot be read.
const EIO: i32 = 5;

/// Standard input for commands that ask for it (`load-buffer -`, `source-file -`).
#[derive(Default)]
pub enum Stdin {
    /// None: such a command fails with "bad file descriptor".
    #[default]
    None,
    /// These bytes, of any length.
    Bytes(Bytes),
    /// What this reader gives, read only when it is asked for.
    Reader(Box<dyn AsyncRead + Send + Sync + Unpin>),
}

impl Stdin {
    pub(super) fn is_offered(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// The next piece, empty at the end. Cancel-safe: a piece that was taken is given.
    async fn next(&mut self, chunk: &mut BytesMut) -> std::io::Result<()> {
        chunk.clear();
        match self {
            Self::None => Ok(()),
            Self::Bytes(bytes) => {
                let length = bytes.len().min(STDIN_CHUNK);
                chunk.extend_from_slice(bytes.get(..length).unwrap_or_default());
                bytes.advance(length);
                Ok(())
            }
            Self::Reader(reader) => {
                chunk.reserve(STDIN_CHUNK);
                reader.read_buf(chunk).await.map(|_| ())
            }
        }
    }
}

impl std::fmt::Debug for Stdin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Bytes(_) => "Bytes",
            Self::Reader(_) => "Reader",
        })
    }
}

/// How long a connection is kept for a server that is not done with it.
const STAY_LIMIT: Duration = Duration::from_secs(600);

/// An exchange on its way, and how far it has come.
#[derive(Debug)]
pub(super) struct Drive {
    exchange: CommandExchange,
    connection: Option<Connection>,
    /// How much of what is to be sent first is command lists: they come last, and while all of
    /// it waits nothing can have acted.
    commands: usize,
    sent: bool,
    /// What was sent may have started something that the server still works at.
    stays: bool,
}

impl Drive {
    /// An exchange that starts with an identify of `identify` bytes; if it `stays`, its connection
    /// is kept until the server is done with it, whatever becomes of this.
    pub(super) fn new(mut exchange: CommandExchange, identify: usize, stays: bool) -> Self {
        let commands = exchange.outgoing().len().saturating_sub(identify);
        Self { exchange, connection: None, commands, sent: false, stays }
    }

    /// How far it has come.
    pub(super) fn delivery(&mut self) -> Delivery {
        self.sent |= self.connection.is_some() && self.exchange.outgoing().len() < self.commands;
        if self.sent { Delivery::PossiblySent } else { Delivery::NotSent }
    }

    /// Runs the exchange to its end, from where it stands.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it stands where it stood and can be run on.
    pub(super) async fn run(&mut self, path: &Path, stdin: &mut Stdin) -> Result<Reply, Error> {
        if self.connection.is_none() {
            let opened = Connection::open(path, self.exchange.outgoing()).await;
            self.connection = Some(opened.map_err(Error::connect)?);
        }
        let mut chunk = BytesMut::new();
        loop {
            // Seen before answers and input are queued behind the command lists.
            self.delivery();
            let Some(connection) = &mut self.connection else {
                return Err(Error::exchange(self.exchange.ended(), self.delivery()));
            };
            let received = if self.exchange.wants_stdin() {
                tokio::select! {
                    biased;
                    read = stdin.next(&mut chunk) => {
                        match read {
                            Err(error) => {
                                let errno = error.raw_os_error().unwrap_or(EIO);
                                self.exchange.stdin_ended(errno);
                            }
                            Ok(()) if chunk.is_empty() => self.exchange.stdin_ended(0),
                            Ok(()) => self.exchange.stdin(&chunk),
                        }
                        continue;
                    }
                    received = connection.transfer(self.exchange.outgoing()) => received,
                }
            } else {
                connection.transfer(self.exchange.outgoing()).await
            };
            self.sent |= self.exchange.outgoing().len() < self.commands;
            let delivery = if self.sent { Delivery::PossiblySent } else { Delivery::NotSent };
            let Some(bytes) = received.map_err(|error| Error::io(error, delivery))? else {
                continue;
            };
            if bytes.is_empty() {
                self.connection = None;
                return Err(Error::exchange(self.exchange.ended(), delivery));
            }
            let received = self.exchange.receive(bytes);
            if let Some(reply) = received.map_err(|error| Error::exchange(error, delivery))? {
                self.connection = None;
                return Ok(reply);
            }
        }
    }
}

/// Keeps the connection of an exchange that was given up until the server is done with it.
///
/// A server of some releases dies, with all its sessions, when a client leaves while a job of its
/// command list runs and the job then prints something or fails.
///
/// # Wire
///
/// `protocol-notes/04-commands.md`, note 4.16.
impl Drop for Drive {
    fn drop(&mut self) {
        if !self.stays || self.delivery() == Delivery::NotSent {
            return;
        }
        let runtime = tokio::runtime::Handle::try_current();
        if let (Some(connection), Ok(runtime)) = (self.connection.take(), runtime) {
            runtime.spawn(see_off(connection, self.exchange.take_rest()));
        }
    }
}

/// Takes in what the server still says, until it is done; nobody waits for it.
async fn see_off(mut connection: Connection, mut exchange: CommandExchange) {
    let end = async {
        loop {
            match connection.transfer(exchange.outgoing()).await {
                Ok(None) => {}
                // What cannot be understood is as good as nothing: only the end counts.
                Ok(Some(bytes)) if !bytes.is_empty() => {
                    if let Ok(Some(_)) = exchange.receive(bytes) {
                        return;
                    }
                }
                Ok(Some(_)) | Err(_) => return,
            }
        }
    };
    // A job that takes longer is not waited for: one that then fails may hurt the server.
    let _ = tokio::time::timeout(STAY_LIMIT, end).await;
}
