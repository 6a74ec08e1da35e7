//! The same command through the tmux binary and through us gives the same bytes and the same
//! status, on every release.
//!
//! Left out on purpose, because we differ for a reason:
//!
//! * Lists with more than one output stream, such as `display-message -p A ; show-buffer`: tmux's
//!   own client opens its stdout for one stream only and loses or misplaces the others; here all
//!   arrive.
//! * Commands that make the *client* open a file (`save-buffer PATH`, `load-buffer PATH`,
//!   `source-file PATH`): refused here, as the last test shows.
//! * What names the client or depends on its directory.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use muxwire::exchange::{End, Reply};
use muxwire::protocol::Command;
use muxwire::{CommandList, Stdin};
use support::{Ran, Server, block_on, eventually, on_each_release};

/// Runs a command line through us.
fn ours(server: &Server, line: &[&[u8]], stdin: Option<&[u8]>) -> Ran {
    let stdin = stdin.map_or(Stdin::None, |data| Stdin::Bytes(data.to_vec().into()));
    let reply = block_on(server.handle().command_line(line).stdin(stdin).reply());
    let Reply { stdout, stderr, end } =
        reply.unwrap_or_else(|error| panic!("{}: {error}", shown(line)));
    let status = match end {
        End::Exit { status } => status,
        End::Shutdown => 0, // as tmux's own client
    };
    Ran { stdout: stdout.to_vec(), stderr: stderr.to_vec(), status }
}

/// Runs a command line through the tmux binary.
fn theirs(server: &Server, line: &[&[u8]], stdin: Option<&[u8]>) -> Ran {
    let line = line.iter().map(|argument| OsStr::from_bytes(argument));
    match stdin {
        Some(data) => server.tmux_reading(data, line),
        None => server.tmux(line),
    }
}

/// Runs a command line both ways; gives what both gave.
#[track_caller]
fn same_reading(server: &Server, line: &[&[u8]], stdin: Option<&[u8]>) -> Ran {
    let theirs = theirs(server, line, stdin);
    let ours = ours(server, line, stdin);
    assert!(ours == theirs, "{}\n  ours: {ours:?}\ntheirs: {theirs:?}", shown(line));
    ours
}

#[track_caller]
fn same(server: &Server, line: &[&str]) -> Ran {
    let line: Vec<&[u8]> = line.iter().map(|argument| argument.as_bytes()).collect();
    same_reading(server, &line, None)
}

fn shown(line: &[&[u8]]) -> String {
    let arguments = line.iter().map(|argument| format!("\"{}\"", argument.escape_ascii()));
    arguments.collect::<Vec<_>>().join(" ")
}

/// Command lines, one a line, whose arguments hold no space.
const TABLE: &str = "
    list-sessions
    ls
    list-sess
    list-windows -a
    list-panes -a
    list-panes -t =main:
    list-clients
    list-buffers
    list-commands
    list-keys
    show-options -g
    show-options -s
    show-options -gw
    show-options -g nosuch
    show-options -gqv nosuch
    show-environment -g TERM
    show-hooks -g
    has-session -t =main
    has-session -t =nosuch
    kill-session -t =nosuch
    kill-pane -t %99
    select-pane -t =main:9
    frobnicate
    list
    new-session
    attach-session -t =main
    switch-client -t =main
    detach-client
    display-message
    display-message -p -t =main: #{session_name}:#{window_index}.#{pane_index}
    display-message -p -t =main: #{pane_width}x#{pane_height}
    display-message -p
    set-option -g @x y
    set-option -g nosuch y
    set-option
    capture-pane -p -t =main:
    capture-pane -p -e -J -t =main:
    capture-pane -p -t %99
    send-keys -t =main: -l x
    resize-pane -t =main: -x notanumber
    wait-for -S channel
    wait-for
    delete-buffer -b nosuch
    set-buffer -b x ab
    show-buffer -b x
    show-buffer -b nosuch
    save-buffer -b x -
    refresh-client -S
    server-access -l
    select-layout -t =main: nosuchlayout
    bind-key -T prefix
    detach-client -s =main
    detach-client -a -s =main
    set-option -gq nosuch y
    set-option -goq @x z
    set-option -go @x z
    show-options -qv -t =nosuch nosuch
    unbind-key -q nosuch
    unbind-key nosuch
    send-keys -t =main: -X cancel
    copy-mode -t =main:
    copy-mode -t =main: -q
    find-window -t =main: nosuch
    copy-mode -t =main: -q
    suspend-client
    lock-server
    lock-session -t =main
    clear-history -t =main:
    next-window -t =main
    last-window -t =main
    last-pane -t =main:
    respawn-pane -t =main:
    respawn-window -t =main:
    pipe-pane -t =main:
    swap-pane -s %0 -t %0
    rename-session -t =main main
    rename-window -t =main: name
    link-window -s =main: -t =main:
    unlink-window -t =main:
    display-panes
    start-server
    show-prompt-history
    confirm-before kill-server
    command-prompt
    choose-tree -t =nosuch
    if-shell -F 0 list-sessions
    if-shell -F 1 has-session
    set-environment -g NAME value
    show-environment -g NAME
    paste-buffer -b nosuch -t =main:
    wait-for -U nosuch
";

#[test]
fn a_table_of_commands_gives_the_same() {
    on_each_release(|release| {
        let server = Server::start(release);
        let lines = TABLE.lines().filter(|line| !line.trim().is_empty());
        for line in lines.clone() {
            // An unparsable layout kills a 3.3a server; and the client of 3.1 complains of an
            // unknown option once more by itself.
            let left_out = if release.at_least(3, 3) { "nosuchlayout" } else { "unbind-key -q" };
            if line.contains(left_out) && !release.at_least(3, 4) {
                continue;
            }
            same(&server, &line.split_whitespace().collect::<Vec<_>>());
        }
        assert!(lines.count() >= 50 && server.answers());
    });
}

#[test]
fn lists_stop_at_the_first_error_and_print_what_came_before_it() {
    on_each_release(|release| {
        let server = Server::start(release);
        let print = |text| ["display-message", "-p", "-t", "=main:", text];
        let lists: [&[&[&str]]; 7] = [
            &[&print("a"), &print("b")],
            &[&print("a"), &["kill-session", "-t", "=nosuch"], &print("b")],
            &[&["kill-session", "-t", "=nosuch"], &print("b")],
            &[&print("a"), &print("b"), &["kill-session", "-t", "=nosuch"]],
            &[&print("a"), &["frobnicate"], &print("b")],
            &[&print("a"), &["set-option", "-g", "@x", "y"], &["has-session", "-t", "=nosuch"]],
            &[&["if-shell", "false", "list-sessions", "kill-session -t =nosuch"], &print("a")],
        ];
        for commands in lists {
            same(&server, &commands.join(&";"));
        }
        let found = same(&server, &lists[1].join(&";"));
        assert_eq!((&found.stdout[..], found.status), (&b"a\n"[..], 1));
    });
}

/// Arguments that tmux may take for the end of a command.
const SEMICOLONS: [&str; 25] = [
    ";", ";;", ";;;", "\\;", "\\\\;", "\\\\\\;", "a;", "a;;", "a\\;", "a\\\\;", "a\\;;", "a;\\;",
    "a ;", "; ", " ;", "a;b", ";a", "\\", "a\\", "\\;\\;", ";\\;", "{;}", "';'", "\";\"", "$;",
];

#[test]
fn semicolons_end_commands_where_tmux_says_so() {
    on_each_release(|release| {
        let server = Server::start(release);
        for end in SEMICOLONS {
            let print = ["display-message", "-p", "-t", "=main:"];
            same(&server, &[&print[..], &[end]].concat());
            same(&server, &[&print[..], &["x", end]].concat());
            same(&server, &[&print[..], &[end], &print[..], &["y"]].concat());
            same(&server, &[&print[..], &["x", end], &print[..], &["y"]].concat());
        }
        for line in [&[""][..], &["", "a"], &["list-sessions", ""], &[";", "list-sessions"]] {
            same(&server, line);
        }
    });
}

#[test]
fn an_argument_that_is_given_literally_arrives_literally() {
    on_each_release(|release| {
        let server = Server::start(release);
        let tmux = server.handle();
        let bytes: Vec<u8> = (1..=255).collect();
        let texts =
            SEMICOLONS.iter().map(|text| text.as_bytes()).chain([&bytes[..], b"#{pid} $HOME ~"]);
        for text in texts {
            // A list of two, so that an argument that ends its command would be seen to.
            let list: CommandList = [
                Command::new("set-buffer").args(["-b", "literal", "--"]).arg(text),
                Command::new("set-buffer").args(["-b", "after", "--", "x"]),
            ]
            .into_iter()
            .collect();
            assert_eq!(block_on(tmux.run(list)).unwrap().ok().unwrap().status, 0);
            let shown = server.tmux(["show-buffer", "-b", "literal"]).stdout;
            assert_eq!(shown, text, "{}", text.escape_ascii());
        }
    });
}

#[test]
fn output_of_a_hundred_thousand_lines_is_the_same() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["set-option", "-g", "history-limit", "200000"]);
        server.set(["new-window", "-d", "-t", "=main:7", "seq 100000; exec sleep 100000"]);
        eventually("the text of the pane", || {
            let screen = server.tmux(["capture-pane", "-p", "-t", "=main:7"]).stdout;
            screen.windows(7).any(|line| line == b"100000\n").then_some(())
        });
        let all = same(&server, &["capture-pane", "-p", "-S", "-", "-t", "=main:7"]);
        let lines: Vec<&[u8]> = all.stdout.split(|&byte| byte == b'\n').collect();
        assert_eq!(lines[..100_000].first(), Some(&&b"1"[..]));
        assert_eq!(lines[99_999], b"100000");
        same(&server, &["capture-pane", "-p", "-S", "-", "-E", "-1", "-t", "=main:7"]);
        same(&server, &["capture-pane", "-p", "-S", "-50000", "-J", "-t", "=main:7"]);
    });
}

/// Text that a server may be tempted to change.
fn texts() -> Vec<Vec<u8>> {
    let control: Vec<u8> = (1..0x20).collect();
    vec![
        b"tab\there".to_vec(),
        b"two\nlines\n".to_vec(),
        control,
        "é ☃ 日本 \u{1f600}".into(),
        b"cut \xe2\x98 bad \xff\xfe\x80 end".to_vec(),
        b"\\037 \\ \\\\ $HOME ${x} \x7f".to_vec(),
        vec![b'x'; 15_000],
    ]
}

#[test]
fn bytes_of_every_kind_are_printed_the_same() {
    on_each_release(|release| {
        let server = Server::start(release);
        for text in texts() {
            let set: [&[u8]; 4] = [b"set-option", b"-g", b"@bytes", &text];
            assert_eq!(theirs(&server, &set, None).status, 0);
            same(&server, &["display-message", "-p", "-t", "=main:", "#{@bytes}"]);
            same(&server, &["show-options", "-gv", "@bytes"]);
            same(&server, &["show-options", "-g", "@bytes"]);
            let unknown: [&[u8]; 3] = [b"kill-session", b"-t", &text];
            same_reading(&server, &unknown, None);
        }
    });
}

#[test]
fn bytes_of_every_kind_are_printed_the_same_whatever_our_locale_is() {
    // The name of the test above, run again as a child with another locale.
    for (name, value) in [("LC_ALL", "C"), ("LC_ALL", "POSIX"), ("LANG", "")] {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "bytes_of_every_kind_are_printed_the_same"]);
        child.env_remove("LC_CTYPE").env_remove("LC_ALL").env(name, value);
        let ran = support::run(&mut child, None);
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status == 0 && said.contains("1 passed"), "{name}={value}: {said}");
    }
}

#[test]
fn buffers_with_every_byte_go_in_and_come_out_the_same() {
    on_each_release(|release| {
        let server = Server::start(release);
        let every_byte: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        for data in [&b"x"[..], b"no newline", b"two\nlines\n", &every_byte] {
            same_reading(&server, &[b"load-buffer", b"-b", b"ours", b"-"], Some(data));
            assert_eq!(server.tmux(["save-buffer", "-b", "ours", "-"]).stdout, data, "by us");
            theirs(&server, &[b"load-buffer", b"-b", b"theirs", b"-"], Some(data));
            assert_eq!(same(&server, &["show-buffer", "-b", "theirs"]).stdout, data);
            assert_eq!(same(&server, &["save-buffer", "-b", "theirs", "-"]).stdout, data);
            same(&server, &["list-buffers", "-F", "#{buffer_size} #{buffer_sample}"]);
        }
        // Nothing at all makes no buffer.
        same_reading(&server, &[b"load-buffer", b"-b", b"none", b"-"], Some(b""));
        assert_eq!(same(&server, &["show-buffer", "-b", "none"]).status, 1);
    });
}

#[test]
fn commands_from_standard_input_give_the_same() {
    let long: String = (0..2_000).map(|n| format!("set-buffer -b n{} {n}\n", n % 7)).collect();
    on_each_release(|release| {
        let server = Server::start(release);
        for commands in [
            "",
            "display-message -p -t =main: one\ndisplay-message -p -t =main: two\n",
            "kill-session -t =nosuch\ndisplay-message -p -t =main: after\n",
            "frobnicate\n",
            "display-message -p 'unterminated\n",
            &long,
        ] {
            same_reading(&server, &[b"source-file", b"-"], Some(commands.as_bytes()));
        }
        assert_eq!(server.tmux(["show-buffer", "-b", "n0"]).text(), "1995");
    });
}

#[test]
fn shells_that_fail_give_the_same_status() {
    on_each_release(|release| {
        let server = Server::start(release);
        for script in
            ["exit 3", "exit 255", "echo out; exit 3", "echo err >&2; exit 1", "kill -9 $$"]
        {
            let found = same(&server, &["run-shell", script]);
            if release.at_least(3, 2) {
                assert_ne!(found.status, 0, "{script}");
            }
        }
        same(
            &server,
            &["run-shell", "exit 3", ";", "display-message", "-p", "-t", "=main:", "after"],
        );
        same(&server, &["run-shell", "exit 3", ";", "run-shell", "exit 4"]);
        same(&server, &["kill-session", "-t", "=nosuch", ";", "run-shell", "exit 4"]);
        same(&server, &["if-shell", "true", "list-sessions -F '#{session_name}'"]);
        if release.at_least(3, 5) {
            let found = same(&server, &["run-shell", "printf 'a\\nb\\n'"]);
            assert_eq!(found.stdout, b"a\nb\n");
        }
    });
}

#[test]
fn the_end_of_the_server_gives_the_same() {
    on_each_release(|release| {
        for line in
            [&["kill-server"][..], &["kill-session", "-t", "=main"], &["kill-pane", "-t", "%0"]]
        {
            let line: Vec<&[u8]> = line.iter().map(|argument| argument.as_bytes()).collect();
            let theirs = theirs(&Server::start(release), &line, None);
            let ours = ours(&Server::start(release), &line, None);
            assert_eq!(ours, theirs, "{}", shown(&line));
        }
    });
}

#[test]
fn files_are_not_opened_for_the_server_where_the_tmux_binary_would() {
    on_each_release(|release| {
        let server = Server::start(release);
        let file = server.directory().join("file");
        let path = file.to_str().unwrap();
        server.set(["set-buffer", "-b", "x", "secret"]);
        let refused = |line: &[&str]| {
            let line: Vec<&[u8]> = line.iter().map(|argument| argument.as_bytes()).collect();
            let found = ours(&server, &line, None);
            let said = String::from_utf8_lossy(&found.stderr).into_owned();
            assert!(found.status == 1 && said.contains("Permission denied"), "{found:?}");
            assert!(found.stdout.is_empty(), "{found:?}");
        };
        refused(&["save-buffer", "-b", "x", path]);
        assert!(!file.exists());
        std::fs::write(&file, "set-buffer -b y from-the-file\n").unwrap();
        refused(&["load-buffer", "-b", "y", path]);
        refused(&["source-file", path]);
        refused(&["save-buffer", "-a", "-b", "x", path]);
        assert_eq!(server.tmux(["show-buffer", "-b", "y"]).status, 1);
        assert_eq!(std::fs::read(&file).unwrap(), b"set-buffer -b y from-the-file\n");
    });
}
