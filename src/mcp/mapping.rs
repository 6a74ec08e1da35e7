//! What the library's errors mean to an agent.

use super::failure::{Code, Failure};
use crate::{Error, ErrorKind};

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let kind = error.kind();
        let message = sentence(&error.to_string(), advice(kind));
        let failure = Self::new(code(kind), message).delivery(error.delivery());
        match kind {
            // Nothing but a person mends these.
            ErrorKind::Denied | ErrorKind::Endpoint | ErrorKind::StartFailed => {
                failure.retryable(false)
            }
            _ => failure,
        }
    }
}

fn code(kind: ErrorKind) -> Code {
    match kind {
        ErrorKind::InvalidInput => Code::InvalidInput,
        ErrorKind::Endpoint | ErrorKind::NoServer | ErrorKind::Denied | ErrorKind::StartFailed => {
            Code::NoServer
        }
        ErrorKind::Deadline => Code::Deadline,
        ErrorKind::Refused => Code::Refused,
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::ServerGone => Code::ServerGone,
        ErrorKind::ServerChanged => Code::StaleTarget,
        ErrorKind::StaleCursor => Code::StaleCursor,
        ErrorKind::ReplyTooLong => Code::Capacity,
        ErrorKind::Inconsistent => Code::IncompleteSnapshot,
        ErrorKind::Decode => Code::DecodeError,
        ErrorKind::Unsupported => Code::Unsupported,
        ErrorKind::Transport => Code::TransportError,
    }
}

/// What to do next, where the error itself does not say it.
fn advice(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NoServer => "Start tmux on that socket, then call again.",
        ErrorKind::NotFound => "List again to see what there is.",
        ErrorKind::ServerGone => "Call again; if a server is there, it is found.",
        ErrorKind::ReplyTooLong => "Ask for less.",
        ErrorKind::Decode => "This is a fault of muxwire or an odd tmux; other tools may work.",
        ErrorKind::Transport => "Look at the server with tmux itself.",
        _ => "",
    }
}

/// A message of the library as a sentence, and what follows it.
fn sentence(message: &str, next: &str) -> String {
    let mut chars = message.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    let mut text: String = first.into_iter().chain(chars).collect();
    if !text.ends_with('.') {
        text.push('.');
    }
    if !next.is_empty() {
        text.push(' ');
        text.push_str(next);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delivery;

    #[test]
    fn an_error_keeps_its_words_and_delivery_and_says_what_to_do() {
        let error =
            Error::new(ErrorKind::NoServer, Delivery::NotSent, "no tmux server: none at /x");
        let failure = Failure::from(error);
        assert_eq!((failure.code, failure.delivery), (Code::NoServer, Delivery::NotSent));
        assert_eq!(
            failure.message,
            "No tmux server: none at /x. Start tmux on that socket, then call again."
        );
        assert_eq!(failure.body(true)["error"]["retryable"], true);
    }

    #[test]
    fn what_only_a_person_can_mend_is_not_to_be_tried_again() {
        for kind in [ErrorKind::Denied, ErrorKind::Endpoint, ErrorKind::StartFailed] {
            let failure = Failure::from(Error::new(kind, Delivery::NotSent, "x"));
            assert_eq!(failure.code, Code::NoServer);
            assert_eq!(failure.body(true)["error"]["retryable"], false, "{kind:?}");
        }
    }

    #[test]
    fn another_server_is_a_stale_target_and_a_long_reply_a_limit() {
        for (kind, expected) in [
            (ErrorKind::ServerChanged, Code::StaleTarget),
            (ErrorKind::ReplyTooLong, Code::Capacity),
            (ErrorKind::Inconsistent, Code::IncompleteSnapshot),
            (ErrorKind::NotFound, Code::NotFound),
        ] {
            let failure = Failure::from(Error::new(kind, Delivery::Observed, "x"));
            assert_eq!((failure.code, failure.delivery), (expected, Delivery::Observed));
        }
    }
}
