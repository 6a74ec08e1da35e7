//! The private server, and servers that are chosen.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use muxwire::Tmux;
use serde_json::json;

use crate::client::{Mcp, muxwire};
use crate::support::{
    Ran, Release, block_on, directory, eventually, has_ended, on_each_release, releases, run,
    tmux_command,
};

/// A directory in which the private socket lands, ended with whatever server was started in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(directory())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// The sockets that are there: chosen ones, and those in the user's socket directory.
    fn sockets(&self) -> Vec<PathBuf> {
        let within = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> =
            within(self.path().into()).map(|entry| entry.path()).collect();
        let deeper = found.iter().flat_map(|path| within(path.clone())).map(|entry| entry.path());
        let deeper: Vec<PathBuf> = deeper.collect();
        found.extend(deeper);
        found.retain(|path| path.metadata().is_ok_and(|file| file.file_type().is_socket()));
        found
    }

    fn command(&self, release: &Release) -> Command {
        let mut command = muxwire(self.path());
        command.arg("mcp").arg("--tmux").arg(&release.tmux);
        command
    }

    /// Runs the release's own client on the private server.
    fn tmux(&self, release: &Release, arguments: &[&str]) -> Ran {
        let mut command = tmux_command(release, self.path());
        command.env("TMUX_TMPDIR", self.path()).args(["-L", "muxwire"]);
        run(command.args(arguments), None)
    }

    /// Ends its servers.
    fn end(&self) {
        for socket in self.sockets() {
            let Ok(tmux) = Tmux::builder().socket_path(socket).build() else { continue };
            if let Ok(server) = block_on(tmux.server()) {
                let _ = block_on(tmux.run(["kill-server"]));
                let gone = || has_ended(server.identity.pid).then_some(());
                eventually("the server's end", gone);
            }
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.end();
    }
}

#[test]
fn the_private_server_is_started_once_and_owned_by_who_started_it() {
    on_each_release(|release| {
        let home = Home::new();
        let mut first = Mcp::start(&mut home.command(release));
        first.request("ping", json!({}));
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "started before its time");
        assert!(!first.tools().is_empty());
        let marker = home.tmux(release, &["show-options", "-s", "-v", "@muxwire-marker"]).text();
        assert_eq!(marker.len(), 32, "{marker}");
        let capabilities = first.call("tmux_capabilities", json!({}))["data"].clone();
        assert_eq!(capabilities["owns_daemon"], true);
        assert_eq!(capabilities["socket_provenance"], "private");

        let sessions = first.call("list_sessions", json!({}));
        assert_eq!((&sessions["count"], &sessions["rows"]), (&json!(0), &json!([])));
        assert!(sessions["note"].as_str().unwrap().contains("no sessions"), "{sessions}");
        for listing in ["list_windows", "list_panes"] {
            let answer = first.call(listing, json!({}));
            assert_eq!((&answer["count"], &answer["note"]), (&json!(0), &sessions["note"]));
        }

        let mut second = Mcp::start(&mut home.command(release));
        let theirs = second.call("tmux_capabilities", json!({}))["data"].clone();
        assert_eq!(theirs["owns_daemon"], false);
        let (ours, theirs) = (&capabilities["server_identity"], &theirs["server_identity"]);
        assert_eq!(ours["pid"], theirs["pid"]);
        assert_ne!(ours["generation"], theirs["generation"]);

        drop((first, second));
        assert_eq!(home.tmux(release, &["list-sessions"]).status, 0, "it outlives its starter");
    });
}

#[test]
fn a_private_server_that_is_there_is_nobodys() {
    let (home, release) = (Home::new(), releases().last().unwrap());
    home.tmux(release, &["new-session", "-d", "-s", "main", "exec sleep 100000"]).text();
    let mut mcp = Mcp::start(&mut home.command(release));
    assert_eq!(mcp.call("tmux_capabilities", json!({}))["data"]["owns_daemon"], false);
    assert_eq!(mcp.call("list_panes", json!({}))["count"], 1);
}

#[test]
fn what_replaces_our_server_is_not_ours() {
    let (home, release) = (Home::new(), releases().last().unwrap());
    let mut mcp = Mcp::start(&mut home.command(release));
    let ours = mcp.call("get_server_info", json!({}));
    assert_eq!(ours["owns_daemon"], true);
    home.end();
    let error = mcp.fail("get_server_info", json!({}));
    assert_eq!((&error["code"], &error["retryable"]), (&json!("no_server"), &json!(true)));
    assert!(error["message"].as_str().unwrap().contains("restart it"), "{error}");
    home.tmux(release, &["new-session", "-d", "-s", "main", "exec sleep 100000"]).text();
    let theirs = mcp.call("get_server_info", json!({}));
    assert_eq!(theirs["owns_daemon"], false);
    assert_ne!(theirs["generation"], ours["generation"]);
}

#[test]
fn a_configuration_is_read_only_by_a_server_that_we_start() {
    let (home, release) = (Home::new(), releases().last().unwrap());
    let config = directory();
    let file = config.path().join("conf");
    std::fs::write(&file, "set -g @chosen yes\n").unwrap();
    let mut mcp = Mcp::start(home.command(release).arg("--config").arg(&file));
    mcp.tools();
    assert_eq!(home.tmux(release, &["show-options", "-g", "-v", "@chosen"]).text(), "yes");
}

#[test]
fn without_a_tmux_binary_tools_are_listed_and_calls_say_what_is_missing() {
    let home = Home::new();
    let mut mcp = Mcp::start(muxwire(home.path()).arg("mcp").env("PATH", home.path()));
    assert!(mcp.tools().contains(&"list_panes".to_owned()));
    for tool in ["list_panes", "list_sessions", "tmux_capabilities", "get_server_info"] {
        let error = mcp.fail(tool, json!({}));
        assert_eq!((&error["code"], &error["delivery"]), (&json!("no_server"), &json!("not_sent")));
        let message = error["message"].as_str().unwrap();
        for word in ["tmux-", "/muxwire", "could not start one", "install tmux"] {
            assert!(message.contains(word), "{word}: {message}");
        }
    }
    // One that comes later is found.
    let release = releases().last().unwrap();
    home.tmux(release, &["new-session", "-d", "-s", "main", "exec sleep 100000"]).text();
    assert_eq!(mcp.call("list_panes", json!({}))["count"], 1);
}

#[test]
fn a_server_that_was_chosen_is_never_started() {
    let home = Home::new();
    let socket = home.path().join("chosen");
    let path = socket.to_str().unwrap();
    for choice in [["-S", path], ["-L", "chosen"]] {
        let mut mcp = Mcp::start(muxwire(home.path()).arg("mcp").args(choice));
        assert!(!mcp.tools().is_empty());
        let error = mcp.fail("list_panes", json!({}));
        assert_eq!((&error["code"], &error["retryable"]), (&json!("no_server"), &json!(true)));
        assert!(error["message"].as_str().unwrap().contains("/chosen"), "{error}");
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    }
}
