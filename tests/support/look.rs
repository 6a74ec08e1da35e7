//! Snapshots of a private server.

use muxwire::model::{Pane, Snapshot};

use super::{Server, block_on, eventually};

/// A snapshot that agrees with itself.
#[track_caller]
pub(crate) fn snapshot(server: &Server) -> Snapshot {
    let snapshot = block_on(server.handle().snapshot()).unwrap();
    assert_eq!(snapshot.check(), Ok(()));
    snapshot
}

/// Takes snapshots until one shows what is waited for.
pub(crate) fn snapshot_with(
    server: &Server,
    what: &str,
    shows: impl Fn(&Snapshot) -> bool,
) -> Snapshot {
    eventually(what, || Some(snapshot(server)).filter(&shows))
}

/// The id of the pane that a new window has; `command` runs in it.
pub(crate) fn new_window(server: &Server, command: &str) -> String {
    server.tmux(["new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "=main:", command]).text()
}

/// The pane of this id.
#[track_caller]
pub(crate) fn pane<'a>(snapshot: &'a Snapshot, id: &str) -> &'a Pane {
    snapshot.pane(id.parse().unwrap()).unwrap_or_else(|| panic!("{id} is not in {snapshot:#?}"))
}
