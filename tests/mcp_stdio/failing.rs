//! Servers that are not there, do not answer, or go away: each a code of its own.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Mcp, muxwire};
use crate::support::{ScriptedPeer, Server, directory, leave_stale, releases, signal};

fn at(socket: &std::path::Path, more: &[&str]) -> Mcp {
    let home = socket.parent().expect("a directory");
    Mcp::start(muxwire(home).arg("mcp").arg("-S").arg(socket).args(more))
}

#[test]
fn where_no_server_is_the_path_and_the_reason_are_told() {
    let home = directory();
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    let stale = home.path().join("stale");
    leave_stale(&stale);
    let long = home.path().join("x".repeat(120));
    for (path, words) in [
        (home.path().join("missing"), "there is no socket at"),
        (home.path().join("missing/deep"), "there is no socket at"),
        (file, "is not a socket"),
        (stale, "is left over"),
        (home.path().to_owned(), "is not a socket"),
        (long, "bytes long"),
    ] {
        let mut mcp = at(&path, &[]);
        assert!(!mcp.tools().is_empty());
        for (tool, arguments) in
            [("list_panes", json!({})), ("capture_pane", json!({"pane_id": "%0"}))]
        {
            let error = mcp.fail(tool, arguments);
            let message = error["message"].as_str().unwrap();
            assert_eq!(
                (&error["code"], &error["delivery"]),
                (&json!("no_server"), &json!("not_sent"))
            );
            assert!(
                message.contains(words) && message.contains(path.to_str().unwrap()),
                "{message}"
            );
        }
    }
}

#[test]
fn an_unsafe_socket_directory_is_refused_until_it_is_mended() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::start(releases().last().unwrap());
    let home = directory();
    let uid = server.show("#{uid}");
    let folder = home.path().join(format!("tmux-{uid}"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o777)).unwrap();
    std::os::unix::fs::symlink(server.socket(), folder.join("work")).unwrap();
    let mut mcp = Mcp::start(muxwire(home.path()).args(["mcp", "-L", "work"]));
    let error = mcp.fail("list_panes", json!({}));
    assert_eq!((&error["code"], &error["retryable"]), (&json!("no_server"), &json!(false)));
    assert!(error["message"].as_str().unwrap().contains("chmod"), "{error}");
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!(mcp.call("list_panes", json!({}))["count"], 1);
}

#[test]
fn a_server_that_does_not_answer_ends_in_the_deadline_and_holds_nobody_up() {
    let server = Server::start(releases().last().unwrap());
    let mut mcp = Mcp::on(&server, &["--timeout", "0.5"]);
    let reference = mcp.row("list_panes", "%0")["ref"].clone();
    signal(server.pid(), "STOP");
    for (tool, arguments) in [
        ("list_panes", json!({})),
        ("list_sessions", json!({})),
        ("tmux_capabilities", json!({})),
        ("snapshot_pane", json!({"ref": reference})),
    ] {
        let begun = Instant::now();
        let error = mcp.fail(tool, arguments);
        let took = begun.elapsed();
        assert_eq!((&error["code"], &error["retryable"]), (&json!("deadline"), &json!(true)));
        assert_eq!(error["delivery"], "possibly_sent", "{tool}");
        assert!(error["message"].as_str().unwrap().contains("stopped or busy"), "{error}");
        assert!(took > Duration::from_millis(400) && took < Duration::from_secs(2), "{took:?}");
    }
    signal(server.pid(), "CONT");
    mcp.call("list_panes", json!({}));
}

#[test]
fn a_server_that_goes_away_or_speaks_nonsense_is_told_apart() {
    let gone = ScriptedPeer::play_times(2, |_, talk| {
        talk.hear();
    });
    let mut mcp = at(gone.path(), &[]);
    for (tool, arguments) in [("list_panes", json!({})), ("capture_pane", json!({"pane_id": "%0"}))]
    {
        let error = mcp.fail(tool, arguments);
        assert_eq!((&error["code"], &error["retryable"]), (&json!("server_gone"), &json!(true)));
    }
    gone.finish();
    let nonsense = ScriptedPeer::play(|talk| {
        talk.hear();
        talk.say_bytes(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    assert_eq!(at(nonsense.path(), &[]).code("list_panes", json!({})), "transport_error");
    nonsense.finish();
}

#[test]
fn an_answer_over_the_limit_is_capacity_and_less_of_it_is_not() {
    let server = Server::start(releases().last().unwrap());
    let program = "i=0; while [ $i -lt 300 ]; do echo 'some 40 bytes of text on each of the lines'; i=$((i+1)); done; exec sleep 100000";
    let made = ["new-window", "-d", "-P", "-F", "#{pane_id}", program];
    let pane = server.tmux(made).text();
    crate::support::eventually("its history", || {
        (server.show_of(&pane, "#{history_size}") == "277").then_some(())
    });
    let mut mcp = Mcp::on(&server, &["--max-response-bytes", "8192"]);
    let whole = json!({"pane_id": pane, "history": true, "max_lines": 1000});
    let error = mcp.fail("capture_pane", whole);
    assert_eq!((&error["code"], &error["delivery"]), (&json!("capacity"), &json!("observed")));
    let part = json!({"pane_id": pane, "history": true, "max_lines": 20});
    assert_eq!(mcp.call("capture_pane", part)["lines_dropped"], 280);
}

#[test]
fn arguments_are_read_strictly_by_every_tool() {
    let server = Server::start(releases().last().unwrap());
    let mut mcp = Mcp::on(&server, &[]);
    for tool in mcp.tools() {
        let error = mcp.fail(&tool, json!({"no_such_key": "secret"}));
        assert_eq!(
            (&error["code"], &error["delivery"]),
            (&json!("invalid_input"), &json!("not_sent"))
        );
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("no_such_key") && !message.contains("secret"), "{message}");
    }
    for flag in ["false", "true"] {
        let arguments = json!({"pane_id": "%0", "history": flag});
        assert_eq!(mcp.code("capture_pane", arguments), "invalid_input");
    }
}
