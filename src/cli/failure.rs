//! Why a command ended badly, and with which exit status.

use std::process::ExitCode;

use crate::client::{Error, ErrorKind};

/// A message for stderr and an exit status.
#[derive(Debug)]
pub(super) struct Failure {
    status: u8,
    message: String,
}

impl Failure {
    /// Wrong usage.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { status: 2, message: message.into() }
    }

    /// Something else with a status of its own.
    pub(super) fn new(status: u8, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// The same with another status.
    pub(super) fn with_status(self, status: u8) -> Self {
        Self { status, ..self }
    }

    /// Prints the message; gives the status.
    pub(super) fn report(&self) -> ExitCode {
        use std::io::Write;
        // Nobody is left to tell when stderr is closed.
        let _ = writeln!(std::io::stderr(), "muxwire: {}", self.message);
        ExitCode::from(self.status)
    }
}

/// The exit status of an error.
pub(super) fn status(error: &Error) -> u8 {
    match error.kind() {
        ErrorKind::Refused | ErrorKind::NotFound => 1,
        ErrorKind::InvalidInput | ErrorKind::Endpoint => 2,
        ErrorKind::NoServer | ErrorKind::Denied => 3,
        ErrorKind::Deadline => 4,
        _ => 5,
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let next = match error.kind() {
            ErrorKind::NoServer => "; start tmux, or choose another socket with -L or -S",
            ErrorKind::ServerGone => "; look whether a server is there and try again",
            _ => "",
        };
        Self { status: status(&error), message: format!("{error}{next}") }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self { status: 5, message: error.to_string() }
    }
}
