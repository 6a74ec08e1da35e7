//! The handle.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Error, Output, Request, Server, ServerIdentity, TmuxBuilder};
use crate::exchange::{Identify, ServerStamp};
use crate::protocol::CommandList;
use crate::transport::{Caller, Endpoint};

/// A tmux server, by its socket. Cheap to clone and usable from many tasks at once.
///
/// Holding one holds no connection: each call opens its own, which is closed when the call ends
/// or its future is dropped. The server need not be there when this is made, and may be restarted
/// behind it; [`Output::server`] tells which one answered.
///
/// Name the target of every command (`-t %1`): without one tmux takes the session that was used
/// last, which may be anybody's. Commands that act on a client must name it (`-c`, `-t`), or they
/// act on a person's terminal.
///
/// ```no_run
/// # async fn example() -> Result<(), muxwire::Error> {
/// let tmux = muxwire::Tmux::builder().socket_name("work").build()?;
/// let output = tmux.run(["list-panes", "-a", "-F", "#{pane_id}"]).await?.ok()?;
/// for pane in output.stdout.split(|&byte| byte == b'\n') {
///     println!("{}", String::from_utf8_lossy(pane));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Tmux {
    pub(super) inner: Arc<Inner>,
    pub(super) deadline: Option<Duration>,
    pub(super) reply_limit: usize,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) endpoint: Endpoint,
    pub(super) caller: Caller,
    /// Identify without an environment.
    pub(super) bare: Identify,
    /// Identify with the environment, less what would make a pane the default target.
    pub(super) full: Identify,
    /// The server that answered last: its socket file is looked at once, not at every answer.
    pub(super) last_seen: Mutex<Option<Server>>,
}

impl Inner {
    /// The server that put `stamp` under a reply.
    pub(super) fn identify(&self, stamp: ServerStamp) -> Server {
        let mut last_seen = self.last_seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = last_seen.as_ref().map(|server| server.identity);
        let identity = match seen {
            Some(seen) if seen.pid == stamp.pid && seen.start_time == stamp.start_time => seen,
            _ => {
                // Zeros if the file was removed meanwhile: that is another identity too.
                let file = std::fs::metadata(self.endpoint.path());
                let (device, inode) = file.map(|file| (file.dev(), file.ino())).unwrap_or_default();
                let ServerStamp { pid, start_time, .. } = stamp;
                ServerIdentity { device, inode, pid, start_time }
            }
        };
        let server = Server::new(identity, stamp);
        *last_seen = Some(server.clone());
        server
    }
}

impl Tmux {
    /// A handle with defaults: the server of `$TMUX`, else the socket named `default`; 5 s; 64 MiB.
    pub fn builder() -> TmuxBuilder {
        TmuxBuilder::default()
    }

    /// The same handle with another deadline; see [`TmuxBuilder::deadline`].
    #[must_use]
    pub fn with_deadline(&self, deadline: Option<Duration>) -> Self {
        Self { inner: Arc::clone(&self.inner), deadline, ..*self }
    }

    /// The same handle with another limit of replies; see [`TmuxBuilder::reply_limit`].
    #[must_use]
    pub fn with_reply_limit(&self, reply_limit: usize) -> Self {
        Self { inner: Arc::clone(&self.inner), reply_limit, ..*self }
    }

    /// The server that answered last, if any did: what it can do is known without asking it.
    pub(crate) fn last_seen(&self) -> Option<Server> {
        self.inner.last_seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// When a call that begins now is due, for calls of several exchanges.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.deadline.map(|deadline| Instant::now() + deadline)
    }

    /// The same handle with what is left until a call is due.
    pub(crate) fn until(&self, due: Option<Instant>) -> Self {
        self.with_deadline(due.map(|due| due.saturating_duration_since(Instant::now())))
    }

    /// The socket's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.inner.endpoint.path()
    }

    /// The socket's path and what led to it.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.inner.endpoint
    }

    /// Runs a command list: one connection, one round trip (two when a command fails).
    ///
    /// # Errors
    ///
    /// [`Error`]. A command that fails is not an error here; see [`Output::ok`].
    ///
    /// # Cancel safety
    ///
    /// Nothing happens until this is polled. Dropped, or at the deadline, the connection is closed;
    /// whether the commands ran is then unknown. Where a command may have started something
    /// (`run-shell`, `new-window`: all but readers and what types), the connection is handed to a
    /// task of its own instead, which waits up to 10 minutes for the server to be done: a server of
    /// some releases dies of a client that leaves while a job of its runs.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O and time; nothing was sent then.
    ///
    /// # Wire
    ///
    /// `protocol-notes/04-commands.md`, note 4.16.
    pub async fn run(&self, list: impl Into<CommandList>) -> Result<Output, Error> {
        self.request(list).run().await
    }

    /// Runs several command lists in one connection and one round trip. Each stops at its own
    /// first error and the others run all the same.
    ///
    /// That holds for commands that fail when they are run. A list that tmux does not understand (an
    /// unknown command, a wrong flag) is an error of the whole call: the lists before it have run
    /// and those behind it have not.
    ///
    /// The status of a list that stopped is 1; one that failed and ran on (a job's status) is told
    /// when no list stopped. Complaints are told apart when there is one line for each list that
    /// stopped; else each of those lists has them all. No list but the first may wait for
    /// anything (`wait-for`, `run-shell`): once the first has finished, the server ends the reply
    /// without waiting for another, which is an error here.
    ///
    /// # Errors
    ///
    /// [`Error`]; all lists and, where one may start something, the environment together may take
    /// 32 KiB.
    ///
    /// # Cancel safety
    ///
    /// As [`run`](Self::run).
    pub async fn run_all(&self, groups: Vec<CommandList>) -> Result<Vec<Output>, Error> {
        self.requests(groups).run_all().await
    }

    /// Several command lists with options of their own; nothing happens until they are run.
    pub fn requests(&self, groups: Vec<CommandList>) -> Request<'_> {
        Request::new(self, groups)
    }

    /// A command list with options of its own; nothing happens until it is run.
    pub fn request(&self, list: impl Into<CommandList>) -> Request<'_> {
        Request::new(self, vec![list.into()])
    }

    /// The command list of a tmux command line, sent as tmux's own client would send it: with the
    /// caller's whole environment and terminal, on which default targets depend.
    pub fn command_line(
        &self,
        arguments: impl IntoIterator<Item = impl AsRef<[u8]>>,
    ) -> Request<'_> {
        Request::new(self, vec![CommandList::from_command_line(arguments)]).for_command_line()
    }

    /// Which server answers, and its version. One round trip.
    ///
    /// # Errors
    ///
    /// [`Error`].
    ///
    /// # Cancel safety
    ///
    /// As [`run`](Self::run).
    pub async fn server(&self) -> Result<Server, Error> {
        // It prints something of its own, so that the reply is one round trip.
        let output = self.run(["list-commands", "-F", ".", "kill-server"]).await?.ok()?;
        output.server.ok_or_else(Error::no_proof)
    }
}
