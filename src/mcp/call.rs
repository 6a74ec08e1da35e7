//! What a tool body is given, and how a call gets to it.

use super::answer::Answer;
use super::arguments::Arguments;
use super::binding::Binding;
use super::caller::CallerPane;
use super::catalogue::{Bound, Catalogue, Entry, Tool};
use super::failure::{Code, Delivery, Failure};
use super::metadata::MAX_QUESTIONS;
use super::options::{Options, Socket};
use super::places::Kept;
use super::reach::Handle;
use super::retention::Retention;
use crate::{ServerIdentity, Tmux};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use std::env;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How much later than the deadline a call is cut off, so that a body's own, better informed error comes first.
const SLACK: Duration = Duration::from_millis(100);

/// Whether this process is known to have started the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// The marker in the server is ours.
    Ours,
    /// It was there, was chosen, or is absent.
    NotOurs,
}

/// Finds the private server, or starts it, and tells whether it is ours. Called once, before the first answer that
/// depends on it, and only when no socket was chosen.
pub(crate) type Prepare =
    for<'a> fn(&'a Context) -> Pin<Box<dyn Future<Output = Ownership> + Send + 'a>>;

/// What all calls of one process share.
#[derive(Debug)]
pub(crate) struct Context {
    /// The start-up options.
    pub(crate) options: Options,
    /// The tools.
    pub(crate) catalogue: Catalogue,
    /// Which server instance is spoken to.
    pub(crate) binding: Binding<ServerIdentity>,
    /// What can be read on.
    pub(crate) captures: Mutex<Retention<Kept>>,
    /// Turns for asking criteria.
    pub(crate) questions: Arc<Semaphore>,
    /// When this process began to serve: where intervals count from. All time here is tokio's, which tests can stop.
    pub(crate) epoch: Instant,
    /// Cancelled when the process ends.
    pub(crate) stop: CancellationToken,
    /// How the server is reached.
    pub(crate) handle: Handle,
    /// The pane that this process runs in, if it is one of the server's.
    pub(crate) caller: Option<CallerPane>,
    /// The server that this process started.
    pub(crate) owned: OnceLock<ServerIdentity>,
    /// Why this process could not start one; follows "it".
    pub(crate) not_started: OnceLock<String>,
    prepare: Prepare,
    /// What became of `prepare`, which no call that is given up takes with it.
    ownership: OnceLock<watch::Receiver<Option<Ownership>>>,
}

impl Context {
    /// A context; no server is contacted yet.
    pub(crate) fn new(options: Options, catalogue: Catalogue, prepare: Prepare) -> Self {
        let handle = Handle::new(&options);
        let socket = handle.get().ok().map(Tmux::path);
        let caller = socket.and_then(|socket| CallerPane::find(socket, |name| env::var_os(name)));
        Self {
            options,
            catalogue,
            binding: Binding::new(),
            captures: Mutex::default(),
            questions: Arc::new(Semaphore::new(MAX_QUESTIONS)),
            epoch: Instant::now(),
            stop: CancellationToken::new(),
            handle,
            caller,
            owned: OnceLock::new(),
            not_started: OnceLock::new(),
            prepare,
            ownership: OnceLock::new(),
        }
    }

    /// Whether the server is ours; the first call for the private socket looks for it, and may start it.
    pub(crate) async fn ownership(self: &Arc<Self>) -> Ownership {
        if self.options.socket != Socket::Private {
            return Ownership::NotOurs;
        }
        let known = self.ownership.get_or_init(|| {
            let (tell, known) = watch::channel(None);
            let context = Arc::clone(self);
            tokio::spawn(async move { tell.send(Some((context.prepare)(&context).await)) });
            known
        });
        let known = known.clone().wait_for(Option::is_some).await.map(|known| *known);
        known.ok().flatten().unwrap_or(Ownership::NotOurs)
    }

    /// Whether this process started that server.
    pub(crate) fn owns(&self, server: &ServerIdentity) -> bool {
        self.owned.get() == Some(server)
    }

    /// Why it is this socket that is spoken to, in a word.
    pub(crate) fn socket_provenance(&self) -> &'static str {
        match self.options.socket {
            Socket::Private => "private",
            Socket::Name(_) => "name",
            Socket::Path(_) => "path",
            Socket::Current(_) => "current",
        }
    }

    /// Whether a tool is offered. The private server is there first, if it can be.
    pub(crate) async fn enables(self: &Arc<Self>, tool: &Tool) -> bool {
        let owned = self.ownership().await == Ownership::Ours;
        self.options.selection.enables(tool.name, tool.toolset, owned)
    }

    /// Whether the tool of a name is offered.
    pub(crate) async fn offers(self: &Arc<Self>, name: &str) -> bool {
        match self.catalogue.find(name) {
            Some(entry) => self.enables(entry.tool).await,
            None => false,
        }
    }
}

/// One call at work.
#[derive(Debug)]
#[allow(dead_code, reason = "no tool so far takes long enough for progress")]
pub(crate) struct Call {
    /// What all calls share.
    pub(crate) context: Arc<Context>,
    /// When an answer is due; tools that bound themselves use it for single exchanges only.
    pub(crate) deadline: Instant,
    progress: Option<Progress>,
}

/// Where the client asked for progress.
#[derive(Debug)]
#[allow(dead_code, reason = "no tool so far takes long enough for progress")]
pub(crate) struct Progress {
    /// The client.
    pub(crate) peer: Peer<RoleServer>,
    /// Its word for this call.
    pub(crate) token: ProgressToken,
}

impl Call {
    /// A call that begins now.
    pub(crate) fn new(context: Arc<Context>, progress: Option<Progress>) -> Self {
        let deadline = Instant::now() + context.options.timeout;
        Self { context, deadline, progress }
    }

    /// Tells the client how far a long call is, if it asked. `done` must grow from one report to the next.
    #[allow(dead_code, reason = "no tool so far takes long enough for progress")]
    pub(crate) async fn report(&self, done: f64, total: Option<f64>, message: &str) {
        let Some(Progress { peer, token }) = &self.progress else {
            return;
        };
        let mut report = ProgressNotificationParam::new(token.clone(), done).with_message(message);
        report.total = total;
        let _ = peer.notify_progress(report).await;
    }

    /// Runs a tool: offered, arguments, body, deadline. Also what a batch does for each of its steps.
    ///
    /// # Cancel safety
    /// Dropping the future drops the body.
    pub(crate) async fn run(&self, entry: &Entry, arguments: &str) -> Result<Answer, Failure> {
        let enabled = tokio::time::timeout_at(self.deadline, self.context.enables(entry.tool));
        let enabled = enabled.await.map_err(|_| {
            Failure::new(
                Code::Deadline,
                "The private tmux server is still being started; call again in a moment.",
            )
        })?;
        if !enabled {
            return Err(Failure::not_enabled());
        }
        let arguments = Arguments::read(arguments, &entry.input)?;
        let body = (entry.tool.run)(self, arguments);
        match entry.tool.bound {
            Bound::Itself => body.await,
            Bound::Deadline => self.in_time(body).await.unwrap_or_else(Err),
        }
    }

    /// Cuts off what overruns the deadline.
    ///
    /// # Errors
    /// `deadline`.
    pub(crate) async fn in_time<T>(&self, body: impl Future<Output = T>) -> Result<T, Failure> {
        let outcome = tokio::time::timeout_at(self.deadline + SLACK, body).await;
        outcome.map_err(|_| {
            Failure::new(Code::Deadline, "The request deadline passed; tmux may have acted.")
                .delivery(Delivery::PossiblySent)
        })
    }
}
