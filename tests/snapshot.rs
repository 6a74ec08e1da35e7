//! A snapshot against what was made and against what the release's own client lists.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::os::unix::fs::MetadataExt;
use std::process::Stdio;

use muxwire::model::{Snapshot, WindowId};
use support::{
    IDLE, Release, Server, block_on, eventually, new_window, on_each_release, pane, snapshot,
    snapshot_with,
};

/// What the release's own client lists, row by row.
fn listed(server: &Server, command: &[&str], fields: &[&str]) -> Vec<Vec<String>> {
    let format = fields.iter().map(|field| format!("#{{{field}}}")).collect::<Vec<_>>().join(" ");
    let text = server.tmux([command, &["-F", &format]].concat()).text();
    text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

fn flag(value: bool) -> String {
    u32::from(value).to_string()
}

/// Every field without text in it is what the release's own client lists, once the server is quiet.
#[track_caller]
fn agrees(server: &Server) {
    let (ours, theirs) = eventually("a server that is quiet", || {
        let before = snapshot(server);
        let theirs = everything_listed(server);
        (snapshot(server) == before).then(|| (everything_seen(&before), theirs))
    });
    assert_eq!(ours, theirs);
}

type Rows = Vec<Vec<String>>;

/// The rows of sessions, of links with their windows, and of panes, as the client lists them.
fn everything_listed(server: &Server) -> [Rows; 3] {
    let fields = ["session_id", "session_created", "session_attached", "session_windows"];
    let sessions = listed(server, &["list-sessions"], &fields);
    let fields = ["session_id", "window_id", "window_index", "window_active"];
    let more =
        ["window_width", "window_height", "window_panes", "window_zoomed_flag", "window_layout"];
    let links = listed(server, &["list-windows", "-a"], &[&fields[..], &more].concat());
    let fields = ["pane_id", "window_id", "pane_index", "pane_pid", "pane_active", "pane_dead"];
    let more = ["pane_width", "pane_height", "pane_in_mode", "alternate_on", "history_size"];
    let mut panes = listed(server, &["list-panes", "-a"], &[&fields[..], &more].concat());
    for row in &mut panes {
        if row[3].is_empty() {
            row[3] = "0".into(); // 3.8, for a pane without a program
        }
        row[8] = flag(row[8] != "0"); // some releases count the modes
    }
    [sessions, links, panes].map(|mut rows| {
        rows.sort();
        rows.dedup(); // a pane in a linked window is listed for each link
        rows
    })
}

/// The same rows from a snapshot.
fn everything_seen(snapshot: &Snapshot) -> [Rows; 3] {
    let sessions = snapshot.sessions.iter().map(|it| {
        let fields = [it.id.to_string(), it.created.to_string(), it.attached.to_string()];
        [&fields[..], &[it.window_count.to_string()]].concat()
    });
    let links = snapshot.links.iter().map(|link| {
        let it = snapshot.window(link.window_id).unwrap();
        let place =
            [link.session_id.to_string(), link.window_id.to_string(), link.index.to_string()];
        let size = [it.width.to_string(), it.height.to_string(), it.pane_count.to_string()];
        let layout = [flag(it.zoomed), it.layout.to_string()];
        [&place[..], &[flag(link.active)], &size, &layout].concat()
    });
    let panes = snapshot.panes.iter().map(|it| {
        let ids = [it.id.to_string(), it.window_id.to_string(), it.index.to_string()];
        let flags = [it.pid.to_string(), flag(it.active), flag(it.dead)];
        let size = [it.width.to_string(), it.height.to_string()];
        let modes = [flag(it.in_mode), flag(it.alternate_on), it.history_size.to_string()];
        [&ids[..], &flags, &size, &modes].concat()
    });
    [sessions.collect(), links.collect(), panes.collect()].map(|mut rows: Rows| {
        rows.sort();
        rows
    })
}

#[test]
fn a_plain_server_is_shown_as_it_is() {
    on_each_release(|release| {
        let server = Server::start(release);
        let found = snapshot_with(&server, "the program", |found| {
            found.panes[0].current_command == *"sleep" && found.panes[0].current_path.is_some()
        });
        agrees(&server);
        let [session] = &found.sessions[..] else { panic!("{found:#?}") };
        assert_eq!((session.name.to_string(), session.window_count), ("main".into(), 1));
        let (window, pane) = (&found.windows[0], &found.panes[0]);
        assert_eq!((window.width, window.height, pane.width, pane.height), (80, 24, 80, 24));
        assert_eq!(pane.current_path.as_ref().map(ToString::to_string), Some("/".into()));
        assert_eq!(found.session_named("main"), Some(session));
        assert_eq!(found.session_named("mai"), None, "never by how it starts");
        assert_eq!(found.current_window(session.id), Some(window));
        assert_eq!(found.active_pane(window.id), Some(pane));

        let file = std::fs::metadata(server.socket()).unwrap();
        let identity = found.server.identity;
        assert_eq!((identity.device, identity.inode), (file.dev(), file.ino()));
        assert_eq!(identity.pid, server.pid());
        assert_eq!(identity.start_time.to_string(), server.show("#{start_time}"));
        assert_eq!(found.server.version(), release.name());
    });
}

#[test]
fn a_server_without_sessions_gives_empty_lists_and_says_who_it_is() {
    on_each_release(|release| {
        let server = Server::start_empty(release);
        let found = snapshot(&server);
        assert!(found.sessions.is_empty() && found.windows.is_empty() && found.links.is_empty());
        assert!(found.panes.is_empty() && found.clients.is_empty());
        assert_eq!(found.server.identity.pid, server.pid());
        assert_eq!(found.server.version(), release.name());
    });
}

#[test]
fn linked_windows_and_grouped_sessions_are_windows_once_and_links_each_time() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["new-session", "-d", "-s", "two", "-x", "80", "-y", "24", IDLE]);
        server.set(["link-window", "-d", "-s", "=main:0", "-t", "=two:5"]);
        server.set(["link-window", "-d", "-s", "=main:0", "-t", "=main:3"]);
        server.set(["new-session", "-d", "-t", "=main", "-s", "twin"]);
        server.set(["select-window", "-t", "=two:5"]);
        let found = snapshot(&server);
        agrees(&server);
        assert_eq!((found.sessions.len(), found.windows.len(), found.panes.len()), (3, 2, 2));
        let of = |name: &str| {
            let id = found.session_named(name).unwrap().id;
            found
                .links_of_session(id)
                .iter()
                .map(|link| (link.index, link.window_id.number(), link.active))
        };
        assert_eq!(of("main").collect::<Vec<_>>(), [(0, 0, true), (3, 0, false)]);
        assert_eq!(of("two").collect::<Vec<_>>(), [(0, 1, false), (5, 0, true)]);
        assert_eq!(
            of("twin").map(|(index, window, _)| (index, window)).collect::<Vec<_>>(),
            [(0, 0), (3, 0)]
        );
        assert_eq!(found.links_of_window(WindowId::new(0)).count(), 5);
        let groups: Vec<_> = found.sessions.iter().map(|session| session.group.as_ref()).collect();
        assert_eq!(groups[0].unwrap().to_string(), server.show_of("=main:", "#{session_group}"));
        assert_eq!((groups[1], groups[2]), (None, groups[0]));
    });
}

#[test]
fn a_zoomed_window_keeps_its_hidden_panes() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["split-window", "-h", "-t", "=main:", IDLE]);
        let open = snapshot(&server);
        assert!(!open.windows[0].zoomed);
        server.set(["resize-pane", "-Z", "-t", "=main:"]);
        let found = snapshot(&server);
        agrees(&server);
        assert!(found.windows[0].zoomed);
        assert_eq!((found.panes.len(), found.windows[0].pane_count), (2, 2));
        assert_eq!(found.active_pane(found.windows[0].id).unwrap().width, 80);
    });
}

#[test]
fn a_dead_pane_shows_how_it_ended() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["set-option", "-g", "remain-on-exit", "on"]);
        let ended = [("exit 7", Some(7)), ("true", Some(0)), ("exit 255", Some(255))];
        let ids = ended.map(|(command, _)| new_window(&server, command));
        let killed = new_window(&server, "kill -9 $$");
        let found = snapshot_with(&server, "four dead panes", |found| {
            server.reap();
            let known = ids.iter().all(|id| pane(found, id).dead_status.is_some());
            known && found.panes.iter().filter(|pane| pane.dead).count() == 4
        });
        agrees(&server);
        for (id, (command, status)) in ids.iter().zip(ended) {
            assert_eq!(pane(&found, id).dead_status, status, "{command}");
        }
        let status = server.show_of(&killed, "#{pane_dead_status}").parse().ok();
        assert_eq!(pane(&found, &killed).dead_status, status, "by a signal");
        assert_eq!(pane(&found, "%0").dead_status, None, "alive");
    });
}

#[test]
fn the_alternate_screen_and_copy_mode_are_seen() {
    on_each_release(|release| {
        let server = Server::start(release);
        let full = new_window(&server, &format!("printf '\\033[?1049h'; {IDLE}"));
        let copying = new_window(&server, &format!("seq 100; {IDLE}"));
        snapshot_with(&server, "the programs' output", |found| {
            pane(found, &full).alternate_on && pane(found, &copying).history_size == 77
        });
        server.set(["copy-mode", "-t", &copying]);
        let found = snapshot(&server);
        agrees(&server);
        let modes = |id: &str| (pane(&found, id).alternate_on, pane(&found, id).in_mode);
        assert_eq!(modes("%0"), (false, false));
        assert_eq!(modes(&full), (true, false));
        assert_eq!(modes(&copying), (false, true));
    });
}

#[test]
fn an_attached_control_client_is_listed_while_it_stays() {
    on_each_release(|release| {
        let server = Server::start(release);
        assert!(snapshot(&server).clients.is_empty());
        let mut command = server.command();
        command.args(["-C", "attach-session", "-r", "-t", "=main"]);
        let mut control = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let found = snapshot_with(&server, "the client", |found| !found.clients.is_empty());
        let [client] = &found.clients[..] else { panic!("{found:#?}") };
        assert_eq!(client.pid, control.id());
        assert_eq!(client.session_id, Some(found.sessions[0].id));
        assert!(client.control_mode && client.read_only, "{client:?}");
        let utf8 = listed(&server, &["list-clients"], &["client_utf8"]).remove(0).remove(0);
        assert_eq!(flag(client.utf8), utf8);
        assert_eq!(client.tty, None, "it has no terminal");
        let name = listed(&server, &["list-clients"], &["client_name"]).remove(0).remove(0);
        assert_eq!(client.name.to_string(), name);
        assert_eq!(found.sessions[0].attached, 1);
        agrees(&server);
        drop(control.stdin.take());
        snapshot_with(&server, "the end of the client", |found| {
            found.clients.is_empty() && found.sessions[0].attached == 0
        });
        control.wait().unwrap();
    });
}

#[test]
fn a_hundred_panes_are_all_there() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["set-option", "-g", "history-limit", "100"]);
        for window in 1..=19 {
            let target = format!("=main:{window}");
            server.set(["new-window", "-d", "-t", &target, IDLE]);
            for _ in 1..5 {
                server.set([
                    "split-window",
                    "-d",
                    "-t",
                    &target,
                    IDLE,
                    ";",
                    "select-layout",
                    "-t",
                    &target,
                    "tiled",
                ]);
            }
        }
        for _ in 1..5 {
            server.set([
                "split-window",
                "-d",
                "-t",
                "=main:0",
                IDLE,
                ";",
                "select-layout",
                "-t",
                "=main:0",
                "tiled",
            ]);
        }
        let found = snapshot_with(&server, "every program", |found| {
            found.panes.iter().all(|pane| pane.current_command == *"sleep")
        });
        assert_eq!((found.windows.len(), found.panes.len()), (20, 100));
        assert!(found.windows.iter().all(|window| window.pane_count == 5));
        let ids: Vec<u32> = found.panes.iter().map(|pane| pane.id.number()).collect();
        assert!(ids.is_sorted() && ids.first() == Some(&0));
        agrees(&server);
    });
}

#[test]
fn a_pane_without_a_program_is_a_pane() {
    on_each_release(|release| {
        let server = Server::start(release);
        let empty =
            server.tmux(["split-window", "-P", "-F", "#{pane_id}", "-t", "=main:", ""]).text();
        let fed = server.tmux_reading(
            b"text\n",
            ["split-window", "-I", "-P", "-F", "#{pane_id}", "-t", "=main:"],
        );
        let found = snapshot(&server);
        assert_eq!(found.panes.len(), 3);
        agrees(&server);
        for id in [empty, fed.text()] {
            let pane = pane(&found, &id);
            // 3.3 and 3.5 call it dead, the others do not: `agrees` has compared it.
            assert_eq!(
                (pane.pid, pane.dead_status, &pane.current_path),
                (0, None, &None),
                "{pane:?}"
            );
        }
    });
}

/// Releases from 3.7 have panes that float above a window's others.
fn has_floating_panes(release: &Release) -> bool {
    release.at_least(3, 7)
}

#[test]
fn floating_panes_are_panes_of_their_window() {
    on_each_release(|release| {
        let server = Server::start(release);
        let made = server.tmux([
            "new-pane",
            "-P",
            "-F",
            "#{pane_id}",
            "-t",
            "=main:",
            "-x",
            "30",
            "-y",
            "10",
            IDLE,
        ]);
        if !has_floating_panes(release) {
            assert_eq!(made.status, 1, "{made:?}");
            return;
        }
        let id = made.text();
        let found = snapshot(&server);
        assert_eq!((found.panes.len(), found.windows[0].pane_count), (2, 2));
        assert!(pane(&found, &id).width < 80);
        // The layout names it: behind the tiled ones in 3.7, as JSON in 3.8.
        let mark = if release.at_least(3, 8) { "\"z\":0" } else { "<" };
        let layout = &found.windows[0].layout;
        assert!(layout.to_string().contains(mark), "{layout}");
        agrees(&server);
    });
}

#[test]
fn snapshots_of_a_server_that_changes_all_the_time_agree_with_themselves() {
    on_each_release(|release| {
        let server = Server::start(release);
        let tmux = server.handle();
        std::thread::scope(|scope| {
            let changes = scope.spawn(|| {
                for _ in 0..25 {
                    server.tmux([
                        "new-window",
                        "-d",
                        "-t",
                        "=main:",
                        IDLE,
                        ";",
                        "split-window",
                        "-d",
                        "-t",
                        "=main:",
                        IDLE,
                    ]);
                    server.tmux(["new-session", "-d", "-s", "short", IDLE]);
                    server.tmux([
                        "kill-session",
                        "-t",
                        "=short",
                        ";",
                        "kill-pane",
                        "-t",
                        "=main:.1",
                    ]);
                }
            });
            let mut taken = 0;
            while !changes.is_finished() {
                assert_eq!(block_on(tmux.snapshot()).unwrap().check(), Ok(()));
                taken += 1;
            }
            assert!(taken > 25, "{taken}");
        });
    });
}
