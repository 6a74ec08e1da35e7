//! What a server is told of its caller.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use muxwire::protocol::MessageType;
use support::{PATIENCE, ScriptedPeer, Server, block_on, on_each_release, run};

#[test]
fn a_session_made_by_the_library_has_what_one_made_by_tmux_has() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["set-option", "-g", "update-environment", "PATH NOT_THERE"]);
        let made = server.handle();
        let command = ["new-session", "-d", "-s", "ours", "exec sleep 1000"];
        block_on(made.run(command)).unwrap().ok().unwrap();
        server.set(["new-session", "-d", "-s", "theirs", "exec sleep 1000"]);
        let environment = |session: &str| server.tmux(["show-environment", "-t", session]).text();
        let path = std::env::var("PATH").unwrap();
        assert!(environment("ours").lines().any(|line| line == format!("PATH={path}")));
        assert_eq!(environment("ours"), environment("theirs"));
    });
}

#[test]
fn a_pane_that_the_library_starts_finds_programs_along_the_callers_path() {
    on_each_release(|release| {
        let server = Server::start(release);
        let directory = server.directory().join("programs");
        std::fs::create_dir(&directory).unwrap();
        let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
        let arguments = ["exec", "new-window", "-d", "echo $PATH > where; exec sleep 1000"];
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_muxwire"));
        command.env_clear().env("PATH", &path).current_dir(server.directory());
        let ran = run(command.arg("-S").arg(server.socket()).args(arguments), None);
        assert_eq!(ran.text(), "");
        // The window starts in the caller's directory, too.
        let file = server.directory().join("where");
        let seen = support::eventually("what the window wrote", || {
            std::fs::read_to_string(&file).ok().filter(|text| text.ends_with('\n'))
        });
        assert_eq!(seen.trim_end(), path);
    });
}

#[test]
fn reading_sends_no_environment_and_starting_sends_it() {
    let variables = |command: &[&str]| {
        let peer = ScriptedPeer::play(|talk| {
            talk.hear_until(MessageType::COMMAND);
        });
        let _ = block_on(peer.handle(PATIENCE).run(command));
        let heard = peer.finish().concat();
        let variables = heard.iter().filter(|heard| heard.kind == MessageType::IDENTIFY_ENVIRON);
        variables
            .map(|heard| String::from_utf8_lossy(&heard.payload).into_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(variables(&["list-panes", "-a"]), [""; 0]);
    let sent = variables(&["new-window", "-d"]);
    assert!(sent.iter().any(|variable| variable.starts_with("PATH=")), "{sent:?}");
}
