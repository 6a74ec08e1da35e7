//! A pane that shows exactly what a test writes.

use std::fs::File;
use std::io::Write;
use std::time::Instant;

use muxwire::Tmux;
use muxwire::model::PaneId;

use super::{PATIENCE, Release, Server, block_on};

/// A pane whose program passes on what comes through a pipe, byte for byte.
#[derive(Debug)]
pub(crate) struct Tap {
    pub(crate) server: Server,
    pub(crate) pane: PaneId,
    tmux: Tmux,
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
        let tmux = server.handle();
        let mut tap = Self { server, pane, tmux, pipe, syncs: 0 };
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
        let ask = ["display-message", "-p", "-t", &target, "#{pane_title}"];
        let end = Instant::now() + PATIENCE;
        let mut shown = String::new();
        while shown != title {
            assert!(Instant::now() < end, "what was written: not within {PATIENCE:?}");
            std::thread::yield_now();
            let output = block_on(self.tmux.run(ask)).expect("a title");
            shown = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
        }
    }

    /// Lets the pane's program come to its end.
    pub(crate) fn end(&mut self) {
        self.pipe = File::options().write(true).open("/dev/null").expect("a sink");
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
