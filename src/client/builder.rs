//! Makes a [`Tmux`].

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::tmux::Inner;
use super::{Error, Tmux};
use crate::exchange::{Client, Identify};
use crate::transport::{Caller, Endpoint, SocketChoice};

/// Default deadline of a call.
const DEADLINE: Duration = Duration::from_secs(5);
/// Default limit of a reply, in bytes.
const REPLY_LIMIT: usize = 64 << 20;

/// Options of a [`Tmux`]; each setter says its default.
#[derive(Clone, Debug)]
#[must_use = "nothing is made until `build`"]
pub struct TmuxBuilder {
    socket: SocketChoice,
    deadline: Option<Duration>,
    reply_limit: usize,
}

impl Default for TmuxBuilder {
    fn default() -> Self {
        Self { socket: SocketChoice::Default, deadline: Some(DEADLINE), reply_limit: REPLY_LIMIT }
    }
}

impl TmuxBuilder {
    /// The socket at this path (`tmux -S`), at most 107 bytes.
    pub fn socket_path(self, path: impl Into<PathBuf>) -> Self {
        self.socket(SocketChoice::Path(path.into()))
    }

    /// The socket of this name in the user's socket directory (`tmux -L`).
    pub fn socket_name(self, name: impl Into<OsString>) -> Self {
        self.socket(SocketChoice::Name(name.into()))
    }

    /// Which socket. Default: the server of `$TMUX`, else the socket named `default`.
    pub fn socket(mut self, choice: SocketChoice) -> Self {
        self.socket = choice;
        self
    }

    /// How long a call may take from connecting to its end; `None` waits without limit.
    /// Default: 5 s.
    pub fn deadline(mut self, deadline: Option<Duration>) -> Self {
        self.deadline = deadline;
        self
    }

    /// Most bytes of stdout and stderr together in one reply. Default: 64 MiB.
    pub fn reply_limit(mut self, bytes: usize) -> Self {
        self.reply_limit = bytes;
        self
    }

    /// Finds the socket's path and takes down the caller's environment and working directory,
    /// which later changes do not touch. Does not look for a server.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Endpoint`](super::ErrorKind::Endpoint) when there is no usable path.
    ///
    /// # Wire
    ///
    /// `protocol-notes/05-socket.md`, note 5.1.
    pub fn build(self) -> Result<Tmux, Error> {
        let caller = Caller::new();
        let endpoint = Endpoint::find(&self.socket, |name| caller.variable(name), caller.uid)?;
        let bare = Identify::new(&client(&caller))?;
        let full = full(&caller)?;
        Ok(Tmux {
            inner: Arc::new(Inner { endpoint, caller, bare, full, last_seen: Mutex::new(None) }),
            deadline: self.deadline,
            reply_limit: self.reply_limit,
        })
    }
}

/// The caller without its environment and terminal.
pub(super) fn client(caller: &Caller) -> Client {
    Client {
        pid: caller.pid,
        directory: text(caller.directory.clone().unwrap_or_default().into_os_string()),
        ..Client::default()
    }
}

/// Identify with the environment, less what names a pane: the default target is the same with and
/// without it.
fn full(caller: &Caller) -> Result<Identify, Error> {
    let environment = variables(caller, |name| name != "TMUX" && name != "TMUX_PANE");
    Ok(Identify::new(&Client { environment, ..client(caller) })?)
}

/// The variables that `wanted` takes, as `NAME=value`.
pub(super) fn variables(
    caller: &Caller,
    wanted: impl Fn(&std::ffi::OsStr) -> bool,
) -> Vec<Vec<u8>> {
    let taken = caller.environment.iter().filter(|(name, _)| wanted(name));
    taken.map(|(name, value)| [text(name.clone()), text(value.clone())].join(&b'=')).collect()
}

pub(super) fn text(text: OsString) -> Vec<u8> {
    text.into_vec()
}

#[cfg(test)]
mod tests {
    use memchr::memmem::find;

    use super::*;

    #[test]
    fn the_environment_is_sent_without_what_names_a_pane() {
        let variable = |name: &str| (name.into(), "value".into());
        let environment = ["DISPLAY", "TMUX", "TMUX_PANE", "TMUX_TMPDIR"].map(variable).to_vec();
        let caller = Caller { pid: 1, uid: 2, directory: None, environment };
        let identify = full(&caller).unwrap();
        for (text, sent) in [
            ("DISPLAY=value\0", true),
            ("TMUX_TMPDIR=value\0", true),
            ("TMUX=", false),
            ("TMUX_PANE=", false),
        ] {
            assert_eq!(find(identify.as_bytes(), text.as_bytes()).is_some(), sent, "{text}");
        }
    }
}
