//! The command line.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::path::Path;
use std::process::Command;

use support::{
    PREFIX, Ran, Release, Server, Tap, directory, eventually, on_each_release, releases, run,
};

/// `muxwire` in an environment of our making.
fn muxwire(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muxwire"));
    command.env_clear().current_dir("/").env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", home).env("TMUX_TMPDIR", home).env("TMPDIR", home).env("LANG", "C");
    command
}

fn on(server: &Server, arguments: &[&str]) -> Ran {
    on_reading(server, arguments, None)
}

fn on_reading(server: &Server, arguments: &[&str], input: Option<&[u8]>) -> Ran {
    let mut command = muxwire(server.directory());
    run(command.arg("-S").arg(server.socket()).args(arguments), input)
}

fn machine() -> &'static Release {
    releases().last().expect("the machine's own tmux")
}

#[test]
fn exec_gives_what_tmux_gives() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["rename-window", "-t", "main", "é ☃"]);
        let lines: [&[&str]; 9] = [
            &["list-windows", "-F", "#{window_name}"],
            &["display-message", "-p", "a", ";", "display-message", "-p", "b;"],
            &["display-message", "-p", "-t", "%0", "#{pane_id}"],
            &["set-option", "-g", "@x", "-y"],
            &["kill-session", "-t", "=nosuch"],
            &["display-message", "-p", "a", ";", "kill-session", "-t", "=nosuch"],
            &["frobnicate"],
            &["run-shell", "exit 7"],
            &["attach-session"],
        ];
        for line in lines {
            let ours = on(&server, &[&["exec", "--"], line].concat());
            assert_eq!(ours, server.tmux(line), "{line:?}");
        }
    });
}

#[test]
fn exec_offers_its_input_and_never_waits_for_it_otherwise() {
    on_each_release(|release| {
        let server = Server::start(release);
        let data = b"\x00\xff line\n".repeat(20_000);
        let loaded = on_reading(&server, &["exec", "load-buffer", "-"], Some(&data));
        assert_eq!((loaded.status, loaded.stderr), (0, Vec::new()));
        assert_eq!(on(&server, &["exec", "show-buffer"]).stdout, data);
        // Standard input stays open and silent here.
        let mut child = muxwire(server.directory())
            .arg("-S")
            .arg(server.socket())
            .args(["exec", "list-sessions"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let status = eventually("the end of exec", || child.try_wait().unwrap());
        assert!(status.success());
    });
}

#[test]
fn exec_ends_well_when_it_ends_the_server_and_refuses_files() {
    on_each_release(|release| {
        let server = Server::start(release);
        let file = on(&server, &["exec", "load-buffer", "/etc/hostname"]);
        assert_eq!(file.status, 1);
        assert!(String::from_utf8_lossy(&file.stderr).contains("Permission denied"), "{file:?}");
        let ended = on(&server, &["exec", "kill-server"]);
        assert_eq!(ended, Ran { stdout: Vec::new(), stderr: Vec::new(), status: 0 });
    });
}

#[test]
fn snapshot_shows_everything_and_lets_no_title_act_on_the_terminal() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["split-window", "-d", "-t", "main", "exec sleep 1000"]);
        // The panes' shells turn into what they run a little later.
        let tree = eventually("the programs", || {
            let tree = on(&server, &["snapshot"]).text();
            let both = tree.contains("    *0: %0 sleep") && tree.contains("     1: %1 sleep");
            both.then_some(tree)
        });
        assert!(tree.contains("$0 main\n  *0: @0 "), "{tree}");
        let json = on(&server, &["snapshot", "--json"]).text();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["panes"][1]["id"], "%1");
        assert_eq!(json["sessions"][0]["name"], "main");
        assert_eq!(json["server"]["pid"], server.pid());
    });
}

#[test]
fn snapshot_where_prints_what_matches_and_refuses_bad_criteria_before_it_asks() {
    let document = |entity: &str, filter: &str| {
        format!(
            r#"{{"profile":"libtmux-ruby.where","version":1,"entity":"{entity}","where":{filter}}}"#
        )
    };
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["set-option", "-g", "automatic-rename", "off"]);
        server.set(["rename-window", "-t", "main", "odd\u{9b}2J"]);
        server.set(["split-window", "-d", "-t", "main", "exec sleep 1000"]);
        server.set(["new-session", "-d", "-s", "two", "-n", "w", "exec sleep 1000"]);
        let lines = |arguments: &[&str]| {
            let text = on(&server, &[&["snapshot", "--where"], arguments].concat()).text();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let panes = lines(&[&document("pane", r#"{"windowId":"@0"}"#), "--json"]);
        let ids = panes.iter().map(|line| serde_json::from_str(line).unwrap());
        let ids: Vec<serde_json::Value> = ids.collect();
        assert_eq!((panes.len(), &ids[0]["id"], &ids[1]["id"]), (2, &"%0".into(), &"%1".into()));
        assert_eq!((&ids[1]["windowId"], &ids[1]["active"]), (&"@0".into(), &false.into()));
        let sessions = lines(&[&document("session", r#"{"panes":{"none":{"id":"%0"}}}"#)]);
        assert_eq!(sessions, ["$1 two"]);
        let windows = lines(&[&document("window", r#"{"paneCount":2}"#)]);
        assert!(
            windows[0].starts_with("@0 odd") && windows[0].ends_with(" in $0:0"),
            "{windows:?}"
        );
        assert!(!windows[0].contains('\u{9b}'), "{windows:?}");
        assert_eq!(lines(&[&document("window_link", r#"{"windowId":"@1"}"#)]).len(), 1);
        assert!(lines(&[&document("client", "{}"), "--json"]).is_empty());
    });
    let directory = directory();
    for criteria in ["", "{}", "dead", &document("pane", r#"{"dead":1}"#)] {
        let ran = run(muxwire(directory.path()).args(["snapshot", "--where", criteria]), None);
        let words = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!((ran.status, words.lines().count()), (2, 1), "{words}");
        assert!(words.starts_with("muxwire: --where: "), "{words}");
    }
    let good = document("pane", "{}");
    let ran = run(muxwire(directory.path()).args(["snapshot", "--where", &good]), None);
    assert_eq!(ran.status, 3, "{ran:?}");
}

#[test]
fn capture_prints_the_pane_and_refuses_what_is_not_an_id() {
    let server = Server::start(machine());
    server.set(["respawn-pane", "-k", "-t", "%0", "seq 50; exec sleep 1000"]);
    let shown = eventually("the pane's output", || {
        let ran = on(&server, &["capture", "%0", "--history"]).text();
        ran.ends_with("50").then_some(ran)
    });
    assert_eq!(shown.lines().count(), 50);
    assert_eq!(on(&server, &["capture", "%0", "--start", "-2", "--end", "-1"]).text(), "26\n27");
    let json = on(&server, &["capture", "%0", "--json"]).text();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["pane"]["id"], "%0");
    for (pane, status) in [("%01", 2), ("0", 2), ("", 2), ("%99", 1)] {
        let ran = on(&server, &["capture", pane]);
        assert_eq!(ran.status, status, "{pane:?}: {ran:?}");
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty());
    }
}

#[test]
fn capture_reads_on_from_a_cursor() {
    on_each_release(|release| {
        let mut tap = Tap::open(release, 2_000);
        let pane = tap.pane.to_string();
        tap.lines(["one"]);
        let first = on(&tap.server, &["capture", &pane, "--cursor"]);
        assert_eq!((first.status, first.stdout.as_slice()), (0, &b"one\n"[..]));
        let words = String::from_utf8(first.stderr).unwrap();
        let cursor = words.strip_prefix("muxwire: cursor: ").unwrap().trim_end();
        tap.lines(["two", "three"]);
        let next = on(&tap.server, &["capture", &pane, "--since", cursor]);
        assert_eq!(
            (next.stdout.as_slice(), next.stderr.as_slice()),
            (&b"two\nthree\n"[..], &b""[..])
        );
        let json = on(&tap.server, &["capture", &pane, "--since", cursor, "--json"]).text();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&json["lines"][1], &json["missed"]), (&"three".into(), &().into()));
        tap.lines((0..40).map(|number| number.to_string()));
        let json = on(&tap.server, &["capture", &pane, "--json"]).text();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let cursor = json["cursor"].as_str().unwrap();
        tap.set("clear-history", &[]);
        let missed = on(&tap.server, &["capture", &pane, "--since", cursor]);
        let words = String::from_utf8(missed.stderr).unwrap();
        assert!(words.contains("history_cleared"), "{words}");
        for (arguments, status) in [
            (["capture", "%0", "--since", cursor], 2),
            (["capture", &pane, "--since", "m1.AAAA"], 2),
        ] {
            assert_eq!(on(&tap.server, &arguments).status, status, "{arguments:?}");
        }
    });
}

#[test]
fn watch_prints_each_line_once_until_the_pane_is_gone() {
    on_each_release(|release| {
        let mut tap = Tap::open(release, 2_000);
        tap.lines(["before"]);
        let mut command = muxwire(tap.server.directory());
        command.arg("-S").arg(tap.server.socket()).args(["watch", &tap.pane.to_string()]);
        let output = tap.server.directory().join("output");
        command
            .stdout(std::fs::File::create(&output).unwrap())
            .stderr(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        let printed = || std::fs::read_to_string(&output).unwrap();
        eventually("the screen", || (printed() == "before\n").then_some(()));
        // Longer than what is remembered of a last line.
        let long = "x".repeat(300);
        tap.show(&long);
        tap.show(format!("{long} unfin"));
        tap.show("ished\r\n10%");
        eventually("a finished line", || printed().ends_with("unfinished\n").then_some(()));
        tap.show("\r50%\r100%\r\n");
        tap.lines((0..200).map(|number| number.to_string()));
        let numbers: String = (0..200).map(|number| format!("{number}\n")).collect();
        let expected = format!("before\n{long}{long} unfinished\n100%\n{numbers}");
        eventually("all lines", || (printed().len() == expected.len()).then_some(()));
        assert_eq!(printed(), expected);
        tap.set("kill-pane", &[]);
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    });
}

#[test]
fn watch_holds_the_line_that_is_not_finished_whatever_is_rewritten_above_it() {
    on_each_release(|release| {
        let mut tap = Tap::open(release, 2_000);
        tap.lines((0..40).map(|number| number.to_string()));
        tap.show("one 10%\r\ntwo 10%\r\nquestion? ");
        let mut command = muxwire(tap.server.directory());
        command.arg("-S").arg(tap.server.socket()).args(["watch", &tap.pane.to_string()]);
        let output = tap.server.directory().join("output");
        command
            .stdout(std::fs::File::create(&output).unwrap())
            .stderr(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        let mut seen = 0;
        let mut prints = |text: &str| {
            let new = || std::fs::read_to_string(&output).unwrap()[seen..].to_owned();
            eventually(text, || (new().len() >= text.len()).then_some(()));
            assert_eq!(new(), text);
            seen += text.len();
        };
        let screen: String = (19..40).map(|number| format!("{number}\n")).collect();
        prints(&(screen + "one 10%\ntwo 10%\n"));
        tap.show("\x1b[s\x1b[2A\rone 50%\x1b[u");
        prints("one 50%\n");
        tap.show("\x1b[?1049h\x1b[Hfull\r\nscreen");
        prints("full\nscreen\n");
        tap.show("\x1b[?1049l");
        tap.show("yes\r\nanswered\r\nnext? ");
        prints("question? yes\nanswered\n");
        tap.set("kill-pane", &[]);
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(1));
        prints("next?\n");
    });
}

#[test]
fn bad_input_is_a_clear_error_with_its_own_status() {
    let directory = directory();
    let home = directory.path();
    let path = |name: &str| home.join(name).to_str().unwrap().to_owned();
    std::fs::write(path("file"), "").unwrap();
    support::leave_stale(path("stale").as_ref());
    let long = format!("/{}", "x".repeat(107));
    for (socket, status, says) in [
        (path("none"), 3, "there is no socket"),
        (path("file/none"), 3, "there is no socket"),
        (path("stale"), 3, "left over"),
        (path("file"), 3, "is not a socket"),
        (path(""), 3, "is not a socket"),
        (long, 2, "108 bytes"),
        (String::new(), 2, "not usable"),
    ] {
        for command in [&["snapshot"][..], &["capture", "%0"]] {
            let ran = run(muxwire(home).arg("-S").arg(&socket).args(command), None);
            let words = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert_eq!(ran.status, status, "{socket} {words}");
            assert!(words.starts_with("muxwire: ") && words.contains(says), "{words}");
            assert_eq!(words.lines().count(), 1);
        }
        let ran = run(muxwire(home).arg("-S").arg(&socket).args(["exec", "ls"]), None);
        let status = if status == 2 { 2 } else { 1 }; // else as tmux's own client
        assert_eq!(ran.status, status, "{ran:?}");
    }
    let left: Vec<_> =
        std::fs::read_dir(home).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    let server = Server::start(machine());
    let long = "x".repeat(20_000);
    let ran = on(&server, &["exec", "display-message", "-p", &long]);
    assert!(String::from_utf8_lossy(&ran.stderr).contains("20020 bytes"), "{ran:?}");
    assert_eq!(ran.status, 1);
}

#[test]
fn a_stopped_server_ends_in_the_deadline() {
    let server = Server::start(machine());
    support::signal(server.pid(), "STOP");
    let ran = on(&server, &["--timeout", "0.2", "snapshot"]);
    support::signal(server.pid(), "CONT");
    assert_eq!(ran.status, 4, "{ran:?}");
    assert!(String::from_utf8_lossy(&ran.stderr).contains("within 0.2 s"), "{ran:?}");
}

#[test]
fn a_timeout_that_is_none_is_refused_with_what_it_takes() {
    let server = Server::start(machine());
    for timeout in ["-1", "-0.5", "86401", "soon", ""] {
        for arguments in [["--timeout", timeout, "snapshot"], ["snapshot", "--timeout", timeout]] {
            let ran = on(&server, &arguments);
            let says = "muxwire: --timeout takes a number of seconds from 0 to 86400\n";
            assert_eq!((ran.status, &*ran.stderr), (2, says.as_bytes()), "{timeout:?} {ran:?}");
        }
    }
}

#[test]
fn doctor_says_what_is_there_and_what_is_not() {
    on_each_release(|release| {
        let server = Server::start(release);
        let found = on(&server, &["doctor", "--tmux", release.tmux.to_str().unwrap()]);
        let words = found.text();
        assert!(words.contains(&format!("server: tmux {}", release.name())), "{words}");
        assert!(words.contains("1 sessions, 1 windows, 1 panes, 0 clients"), "{words}");
        assert!(!words.contains("BAD"), "{words}");
    });
    let directory = directory();
    let ran = run(muxwire(directory.path()).args(["doctor", "--tmux", "/nonexistent"]), None);
    let words = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status, 3);
    assert!(words.contains("BAD  server: no tmux server"), "{words}");
    assert!(words.contains("note binary"), "{words}");
}

#[test]
fn demo_and_bench_do_their_work_and_leave_nothing() {
    on_each_release(|release| {
        let directory = directory();
        let tmux = release.tmux.to_str().unwrap();
        let demo = run(muxwire(directory.path()).args(["demo", "--tmux", tmux]), None).text();
        assert!(demo.contains("  | 42 answers\n"), "{demo}");
        assert!(demo.contains("in one round trip"), "{demo}");
        let pid = demo.split_once(", process ").unwrap().1.lines().next().unwrap();
        assert!(support::has_ended(pid.parse().unwrap()), "the server is left");
        let arguments = ["bench", "--private", "--runs", "10", "--json", "--tmux", tmux];
        let bench = run(muxwire(directory.path()).args(arguments), None).text();
        let bench: serde_json::Value = serde_json::from_str(&bench).unwrap();
        assert_eq!(bench["server_version"], release.name());
        assert_eq!(bench["times"].as_array().unwrap().len(), 3);
        let left = std::fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(left, 0, "something was left in {PREFIX}…");
    });
}

#[test]
fn an_interrupted_bench_ends_its_server() {
    let directory = directory();
    let mut child = muxwire(directory.path())
        .args(["bench", "--private", "--runs", "100000"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let socket = eventually("the private server", || {
        let entry = std::fs::read_dir(directory.path()).unwrap().next()?.unwrap();
        let socket = entry.path().join("socket");
        socket.exists().then_some(socket)
    });
    let tmux = muxwire::Tmux::builder().socket_path(&socket).build().unwrap();
    let server = eventually("its answer", || support::block_on(tmux.server()).ok());
    support::signal(child.id(), "INT");
    let status = eventually("the end of bench", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(130));
    assert!(support::has_ended(server.identity.pid), "the server is left");
    assert!(!socket.exists() && std::fs::read_dir(directory.path()).unwrap().count() == 0);
}

#[test]
fn completions_name_the_commands() {
    let directory = directory();
    for shell in ["bash", "zsh", "fish"] {
        let script = run(muxwire(directory.path()).args(["completions", shell]), None).text();
        assert!(script.contains("snapshot") && script.contains("doctor"), "{shell}");
    }
}
