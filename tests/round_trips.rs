//! How often a call waits for the server, counted by a proxy on every release.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::time::{Duration, Instant};

use bytes::Bytes;
use muxwire::protocol::Command;
use muxwire::{CommandList, Delivery, ErrorKind, Output, Stdin, Tmux};
use support::{CountingProxy, Release, Server, Traffic, block_on, eventually, on_each_release};

/// Most bytes that a call without an environment says to the server, its command list aside.
const OVERHEAD: usize = 450;

/// A server with three windows and a screen full of text, a proxy to it and a handle on that.
fn through_a_proxy(release: &Release) -> (Server, CountingProxy, Tmux) {
    let server = Server::start(release);
    for index in ["1", "2"] {
        let target = format!("=main:{index}");
        server.set(["new-window", "-d", "-t", &target, "seq 500; exec sleep 100000"]);
        eventually("the text of the pane", || {
            let screen = server.tmux(["capture-pane", "-p", "-t", &target]).stdout;
            screen.windows(4).any(|line| line == b"500\n").then_some(())
        });
    }
    let proxy = CountingProxy::new(&server);
    let tmux = proxy.handle();
    (server, proxy, tmux)
}

#[track_caller]
fn run(proxy: &CountingProxy, tmux: &Tmux, list: impl Into<CommandList>) -> (Output, Traffic) {
    let output = block_on(tmux.run(list)).unwrap();
    (output, proxy.next())
}

#[test]
fn a_call_that_succeeds_is_one_round_trip_whatever_it_prints() {
    on_each_release(|release| {
        let (server, proxy, tmux) = through_a_proxy(release);
        let lines: [&[&str]; 9] = [
            &["display-message", "-p", "-t", "=main:", "hello"],
            &["display-message", "-p", "-t", "=main:", ""],
            &["list-sessions", "-F", "#{session_id}"],
            &["list-panes", "-a", "-F", "#{pane_id}"],
            &["list-clients"],
            &["capture-pane", "-p", "-t", "=main:0"],
            &["capture-pane", "-p", "-t", "=main:1"],
            &["capture-pane", "-p", "-S", "-", "-t", "=main:1"],
            &["has-session", "-t", "=main"],
        ];
        for line in lines {
            let list = CommandList::from(line);
            let packed = list.packed_len();
            let (output, traffic) = run(&proxy, &tmux, list);
            assert_eq!((output.status, &output.stderr[..]), (0, &b""[..]), "{line:?}");
            assert_eq!(traffic.round_trips, 1, "{line:?}");
            let sent = traffic.to_server;
            assert!((packed..packed + OVERHEAD).contains(&sent), "{line:?}: {sent} for {packed}");
            // The frames around the output and the proof cost little.
            let (received, printed) = (traffic.to_client, output.stdout.len());
            assert!(
                (printed..printed + 300).contains(&received),
                "{line:?}: {received} for {printed}"
            );
        }
        assert!(proxy.is_drained() && server.answers());
    });
}

#[test]
fn many_commands_in_a_list_are_one_round_trip() {
    on_each_release(|release| {
        let (_server, proxy, tmux) = through_a_proxy(release);
        let capture = |index| Command::new("capture-pane").args(["-p", "-t", index]);
        let list: CommandList = [
            Command::new("list-panes").args(["-a", "-F", "#{pane_id}"]),
            capture("=main:1"),
            Command::new("set-option").args(["-g", "@x", "y"]),
            capture("=main:2"),
        ]
        .into_iter()
        .collect();
        let (output, traffic) = run(&proxy, &tmux, list);
        assert_eq!((output.status, traffic.round_trips), (0, 1));
        assert_eq!(output.stdout.windows(4).filter(|line| line == b"500\n").count(), 2);
    });
}

#[test]
fn asking_who_the_server_is_and_a_whole_snapshot_are_one_round_trip_each() {
    on_each_release(|release| {
        let (server, proxy, tmux) = through_a_proxy(release);
        let found = block_on(tmux.server()).unwrap();
        assert_eq!(found.identity.pid, server.pid());
        assert_eq!(proxy.next().round_trips, 1);
        let snapshot = block_on(tmux.snapshot()).unwrap();
        assert_eq!((snapshot.sessions.len(), snapshot.panes.len()), (1, 3));
        let traffic = proxy.next();
        assert_eq!(traffic.round_trips, 1);
        assert!(traffic.to_server < 2_500, "{traffic:?}");
        assert!(proxy.is_drained(), "one connection each");
    });
}

#[test]
fn a_command_that_fails_is_two_round_trips() {
    on_each_release(|release| {
        let (_server, proxy, tmux) = through_a_proxy(release);
        for line in [&["kill-session", "-t", "=nosuch"][..], &["frobnicate"]] {
            let (output, traffic) = run(&proxy, &tmux, line);
            assert_eq!(output.status, 1);
            assert!(!output.stderr.is_empty() && output.server.is_none());
            assert_eq!(traffic.round_trips, 2, "{line:?}");
        }
    });
}

#[test]
fn standard_input_costs_one_more_round_trip_whatever_its_size() {
    on_each_release(|release| {
        let (server, proxy, tmux) = through_a_proxy(release);
        for size in [1, 16_364, 300_000] {
            let data = Bytes::from(vec![b'x'; size]);
            let request = tmux.request(["load-buffer", "-b", "in", "-"]);
            block_on(request.stdin(Stdin::Bytes(data)).run()).unwrap().ok().unwrap();
            assert_eq!(proxy.next().round_trips, 2, "{size}");
            assert_eq!(server.tmux(["show-buffer", "-b", "in"]).stdout.len(), size);
        }
    });
}

#[test]
fn independent_lists_share_one_connection_and_keep_what_is_theirs() {
    on_each_release(|release| {
        let (_server, proxy, tmux) = through_a_proxy(release);
        let print = |text: &str| Command::new("display-message").args(["-p", "-t", "=main:", text]);
        let kill = |target: &str| Command::new("kill-session").args(["-t", target]);
        let lists: Vec<CommandList> = vec![
            print("one").into(),
            CommandList::from(print("two")).then(kill("=first")).then(print("not reached")),
            CommandList::from(["set-option", "-g", "@quiet", "yes"]),
            CommandList::from(kill("=second")),
            CommandList::from(print("five")).then(print("six")),
        ];
        let outputs = block_on(tmux.run_all(lists)).unwrap();
        let found: Vec<(i32, &[u8], bool)> = outputs
            .iter()
            .map(|output| (output.status, &output.stdout[..], output.server.is_some()))
            .collect();
        let expected: [(i32, &[u8], bool); 5] = [
            (0, b"one\n", true),
            (1, b"two\n", false),
            (0, b"", true),
            (1, b"", false),
            (0, b"five\nsix\n", true),
        ];
        assert_eq!(found, expected);
        let complaints: Vec<_> = outputs.iter().map(Output::complaint).collect();
        assert!(complaints[1].contains("=first") || complaints[1].contains("first"));
        assert!(complaints[3].contains("second") && !complaints[3].contains("first"));
        assert_eq!((&*complaints[0], &*complaints[2], &*complaints[4]), ("", "", ""));
        let traffic = proxy.next();
        // Errors are pushed out by the second of them; a single one would wait for us.
        assert_eq!(traffic.round_trips, 1, "{traffic:?}");
        assert!(proxy.is_drained(), "one connection");

        let one_fails: Vec<CommandList> =
            vec![print("a").into(), kill("=x").into(), print("b").into()];
        let outputs = block_on(tmux.run_all(one_fails)).unwrap();
        let statuses: Vec<i32> = outputs.iter().map(|output| output.status).collect();
        assert_eq!(statuses, [0, 1, 0]);
        assert_eq!(proxy.next().round_trips, 2);

        let all_well = (0..20).map(|n| print(&n.to_string()).into()).collect();
        let outputs = block_on(tmux.run_all(all_well)).unwrap();
        for (n, output) in outputs.iter().enumerate() {
            assert_eq!(output.stdout, format!("{n}\n"));
        }
        assert_eq!(proxy.next().round_trips, 1);
    });
}

#[test]
fn a_list_that_tmux_does_not_understand_ends_the_call_in_its_words() {
    on_each_release(|release| {
        let server = Server::start(release);
        let tmux = server.handle();
        for broken in 0..3 {
            let set =
                |n: usize| CommandList::from(["set-option", "-g", &format!("@{broken}{n}"), "ran"]);
            let mut lists: Vec<CommandList> = (0..3).map(set).collect();
            lists[broken] = ["frobnicate"].into();
            let error = block_on(tmux.run_all(lists)).unwrap_err();
            assert_eq!(
                (error.kind(), error.delivery()),
                (ErrorKind::Refused, Delivery::PossiblySent)
            );
            assert!(error.to_string().contains("frobnicate"), "{error}");
            for n in 0..3 {
                let ran = server.show(&format!("#{{@{broken}{n}}}"));
                assert_eq!(ran, if n < broken { "ran" } else { "" }, "{n} of {broken}");
            }
        }
    });
}

#[test]
fn of_several_lists_only_the_first_may_wait() {
    on_each_release(|release| {
        let server = Server::start(release);
        let tmux = server.handle();
        let waits = || CommandList::from(["run-shell", "sleep 0.3"]);
        let lists = || CommandList::from(["list-sessions", "-F", "#{session_name}"]);
        let start = Instant::now();
        let outputs = block_on(tmux.run_all(vec![waits(), lists(), lists()])).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(300));
        assert!(outputs.iter().all(|output| output.status == 0));
        assert_eq!(
            (&outputs[1].stdout[..], &outputs[2].stdout[..]),
            (&b"main\n"[..], &b"main\n"[..])
        );
        // The server ends the reply when the first list is done: that is seen, not hidden.
        let error = block_on(tmux.run_all(vec![lists(), waits()])).unwrap_err();
        assert_eq!(
            (error.kind(), error.delivery()),
            (ErrorKind::Transport, Delivery::PossiblySent)
        );
    });
}
