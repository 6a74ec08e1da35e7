//! How a tool call fails: the closed list of codes, how far it came, and the error envelope.

pub(crate) use crate::Delivery;
use serde_json::{Map, Value, json};

/// What went wrong. The names on the wire are fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "the list is the contract's, whether or not a tool says each of them")]
pub(crate) enum Code {
    /// Shape, type or range of the arguments; a malformed id or cursor; an unknown key.
    InvalidInput,
    /// Criteria that do not hold together.
    InvalidFilter,
    /// No such session, window, pane, option or buffer.
    NotFound,
    /// A reference of another binding, or to something that is gone.
    StaleTarget,
    /// A cursor that is unknown, expired, evicted or foreign.
    StaleCursor,
    /// A limit would be passed.
    Capacity,
    /// The request deadline passed.
    Deadline,
    /// The client cancelled, or this server is ending.
    Cancelled,
    /// tmux said no.
    Refused,
    /// The tool is not enabled.
    PolicyDenied,
    /// The input guard said no.
    PreflightRefused,
    /// Another authored command holds the pane.
    Busy,
    /// The pane's program is not a shell that we know.
    NoShell,
    /// Needs a control stream and there is none.
    NoStream,
    /// Acquisition was not consistent.
    IncompleteSnapshot,
    /// A field that the query reads does not decode.
    DecodeError,
    /// This tmux or platform lacks what the call needs.
    Unsupported,
    /// The server ended during the call.
    ServerGone,
    /// No server is there.
    NoServer,
    /// Anything else on the wire.
    TransportError,
}

impl Code {
    /// The name on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid_input",
            Self::InvalidFilter => "invalid_filter",
            Self::NotFound => "not_found",
            Self::StaleTarget => "stale_target",
            Self::StaleCursor => "stale_cursor",
            Self::Capacity => "capacity",
            Self::Deadline => "deadline",
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
            Self::PolicyDenied => "policy_denied",
            Self::PreflightRefused => "preflight_refused",
            Self::Busy => "busy",
            Self::NoShell => "no_shell",
            Self::NoStream => "no_stream",
            Self::IncompleteSnapshot => "incomplete_snapshot",
            Self::DecodeError => "decode_error",
            Self::Unsupported => "unsupported",
            Self::ServerGone => "server_gone",
            Self::NoServer => "no_server",
            Self::TransportError => "transport_error",
        }
    }

    /// Whether the same call may succeed a moment later.
    fn passes(self) -> bool {
        matches!(
            self,
            Self::Deadline
                | Self::Busy
                | Self::IncompleteSnapshot
                | Self::ServerGone
                | Self::NoServer
                | Self::TransportError
        )
    }
}

/// A failed call. The message says what failed, why, and what to do next; it never holds argument values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    /// What went wrong.
    pub(crate) code: Code,
    /// For the agent to read.
    pub(crate) message: String,
    /// How far it came.
    pub(crate) delivery: Delivery,
    retryable: Option<bool>,
    details: Map<String, Value>,
}

impl Failure {
    /// A failure before anything was sent.
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message, delivery: Delivery::NotSent, retryable: None, details: Map::new() }
    }

    /// Arguments that are not what the schema asks for.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidInput, message)
    }

    /// The tool is not among those that were chosen.
    pub(crate) fn not_enabled() -> Self {
        Self::new(
            Code::PolicyDenied,
            "The tool is not enabled in this server; its operator chooses the tools at start-up.",
        )
    }

    /// Says where in the arguments the fault is.
    pub(crate) fn within(mut self, place: &str) -> Self {
        self.message = format!("In {place}: {}", self.message);
        self
    }

    /// Sets how far it came.
    pub(crate) fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// Decides `retryable` where the code alone does not.
    pub(crate) fn retryable(mut self, retryable: bool) -> Self {
        self.retryable = Some(retryable);
        self
    }

    /// Adds a field to the error, such as `reason` or `effects`.
    #[allow(dead_code, reason = "the codes so far have none")]
    pub(crate) fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// `{ok: false, error: {…}}`. A passing fault of a read, or of a change that was not sent, may be retried.
    pub(crate) fn body(&self, reads_only: bool) -> Value {
        let safe = reads_only || self.delivery != Delivery::PossiblySent;
        let mut error = Map::new();
        error.insert("code".into(), self.code.name().into());
        error.insert("message".into(), self.message.as_str().into());
        error.insert("delivery".into(), self.delivery.as_str().into());
        error.insert(
            "retryable".into(),
            self.retryable.unwrap_or(safe && self.code.passes()).into(),
        );
        for (name, value) in &self.details {
            error.entry(name.as_str()).or_insert_with(|| value.clone());
        }
        json!({"ok": false, "error": error})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_code_message_delivery_and_retryable() {
        let failure = Failure::new(Code::PreflightRefused, "The pane is in copy mode.")
            .delivery(Delivery::Observed)
            .detail("reason", "in_mode")
            .detail("code", "never replaces a field");
        assert_eq!(
            failure.body(false),
            json!({"ok": false, "error": {"code": "preflight_refused", "message": "The pane is in copy mode.",
                "delivery": "observed", "retryable": false, "reason": "in_mode"}})
        );
    }

    #[test]
    fn what_may_have_acted_is_only_retryable_when_it_reads() {
        let retryable = |f: &Failure, reads| f.body(reads)["error"]["retryable"] == json!(true);
        let late = Failure::new(Code::Deadline, "late");
        assert!(retryable(&late, false));
        let sent = late.delivery(Delivery::PossiblySent);
        assert!(!retryable(&sent, false) && retryable(&sent, true));
        assert!(!retryable(&Failure::invalid("x"), true));
        assert!(retryable(&Failure::invalid("x").retryable(true), false));
    }
}
