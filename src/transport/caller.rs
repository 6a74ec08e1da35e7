//! What the system knows of the calling process.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The calling process as tmux's own client would describe it.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Process id.
    pub(crate) pid: u32,
    /// Real user id.
    pub(crate) uid: u32,
    /// Working directory, if it can be told.
    pub(crate) directory: Option<PathBuf>,
    /// The environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
}

impl Caller {
    /// Looks at the calling process.
    pub(crate) fn new() -> Self {
        Self {
            pid: std::process::id(),
            uid: nix::unistd::getuid().as_raw(),
            directory: std::env::current_dir().ok(),
            environment: std::env::vars_os().collect(),
        }
    }

    /// The value of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        let found = self.environment.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.clone())
    }

    /// Path of the terminal on standard input, empty for none.
    pub(crate) fn tty() -> Vec<u8> {
        nix::unistd::ttyname(std::io::stdin())
            .map(|path| path.into_os_string().into_vec())
            .unwrap_or_default()
    }
}
