//! A pane that shows exactly what a test writes.

use std::fs::File;
use std::io::Write;

use muxwire::model::PaneId;

use super::{Release, Server, eventually};

/// A pane whose program passes on what comes through a pipe, byte for byte.
#[derive(Debug)]
pub(crate) struct Tap {
    pub(crate) server: Server,
    pub(crate) pane: PaneId,
    pipe: File,
    syncs: u32,
}

impl Tap {
    /// A pane of 80 by 24 with this history limit.
    pub(crate) fn open(release: &Release, history_limit: u32) -> Self {
        let server = Server::start(release);
        let path = server.directory().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        server.set(["set-option", "-g", "history-limit", &history_limit.to_string()]);
        let script = format!("stty raw -echo; exec cat '{}'", path.display());
        let made = server.tmux(["new-window", "-P", "-F", "#{pane_id}", &script]);
        let pane = made.text().parse().expect("a pane's id");
        // Open for reading too, so that neither end waits for the other or sees the end.
        let pipe = File::options().read(true).write(true).open(&path).expect("the pipe");
        let mut tap = Self { server, pane, pipe, syncs: 0 };
        tap.sync();
        tap
    }

    /// Writes bytes as they are, without waiting until they are shown.
    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.pipe.write_all(bytes.as_ref()).expect("the pane's program reads");
    }

    /// Writes lines and waits until they are shown.
    pub(crate) fn lines<S: AsRef<str>>(&mut self, lines: impl IntoIterator<Item = S>) {
        let text: String = lines.into_iter().map(|line| format!("{}\r\n", line.as_ref())).collect();
        self.show(text);
    }

    /// Writes bytes and waits until they are shown.
    pub(crate) fn show(&mut self, bytes: impl AsRef<[u8]>) {
        self.write(bytes);
        self.sync();
    }

    /// Waits until all that was written is shown: a title behind it has arrived.
    pub(crate) fn sync(&mut self) {
        self.syncs += 1;
        let title = format!("sync-{}", self.syncs);
        self.write(format!("\x1b]2;{title}\x1b\\"));
        let target = self.pane.to_string();
        eventually("what was written", || {
            (self.server.show_of(&target, "#{pane_title}") == title).then_some(())
        });
    }

    /// Runs a tmux command with this pane as its target.
    pub(crate) fn set(&self, command: &str, arguments: &[&str]) {
        let target = self.pane.to_string();
        self.server.set([&[command, "-t", &target], arguments].concat());
    }

    /// A format's value for this pane.
    pub(crate) fn value(&self, format: &str) -> String {
        self.server.show_of(&self.pane.to_string(), format)
    }
}
