//! The pane that this process runs in.

use super::options::socket_of;
use crate::ServerIdentity;
use crate::model::PaneId;
use std::ffi::OsString;
use std::path::Path;

/// The pane of `$TMUX_PANE`, on the server that is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallerPane {
    pane: PaneId,
    server_pid: u32,
}

impl CallerPane {
    /// Looks at the environment, which `variable` gives; none when this process runs in no pane of the server at
    /// `socket`.
    pub(crate) fn find(socket: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let (tmux, pane) = (variable("TMUX")?, variable("TMUX_PANE")?);
        // Spelt in another way it may still be the same file.
        let same = std::fs::canonicalize(socket_of(&tmux)).ok()? == socket.canonicalize().ok()?;
        let server_pid = tmux.to_str()?.rsplit(',').nth(1)?.parse().ok()?;
        let pane = pane.to_str()?.parse().ok()?;
        same.then_some(Self { pane, server_pid })
    }

    /// The pane's id, if that server is the one that this process was started under.
    pub(crate) fn on(&self, server: &ServerIdentity) -> Option<PaneId> {
        (self.server_pid == server.pid).then_some(self.pane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(socket: &Path, tmux: &str, pane: &str) -> Option<CallerPane> {
        CallerPane::find(socket, |name| {
            let value = if name == "TMUX" { tmux } else { pane };
            (!value.is_empty()).then(|| value.into())
        })
    }

    #[test]
    fn only_a_pane_of_the_server_that_is_spoken_to_is_the_callers() {
        let directory = tempfile::tempdir().unwrap();
        let (socket, other) = (directory.path().join("a,b"), directory.path().join("a"));
        std::fs::write(&socket, "").unwrap();
        std::fs::write(&other, "").unwrap();
        let tmux = format!("{},12,0", other.display());
        let found = find(&other, &tmux, "%3").unwrap();
        let server = |pid| ServerIdentity { device: 1, inode: 2, pid, start_time: 3 };
        assert_eq!(found.on(&server(12)), Some(PaneId::new(3)));
        assert_eq!(found.on(&server(13)), None);
        assert_eq!(find(&socket, &tmux, "%3"), None);
        assert_eq!(find(&other, &tmux, "3"), None);
        assert_eq!(find(&other, &tmux, ""), None);
        assert_eq!(find(&other, "", "%3"), None);
        let dotted = format!("{}/./a,12,0", directory.path().display());
        assert_eq!(find(&other, &dotted, "%3"), Some(found));
        std::fs::remove_file(&other).unwrap();
        assert_eq!(find(&other, &tmux, "%3"), None);
    }
}
