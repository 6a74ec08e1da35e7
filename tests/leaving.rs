//! A server outlives a caller that gives a call up while a job of it runs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::time::Duration;

use muxwire::{ErrorKind, Tmux};
use support::{Release, Server, block_on, on_each_release, run};

/// When a call is given up, how long its job takes, and when the job is surely over.
const SOON: Duration = Duration::from_millis(100);
const JOB: &str = "sleep 0.4";
const OVER: Duration = Duration::from_millis(900);

/// Command lists that run a job which ends after its caller has gone.
fn jobs(release: &Release) -> Vec<Vec<String>> {
    let mut lists = Vec::new();
    for end in ["echo hi", "exit 3", "echo hi; exit 3"] {
        let job = format!("{JOB}; {end}");
        lists.push(vec!["run-shell".to_owned(), job.clone()]);
        let nested = format!("run-shell \"{job}\"");
        lists.push(vec!["if-shell".to_owned(), "true".to_owned(), nested.clone()]);
        if release.at_least(3, 2) {
            lists.push(vec!["run-shell".to_owned(), "-C".to_owned(), nested]);
        }
    }
    lists
}

/// Gives up each job on a server of its own, all at once, and looks whether the servers live.
fn outlived(give_up: impl Fn(&Tmux, Vec<String>) + Sync) {
    on_each_release(|release| {
        std::thread::scope(|scope| {
            for job in jobs(release) {
                let give_up = &give_up;
                scope.spawn(move || {
                    let server = Server::start(release);
                    give_up(&server.handle(), job.clone());
                    assert!(server.answers(), "{job:?} killed the server");
                });
            }
        });
    });
}

#[test]
fn at_its_deadline() {
    outlived(|tmux, job| {
        block_on(async {
            let error = tmux.with_deadline(Some(SOON)).run(job).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Deadline);
            tokio::time::sleep(OVER).await;
        });
    });
}

#[test]
fn when_its_future_is_dropped() {
    outlived(|tmux, job| {
        block_on(async {
            assert!(tokio::time::timeout(SOON, tmux.run(job)).await.is_err());
            tokio::time::sleep(OVER).await;
        });
    });
}

#[test]
fn a_command_line_waits_for_its_job_whatever_its_timeout() {
    on_each_release(|release| {
        let server = Server::start(release);
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_muxwire"));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).current_dir("/");
        command.arg("-S").arg(server.socket()).args(["--timeout", "0.1", "exec", "run-shell"]);
        let ours = run(command.arg(format!("{JOB}; exit 3")), None);
        assert_eq!(ours, server.tmux(["run-shell", &format!("{JOB}; exit 3")]));
        assert!(server.answers());
    });
}

#[test]
fn a_reader_that_is_given_up_closes_its_connection_at_once() {
    let peer = support::ScriptedPeer::play(|talk| {
        talk.hear_until(muxwire::protocol::MessageType::COMMAND);
        // Ends when the client is gone.
        talk.hear_out();
    });
    let tmux = peer.handle(SOON);
    block_on(async {
        let error = tmux.run(["list-sessions"]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Deadline);
        tokio::task::spawn_blocking(move || peer.finish()).await.unwrap();
    });
}
