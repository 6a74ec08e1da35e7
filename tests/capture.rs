//! Panes read on every release.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use muxwire::capture::{CaptureOptions, Screen};
use muxwire::model::PaneId;
use muxwire::{ErrorKind, Tmux};
use support::{Release, Server, block_on, eventually, on_each_release};

/// A server whose one pane runs `script` in sh.
fn server_running(release: &Release, script: &str) -> (Server, PaneId) {
    let server = Server::start(release);
    server.set(["set-option", "-g", "remain-on-exit", "on"]);
    let made = server.tmux(["new-window", "-d", "-P", "-F", "#{pane_id}", script]);
    let pane = made.text().parse().expect("a pane's id");
    (server, pane)
}

fn read(tmux: &Tmux, pane: PaneId, options: CaptureOptions) -> Screen {
    block_on(tmux.capture(pane, &options)).expect("a screen")
}

/// Reads until a line starts with `text`.
fn read_until(tmux: &Tmux, pane: PaneId, text: &str) -> Screen {
    eventually(text, || {
        let screen = read(tmux, pane, CaptureOptions::default());
        screen.lines.iter().any(|line| line.starts_with(text)).then_some(screen)
    })
}

#[test]
fn wrapped_lines_are_joined_and_blanks_at_the_end_left_out() {
    on_each_release(|release| {
        let long = "x".repeat(100);
        let script = format!("printf 'one   \\n\\n{long}\\nlast'; exec sleep 1000");
        let (server, pane) = server_running(release, &script);
        let screen = read_until(&server.handle(), pane, "last");
        assert_eq!(screen.lines, ["one", "", &long, "last"]);
        assert_eq!((screen.pane.width, screen.pane.height), (80, 24));
        assert_eq!((screen.pane.cursor_x, screen.pane.cursor_y), (4, 4));
        assert_eq!(screen.replaced_bytes, 0);
    });
}

#[test]
fn the_history_comes_with_the_screen_and_rows_choose_a_part() {
    on_each_release(|release| {
        let (server, pane) = server_running(release, "seq 1 100; echo end; exec sleep 1000");
        let tmux = server.handle();
        let screen = read_until(&tmux, pane, "end");
        assert_eq!(screen.lines.first().map(String::as_str), Some("79"));
        let history = CaptureOptions { history: true, ..CaptureOptions::default() };
        let whole = read(&tmux, pane, history);
        let expected = (1..=100).map(|n| n.to_string()).chain(["end".to_owned()]);
        assert!(whole.lines.iter().cloned().eq(expected), "{:?}", whole.lines);
        assert_eq!(whole.pane.history_size, 78);
        let part = CaptureOptions { start: Some(-2), end: Some(1), ..CaptureOptions::default() };
        assert_eq!(read(&tmux, pane, part).lines, ["77", "78", "79", "80"]);
    });
}

#[test]
fn colours_are_kept_only_when_asked_for_and_wide_characters_always() {
    on_each_release(|release| {
        let script = "printf '\\033[31mred\\033[0m 漢字 é 🙂'; exec sleep 1000";
        let (server, pane) = server_running(release, script);
        let tmux = server.handle();
        let plain = read_until(&tmux, pane, "red");
        assert_eq!(plain.lines, ["red 漢字 é 🙂"]);
        let styled = read(&tmux, pane, CaptureOptions { styles: true, ..Default::default() });
        assert!(styled.lines[0].starts_with("\u{1b}[31mred\u{1b}["), "{:?}", styled.lines);
    });
}

#[test]
fn state_and_content_are_those_of_the_pane() {
    on_each_release(|release| {
        let (server, pane) = server_running(release, "echo over; read line; exit 3");
        let tmux = server.handle();
        // On a busy machine tmux may lose what a program writes right before its end.
        read_until(&tmux, pane, "over");
        server.set(["send-keys", "-t", &pane.to_string(), "Enter"]);
        let screen = eventually("the pane's death", || {
            server.reap();
            let screen = read(&tmux, pane, CaptureOptions::default());
            // The end of its output is seen first, its status a little later.
            screen.pane.dead_status.is_some().then_some(screen)
        });
        assert_eq!(screen.pane.id, pane);
        assert_eq!((screen.pane.dead, screen.pane.dead_status), (true, Some(3)));
        assert_eq!(screen.pane.session_name, *"main");
        // The banner of a dead pane may have moved the line into the history.
        let history = CaptureOptions { history: true, ..CaptureOptions::default() };
        let lines = read(&tmux, pane, history).lines;
        assert!(lines.iter().any(|line| line == "over"), "{lines:?}");
        assert_eq!(screen.server.identity.pid, server.pid());
        server.set(["copy-mode", "-t", "%0"]);
        let screen = read(&tmux, PaneId::new(0), CaptureOptions::default());
        assert!(screen.pane.in_mode);
        assert_eq!(screen.pane.mode.map(|mode| mode.to_string()).as_deref(), Some("copy-mode"));
    });
}

#[test]
fn a_pane_that_is_not_there_is_not_found_and_never_another() {
    on_each_release(|release| {
        let server = Server::start(release);
        let error = block_on(server.handle().capture(PaneId::new(999), &Default::default()));
        assert_eq!(error.unwrap_err().kind(), ErrorKind::NotFound);
        let rows = CaptureOptions { start: Some(40_000), ..CaptureOptions::default() };
        let error = block_on(server.handle().capture(PaneId::new(0), &rows));
        assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidInput);
    });
}
