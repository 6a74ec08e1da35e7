//! How tool bodies reach tmux: one exchange a call, and an answer of the instance that a `ref` demands or none.

use super::arguments::Target;
use super::binding::{Begun, Generation, Reference};
use super::call::Call;
use super::failure::{Code, Delivery, Failure};
use super::metadata::{MAX_ACQUIRED, over};
use super::options::{Options, Socket};
use super::views::Views;
use crate::capture::{CaptureOptions, Screen};
use crate::model::{PaneId, PaneListing, Snapshot};
use crate::{ErrorKind, Server, ServerIdentity, Tmux, TmuxBuilder};
use std::sync::OnceLock;
use tokio::time::Instant;

/// The name of the private socket.
const PRIVATE: &str = "muxwire";

/// The handle on the server, made as soon as its socket has a usable path.
#[derive(Debug)]
pub(crate) struct Handle {
    builder: TmuxBuilder,
    made: OnceLock<Tmux>,
}

impl Handle {
    /// The handle on the socket of the options. Looks at the socket's directory, not for a server.
    pub(crate) fn new(options: &Options) -> Self {
        let builder = Tmux::builder();
        let builder = match &options.socket {
            Socket::Private => builder.socket_name(PRIVATE),
            Socket::Name(name) => builder.socket_name(name),
            Socket::Path(path) | Socket::Current(path) => builder.socket_path(path),
        };
        let handle = Self { builder, made: OnceLock::new() };
        let _ = handle.get();
        handle
    }

    /// The handle. What stood in its way may have been mended meanwhile.
    ///
    /// # Errors
    /// [`ErrorKind::Endpoint`] when the socket has no usable path.
    pub(crate) fn get(&self) -> Result<&Tmux, crate::Error> {
        match self.made.get() {
            Some(tmux) => Ok(tmux),
            None => {
                let tmux = self.builder.clone().build()?;
                Ok(self.made.get_or_init(|| tmux))
            }
        }
    }
}

/// Something that the server showed, and the generation of that server.
#[derive(Debug)]
pub(crate) struct Seen<T> {
    /// What was seen.
    pub(crate) what: T,
    /// The generation in which its ids hold.
    pub(crate) generation: Generation,
}

impl Call {
    /// The handle with what is left of the deadline.
    pub(crate) fn tmux(&self) -> Result<Tmux, Failure> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let tmux = self.context.handle.get().map_err(|error| self.explain(error))?;
        Ok(tmux.with_deadline(Some(left)))
    }

    /// The handle with the whole deadline, for a call that bounds itself and asks more than once.
    pub(crate) fn fresh_tmux(&self) -> Result<Tmux, Failure> {
        let tmux = self.context.handle.get().map_err(|error| self.explain(error))?;
        Ok(tmux.with_deadline(Some(self.context.options.timeout)))
    }

    /// The whole server, of the instance that `reference` demands.
    pub(crate) async fn snapshot(
        &self,
        reference: Option<Reference>,
    ) -> Result<Seen<Snapshot>, Failure> {
        let begun = self.begin(reference)?;
        let snapshot = self.tmux()?.snapshot().await.map_err(|error| self.explain(error))?;
        self.seen(snapshot.server.identity, &begun, snapshot)
    }

    /// The whole server within the limits of a query, of the instance that `generation` demands.
    pub(crate) async fn metadata(
        &self,
        generation: Option<Generation>,
    ) -> Result<Seen<Snapshot>, Failure> {
        let begun = self.context.binding.begin(generation)?;
        let tmux = self.tmux()?.with_reply_limit(MAX_ACQUIRED);
        let snapshot = tmux.snapshot().await.map_err(|error| match error.kind() {
            ErrorKind::ReplyTooLong => over("bytes", MAX_ACQUIRED),
            _ => self.explain(error),
        })?;
        self.seen(snapshot.server.identity, &begun, snapshot)
    }

    /// What the server says of itself.
    pub(crate) async fn server(&self) -> Result<Seen<Server>, Failure> {
        let begun = self.begin(None)?;
        let server = self.tmux()?.server().await.map_err(|error| self.explain(error))?;
        self.seen(server.identity, &begun, server)
    }

    /// The panes of the server, of the instance that `reference` demands.
    pub(crate) async fn panes(
        &self,
        reference: Option<Reference>,
    ) -> Result<Seen<PaneListing>, Failure> {
        let begun = self.begin(reference)?;
        let listing = self.tmux()?.list_panes().await.map_err(|error| self.explain(error))?;
        self.seen(listing.server.identity, &begun, listing)
    }

    /// One pane's screen.
    pub(crate) async fn screen(
        &self,
        target: Target<PaneId>,
        options: &CaptureOptions,
    ) -> Result<Seen<Screen>, Failure> {
        let begun = self.begin(target.reference)?;
        match self.tmux()?.capture(target.id, options).await {
            Ok(screen) => self.seen(screen.server.identity, &begun, screen),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(missing("pane", target.reference))
            }
            Err(error) => Err(self.explain(error)),
        }
    }

    /// Rows of what was seen.
    pub(crate) fn views<'a>(&self, seen: &'a Seen<Snapshot>) -> Views<'a> {
        Views::new(seen, self.caller_on(&seen.what.server.identity))
    }

    /// The pane of that server that this process runs in.
    pub(crate) fn caller_on(&self, server: &ServerIdentity) -> Option<PaneId> {
        self.context.caller?.on(server)
    }

    /// Begins an exchange with the instance that `reference` demands.
    pub(crate) fn begin(
        &self,
        reference: Option<Reference>,
    ) -> Result<Begun<ServerIdentity>, Failure> {
        self.context.binding.begin(reference.map(|reference| reference.generation))
    }

    /// Binds to the instance that answered, and refuses its answer when another was demanded.
    pub(crate) fn seen<T>(
        &self,
        identity: ServerIdentity,
        begun: &Begun<ServerIdentity>,
        what: T,
    ) -> Result<Seen<T>, Failure> {
        let generation = self.context.binding.observe(begun, &identity)?;
        Ok(Seen { what, generation })
    }

    /// The failure of an error; where no private server is, also what to do, or why none could be started.
    pub(crate) fn explain(&self, error: crate::Error) -> Failure {
        let absent = error.kind() == ErrorKind::NoServer;
        let mut failure = Failure::from(error);
        if absent && self.context.options.socket == Socket::Private {
            let why = match self.context.not_started.get() {
                Some(why) => format!(" When this MCP server began, it {why}."),
                None => " This MCP server starts a private one only when it begins: restart it to have that done.".to_owned(),
            };
            failure.message.push_str(&why);
        }
        failure
    }
}

/// A target that is not there: gone when a reference once named it.
pub(crate) fn missing(kind: &str, reference: Option<Reference>) -> Failure {
    let failure = match reference {
        Some(_) => Failure::new(
            Code::StaleTarget,
            format!("The {kind} of the ref is gone; list again to see what there is."),
        ),
        None => Failure::new(
            Code::NotFound,
            format!("There is no such {kind} on this server; list again to see what there is."),
        ),
    };
    failure.delivery(Delivery::Observed)
}
