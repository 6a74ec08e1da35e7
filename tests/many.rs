//! Many panes at once: what changed in them and what is found in them, on every release.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::collections::BTreeSet;
use std::time::Duration;

use muxwire::capture::{
    Observation, Observed, PaneChange, Pattern, Scope, SearchOptions, SinceOptions,
};
use muxwire::model::PaneId;
use muxwire::{ErrorKind, Tmux};
use support::{CountingProxy, Release, Server, Tap, block_on, eventually, on_each_release};

/// A server with so many more windows, each of which shows its number.
fn crowd(release: &Release, windows: u32) -> Server {
    let server = Server::start(release);
    for number in 1..=windows {
        server.set(["new-window", "-d", &format!("echo pane {number}; exec sleep 100000")]);
    }
    let (tmux, pattern) = (server.handle(), Pattern::literal("pane", true).unwrap());
    eventually("all panes' output", || {
        let found = block_on(tmux.search(&pattern, &SearchOptions::default())).unwrap();
        (found.matches.len() == windows as usize).then_some(())
    });
    server
}

#[test]
fn sixty_panes_are_read_in_few_round_trips() {
    on_each_release(|release| {
        let server = crowd(release, 60);
        let proxy = CountingProxy::new(&server);
        let tmux = Tmux::builder().socket_path(proxy.path()).build().unwrap();
        let observe = |earlier: Option<&Observation>| {
            let options = SinceOptions::default();
            block_on(tmux.observe(Scope::Server, earlier, &options)).unwrap()
        };
        let first = observe(None);
        assert_eq!((first.panes.len(), first.unchanged), (61, 0));
        let trips = proxy.all();
        assert!(trips.len() <= 8 && trips.iter().all(|it| it.round_trips == 1), "{trips:?}");
        for (pane, change) in &first.panes {
            let PaneChange::New(delta) = change else { panic!("{pane}: {change:?}") };
            let number = pane.number();
            let expected = if number == 0 { vec![] } else { vec![format!("pane {number}")] };
            assert_eq!(delta.lines, expected);
        }
        // A second later all that was written is known to be old.
        std::thread::sleep(Duration::from_millis(1_100));
        let second = observe(Some(&first.observation));
        proxy.all();
        let third = observe(Some(&second.observation));
        assert_eq!((third.panes.len(), third.unchanged), (0, 61));
        // One look at all, and one at the pane that is blank: a reset would leave it like that.
        assert_eq!(proxy.all().len(), 2);

        let found = block_on(
            tmux.search(&Pattern::regex(r"^pane \d*7$", true).unwrap(), &SearchOptions::default()),
        )
        .unwrap();
        let panes: Vec<u32> = found.matches.iter().map(|it| it.pane.number()).collect();
        assert_eq!(panes, [7, 17, 27, 37, 47, 57]);
        assert_eq!((found.panes_searched, found.truncated), (61, false));
    });
}

#[test]
fn panes_at_a_full_history_are_observed_all_together() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["set-option", "-g", "history-limit", "100"]);
        for _ in 0..14 {
            server.set(["new-window", "-d", "seq 1000; exec cat"]);
        }
        let tmux = server.handle();
        let observe = |earlier: Option<&Observation>| {
            let options = SinceOptions::default();
            block_on(tmux.observe(Scope::Server, earlier, &options)).unwrap()
        };
        let first = eventually("all panes' output", || {
            let observed = observe(None);
            let is_whole = |(pane, change): &(PaneId, PaneChange)| match change {
                PaneChange::New(delta) => {
                    pane.number() == 0 || delta.lines.ends_with(&["1000".into()])
                }
                _ => false,
            };
            observed.panes.iter().all(is_whole).then_some(observed)
        });
        for window in 1..=14 {
            let window = format!("main:{window}");
            server.set(["send-keys", "-t", &window, "-l", "typed"]);
            server.set(["send-keys", "-t", &window, "Enter"]);
        }
        let mut lines = 0;
        let mut earlier = first.observation;
        eventually("what was typed", || {
            let observed = observe(Some(&earlier));
            for (pane, change) in &observed.panes {
                let PaneChange::Changed(delta) = change else { panic!("{pane}: {change:?}") };
                assert_eq!(delta.missed, None, "{pane}: {:?}", delta.lines);
                lines += delta.lines.iter().filter(|line| *line == "typed").count();
            }
            earlier = observed.observation;
            // The echo of the terminal and that of cat.
            (lines >= 28).then_some(())
        });
        assert_eq!(lines, 28);
    });
}

#[test]
fn a_scope_holds_its_panes_and_no_others() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["split-window", "-d", "-t", "%0", "exec sleep 100000"]);
        server.set(["new-session", "-d", "-s", "other", "exec sleep 100000"]);
        server.set(["link-window", "-d", "-s", "other:0", "-t", "main:7"]);
        let tmux = server.handle();
        let panes = |scope: Scope| -> BTreeSet<u32> {
            let observed = block_on(tmux.observe(scope, None, &SinceOptions::default())).unwrap();
            observed.panes.iter().map(|(pane, _)| pane.number()).collect()
        };
        assert_eq!(panes(Scope::Server), [0, 1, 2].into());
        assert_eq!(panes(Scope::Session("$0".parse().unwrap())), [0, 1, 2].into());
        assert_eq!(panes(Scope::Session("$1".parse().unwrap())), [2].into());
        assert_eq!(panes(Scope::Window("@0".parse().unwrap())), [0, 1].into());
        let missing = Scope::Window("@9".parse().unwrap());
        let error = block_on(tmux.observe(missing, None, &SinceOptions::default())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        // Another scope's observation is no earlier look at this one.
        let options = SinceOptions::default();
        let of_window =
            block_on(tmux.observe(Scope::Window("@0".parse().unwrap()), None, &options));
        let earlier = of_window.unwrap().observation;
        let all = block_on(tmux.observe(Scope::Server, Some(&earlier), &options)).unwrap();
        assert_eq!((all.panes.len(), all.unchanged), (3, 0));
    });
}

#[test]
fn a_pane_that_ends_or_is_respawned_is_gone_or_new() {
    on_each_release(|release| {
        let mut tap = Tap::open(release, 2_000);
        tap.lines(["one"]);
        let made =
            tap.server.tmux(["new-window", "-d", "-P", "-F", "#{pane_id}", "exec sleep 1000"]);
        let other: PaneId = made.text().parse().unwrap();
        let tmux = tap.server.handle();
        let observe = |earlier: Option<&Observation>| {
            block_on(tmux.observe(Scope::Server, earlier, &SinceOptions::default())).unwrap()
        };
        let first = observe(None);
        tap.server.set(["kill-pane", "-t", &other.to_string()]);
        tap.set("respawn-pane", &["-k", "echo again; exec sleep 100000"]);
        let next = eventually("the new program", || {
            let next = observe(Some(&first.observation));
            let is_shown = |(pane, change): &(PaneId, PaneChange)| {
                *pane == tap.pane
                    && matches!(change, PaneChange::New(delta) if delta.lines == ["again"])
            };
            next.panes.iter().any(is_shown).then_some(next)
        });
        assert!(next.panes.contains(&(other, PaneChange::Gone)), "{:?}", next.panes);
        assert_eq!((next.panes.len(), next.unchanged), (2, 1));
    });
}

fn look(tmux: &Tmux, earlier: Option<&Observation>) -> Observed {
    let scope = earlier.map_or(Scope::Server, Observation::scope);
    block_on(tmux.observe(scope, earlier, &Default::default())).unwrap()
}

#[test]
fn the_end_of_a_program_that_said_nothing_is_a_change() {
    on_each_release(|release| {
        let server = Server::start(release);
        let tmux = server.handle();
        server.set(["set-option", "-g", "remain-on-exit", "on"]);
        server.set(["new-window", "-d", "-t", "main", "echo begun; read line"]);
        eventually("its first line", || {
            (server.tmux(["capture-pane", "-p", "-t", "%1"]).text().trim() == "begun").then_some(())
        });
        let first = look(&tmux, None);
        assert_eq!((first.panes.len(), first.unchanged), (2, 0));
        server.set(["send-keys", "-t", "%1", "Enter"]);
        eventually("its end", || {
            server.reap();
            (server.show_of("%1", "#{pane_dead}") == "1").then_some(())
        });
        let ended = look(&tmux, Some(&first.observation));
        let [(pane, PaneChange::Changed(delta))] = &*ended.panes else { panic!("{ended:?}") };
        assert_eq!((pane.to_string().as_str(), delta.pane.dead), ("%1", true));
        assert_eq!((ended.unchanged, delta.missed, delta.lines.len()), (1, None, 0));
        let after = look(&tmux, Some(&ended.observation));
        assert_eq!((after.panes.len(), after.unchanged), (0, 2), "{after:?}");
    });
}

#[test]
fn an_alternate_screen_that_comes_or_goes_is_a_change_though_it_is_blank() {
    on_each_release(|release| {
        let mut tap = Tap::open(release, 2_000);
        let tmux = tap.server.handle();
        let mut before = look(&tmux, None);
        for (switch, on) in [("\x1b[?1049h", true), ("\x1b[?1049l", false)] {
            tap.show(switch);
            let after = look(&tmux, Some(&before.observation));
            let [(_, PaneChange::Changed(delta))] = &*after.panes else { panic!("{after:?}") };
            assert_eq!(delta.pane.alternate_on, on);
            before = after;
        }
    });
}

#[test]
fn a_window_in_several_sessions_is_told_as_of_the_one_that_is_observed() {
    on_each_release(|release| {
        let server = Server::start(release);
        let tmux = server.handle();
        server.set(["new-session", "-d", "-s", "other", "exec sleep 100000"]);
        server.set(["link-window", "-s", "=main:0", "-t", "=other:7"]);
        for (session, name, panes) in [("$0", "main", 1), ("$1", "other", 2)] {
            let scope = Scope::Session(session.parse().unwrap());
            let seen = block_on(tmux.observe(scope, None, &Default::default())).unwrap();
            assert_eq!(seen.panes.len(), panes);
            for (_, change) in &seen.panes {
                let PaneChange::New(delta) = change else { panic!("{change:?}") };
                assert_eq!(delta.pane.session_name, *name);
                assert_eq!(delta.pane.session_id.to_string(), session);
            }
        }
        let all = look(&tmux, None);
        assert_eq!(all.panes.len(), 2);
    });
}

#[test]
fn panes_of_another_server_are_never_taken_for_those_that_were_listed() {
    on_each_release(|release| {
        let (first, second) = (Server::start(release), Server::start(release));
        let switched = || {
            let mut sockets = vec![second.socket().to_owned(), first.socket().to_owned()];
            CountingProxy::to(move || sockets.pop().expect("no more than two connections"))
        };
        let proxy = switched();
        let tmux = proxy.handle();
        let observed = block_on(tmux.observe(Scope::Server, None, &Default::default()));
        assert_eq!(observed.unwrap_err().kind(), ErrorKind::ServerChanged);
        let proxy = switched();
        let tmux = proxy.handle();
        let pattern = Pattern::literal("x", true).unwrap();
        let found = block_on(tmux.search(&pattern, &Default::default()));
        assert_eq!(found.unwrap_err().kind(), ErrorKind::ServerChanged);
    });
}

#[test]
fn a_pane_that_ends_between_the_list_and_its_turn_is_gone() {
    on_each_release(|release| {
        let mut tap = Tap::open(release, 2_000);
        tap.lines(["one"]);
        // So that what is remembered has signs, by which a pane is known to be unchanged.
        std::thread::sleep(Duration::from_millis(1_100));
        let mut kill = tap.server.command();
        kill.args(["kill-pane", "-t", &tap.pane.to_string()]);
        let (socket, mut connections) = (tap.server.socket().to_owned(), 0);
        let proxy = CountingProxy::to(move || {
            connections += 1;
            if connections == 4 {
                assert!(kill.status().unwrap().success());
            }
            socket.clone()
        });
        let tmux = proxy.handle();
        let first = look(&tmux, None);
        tap.lines(["two"]);
        let gone = look(&tmux, Some(&first.observation));
        assert_eq!(gone.panes, [(tap.pane, PaneChange::Gone)]);
        assert_eq!(gone.unchanged, 1);
    });
}
