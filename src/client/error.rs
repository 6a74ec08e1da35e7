//! The public error.

use std::path::Path;
use std::time::Duration;

use crate::exchange::{ExchangeError, IdentifyError};
use crate::protocol::CommandError;
use crate::transport::{ConnectError, EndpointError};

/// How far a call had come when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// Nothing that could act reached the server: trying again is safe.
    NotSent,
    /// The commands were sent and the answer did not arrive whole: they may have acted.
    PossiblySent,
    /// The server answered.
    Observed,
}

impl Delivery {
    /// `not_sent`, `possibly_sent` or `observed`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotSent => "not_sent",
            Self::PossiblySent => "possibly_sent",
            Self::Observed => "observed",
        }
    }
}

/// What went wrong, as a decision that a caller can act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What was asked for cannot be sent or has the wrong form. Correct the call.
    InvalidInput,
    /// The socket's directory is not to be trusted, or names no usable path. Choose another.
    Endpoint,
    /// No server is there. Start one, or choose another socket.
    NoServer,
    /// The system does not let this process connect. Allow the path.
    Denied,
    /// The deadline passed. Allow more time; see [`Error::delivery`] before trying again.
    Deadline,
    /// tmux said no; its words are in the message.
    Refused,
    /// There is no session, window, pane or client of that id.
    NotFound,
    /// The server ended during the call.
    ServerGone,
    /// Another server answers than was expected: remembered ids mean something else now.
    ServerChanged,
    /// The view or cursor is not one of this pane with the program that runs in it. Read the pane
    /// without one.
    StaleCursor,
    /// The reply passed the limit. Ask for less, or raise the limit.
    ReplyTooLong,
    /// What tmux listed does not agree with itself. Try again.
    Inconsistent,
    /// A field does not hold what its type says.
    Decode,
    /// This tmux or this system lacks what the call needs.
    Unsupported,
    /// A server could not be started.
    StartFailed,
    /// The bytes are not tmux's protocol, or the connection failed in another way.
    Transport,
}

/// Why a call failed.
///
/// The message says what failed and what to do; it holds paths and tmux's own words, never
/// arguments.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    delivery: Delivery,
    cause: Cause,
}

/// What an [`Error`] was made of.
#[derive(Debug)]
enum Cause {
    Command(CommandError),
    Identify(IdentifyError),
    Endpoint(EndpointError),
    Connect(ConnectError),
    Exchange(ExchangeError),
    Io(std::io::Error),
    Message(String),
}

impl Error {
    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// How far the call had come.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.0.delivery
    }

    /// Whether the same call may succeed later without anything being changed first, and cannot
    /// act twice.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.delivery == Delivery::NotSent
            && matches!(
                self.0.kind,
                ErrorKind::NoServer | ErrorKind::Deadline | ErrorKind::ServerGone
            )
            || self.0.kind == ErrorKind::Inconsistent
    }

    fn build(kind: ErrorKind, delivery: Delivery, cause: Cause) -> Self {
        Self(Box::new(Inner { kind, delivery, cause }))
    }

    pub(crate) fn new(kind: ErrorKind, delivery: Delivery, message: impl Into<String>) -> Self {
        Self::build(kind, delivery, Cause::Message(message.into()))
    }

    /// What the caller gave has the wrong form; nothing was sent.
    pub(crate) fn invalid_input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, Delivery::NotSent, message)
    }

    /// Another server answered than was expected.
    pub(crate) fn server_changed() -> Self {
        let message = "the server was restarted: its ids mean something else now; list it again";
        Self::new(ErrorKind::ServerChanged, Delivery::Observed, message)
    }

    pub(crate) fn deadline(after: Duration, delivery: Delivery) -> Self {
        let what = match delivery {
            Delivery::NotSent => "the server did not take the call",
            _ => "the server did not answer",
        };
        // What is left of a deadline reads as the deadline.
        let steps = if after.as_millis() < 50 { 10_000.0 } else { 100.0 };
        let seconds = (after.as_secs_f64() * steps).round() / steps;
        Self::new(
            ErrorKind::Deadline,
            delivery,
            format!(
                "{what} within {seconds} s: it is stopped or busy; allow more time or look at it"
            ),
        )
    }

    pub(crate) fn connect(error: ConnectError) -> Self {
        let kind = match &error {
            ConnectError::Missing { .. } | ConnectError::Refused { .. } => ErrorKind::NoServer,
            ConnectError::Denied { .. } => ErrorKind::Denied,
            ConnectError::Other { .. } => ErrorKind::Transport,
        };
        Self::build(kind, Delivery::NotSent, Cause::Connect(error))
    }

    pub(crate) fn exchange(error: ExchangeError, delivery: Delivery) -> Self {
        let (kind, delivery) = match &error {
            ExchangeError::Ended { .. } => (ErrorKind::ServerGone, delivery),
            ExchangeError::Refused { .. } => (ErrorKind::Refused, Delivery::Observed),
            ExchangeError::ReplyTooLong { .. } => (ErrorKind::ReplyTooLong, delivery),
            // The server drops the connection before it reads anything more.
            ExchangeError::Version { .. } => (ErrorKind::Unsupported, Delivery::NotSent),
            _ => (ErrorKind::Transport, delivery),
        };
        Self::build(kind, delivery, Cause::Exchange(error))
    }

    pub(crate) fn io(error: std::io::Error, delivery: Delivery) -> Self {
        use std::io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
        let kind = match error.kind() {
            BrokenPipe | ConnectionReset | UnexpectedEof => ErrorKind::ServerGone,
            _ => ErrorKind::Transport,
        };
        Self::build(kind, delivery, Cause::Io(error))
    }

    /// The commands ended well, by their status, and the proof is not there.
    pub(crate) fn no_proof() -> Self {
        let message = "the reply is not whole: the server dropped a command list or its end";
        Self::new(ErrorKind::Transport, Delivery::PossiblySent, message)
    }

    /// The binary at `path` did not start a server; `delivery` tells whether it ran.
    pub(crate) fn start_failed(path: &Path, delivery: Delivery, why: &str) -> Self {
        let message = format!("cannot start a tmux server with {}: {why}", path.display());
        Self::new(ErrorKind::StartFailed, delivery, message)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0.cause {
            Cause::Command(error) => error.fmt(f),
            Cause::Identify(error) => error.fmt(f),
            Cause::Endpoint(error) => error.fmt(f),
            Cause::Connect(error) => error.fmt(f),
            Cause::Exchange(error) => error.fmt(f),
            Cause::Io(error) => write!(f, "the connection to the server failed: {error}"),
            Cause::Message(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.cause {
            Cause::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<CommandError> for Error {
    fn from(error: CommandError) -> Self {
        Self::build(ErrorKind::InvalidInput, Delivery::NotSent, Cause::Command(error))
    }
}

impl From<IdentifyError> for Error {
    fn from(error: IdentifyError) -> Self {
        Self::build(ErrorKind::InvalidInput, Delivery::NotSent, Cause::Identify(error))
    }
}

impl From<EndpointError> for Error {
    fn from(error: EndpointError) -> Self {
        Self::build(ErrorKind::Endpoint, Delivery::NotSent, Cause::Endpoint(error))
    }
}
