//! What the tests stand on: the releases of tmux, private servers, a peer that speaks from a
//! script and a proxy that counts round trips.
//!
//! Every directory that a test makes has a name that starts with [`PREFIX`], so that
//! `tests/tools/check-leftovers` can tell whether one, or a server in one, was left behind.
//! No test connects to a socket outside such a directory.

#![allow(dead_code, unused_imports)] // each test file uses a part of it
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod listing;
mod look;
mod peer;
mod process;
mod proxy;
mod release;
mod server;
mod tap;

use std::future::Future;
use std::time::{Duration, Instant};

pub(crate) use listing::Listing;
pub(crate) use look::{new_window, pane, snapshot, snapshot_with};
pub(crate) use peer::{Heard, ScriptedPeer, Talk};
pub(crate) use process::{Ran, has_ended, run, signal};
pub(crate) use proxy::{CountingProxy, Traffic};
pub(crate) use release::{Release, on_each_release, releases};
pub(crate) use server::{IDLE, Server, tmux_command};
pub(crate) use tap::Tap;

/// What the names of the tests' directories start with.
pub(crate) const PREFIX: &str = "muxwire-test-";
/// How long anything that must happen may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A directory of our own, removed on drop.
pub(crate) fn directory() -> tempfile::TempDir {
    tempfile::Builder::new().prefix(PREFIX).tempdir().expect("a directory for the test")
}

/// Runs a future to its end on a runtime of its own.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime").block_on(future)
}

/// Asks until the answer is `Some`; panics when [`PATIENCE`] is at its end.
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Leaves a socket that nobody listens on.
pub(crate) fn leave_stale(path: &std::path::Path) {
    drop(std::os::unix::net::UnixListener::bind(path).expect("a socket"));
    // A child that another test forked meanwhile may hold it until it runs its program.
    eventually("a stale socket", || {
        std::os::unix::net::UnixStream::connect(path).is_err().then_some(())
    });
}
