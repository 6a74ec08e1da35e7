//! Private servers.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use muxwire::Tmux;

use super::{PATIENCE, Ran, Release, directory, has_ended, run, signal};

/// A program for panes that have nothing to do.
pub(crate) const IDLE: &str = "exec sleep 100000";

/// A server of one release on a socket of its own, without a configuration and with a pinned
/// shell; killed and removed on drop.
#[derive(Debug)]
pub(crate) struct Server {
    release: Release,
    pid: u32,
    socket: PathBuf,
    directory: tempfile::TempDir,
}

impl Server {
    /// A server with the session `main`, 80 by 24, whose one pane does nothing.
    pub(crate) fn start(release: &Release) -> Self {
        let directory = directory();
        let socket = directory.path().join("server");
        let mut server = Self { release: release.clone(), pid: 0, socket, directory };
        let mut start: Vec<&str> = vec!["start-server"];
        start.extend([";", "set-option", "-g", "default-shell", "/bin/sh"]);
        start.extend([";", "new-session", "-d", "-s", "main", "-x", "80", "-y", "24", IDLE]);
        server.set(&start);
        server.pid = server.show("#{pid}").parse().expect("the server's process id");
        server
    }

    /// A server without sessions that stays.
    pub(crate) fn start_empty(release: &Release) -> Self {
        let server = Self::start(release); // 3.1 tells nothing, not its process id, without one
        server.set(["set-option", "-s", "exit-empty", "off"]);
        server.set(["kill-session", "-t", "=main"]);
        server
    }

    pub(crate) fn release(&self) -> &Release {
        &self.release
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// The server's directory, for files of the test.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The release's own client on this server, ready for arguments.
    pub(crate) fn command(&self) -> Command {
        let mut command = tmux_command(&self.release, self.directory());
        command.arg("-u").arg("-S").arg(&self.socket);
        command
    }

    /// Runs the release's own client.
    #[track_caller]
    pub(crate) fn tmux(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ran {
        run(self.command().args(arguments), None)
    }

    /// Runs the release's own client with this standard input.
    #[track_caller]
    pub(crate) fn tmux_reading(
        &self,
        input: &[u8],
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Ran {
        run(self.command().args(arguments), Some(input))
    }

    /// Runs the release's own client, which must succeed and say nothing.
    #[track_caller]
    pub(crate) fn set(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) {
        assert_eq!(self.tmux(arguments).text(), "");
    }

    /// What a format gives, by the release's own client.
    #[track_caller]
    pub(crate) fn show(&self, format: &str) -> String {
        self.tmux(["display-message", "-p", format]).text()
    }

    /// What a format gives for this target, by the release's own client.
    #[track_caller]
    pub(crate) fn show_of(&self, target: &str, format: &str) -> String {
        self.tmux(["display-message", "-p", "-t", target, format]).text()
    }

    /// A handle of ours on this server.
    pub(crate) fn handle(&self) -> Tmux {
        let builder = Tmux::builder().socket_path(&self.socket);
        builder.deadline(Some(PATIENCE)).build().expect("a handle")
    }

    /// Makes the server look which of its children have ended: 3.1 may miss one until another ends
    /// (protocol note 6.7).
    pub(crate) fn reap(&self) {
        self.tmux(["run-shell", "true"]);
    }

    /// Whether the server still answers its own client.
    pub(crate) fn answers(&self) -> bool {
        !has_ended(self.pid)
            && self.tmux(["list-commands", "-F", "alive", "kill-server"]).status == 0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.pid == 0 {
            // It did not come up whole: whatever did is reached by its socket.
            let _ = self.command().arg("kill-server").output();
            return;
        }
        signal(self.pid, "CONT");
        let _ = self.command().arg("kill-server").output();
        let end = Instant::now() + Duration::from_secs(5);
        while !has_ended(self.pid) {
            if Instant::now() > end {
                signal(self.pid, "KILL");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The release's program in an environment of our making, without options.
pub(crate) fn tmux_command(release: &Release, home: &Path) -> Command {
    let mut command = Command::new(&release.tmux);
    command.env_clear().current_dir("/").args(["-f", "/dev/null"]);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", home).env("TERM", "screen").env("LANG", "C.UTF-8");
    command
}
