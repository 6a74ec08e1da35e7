//! What the tools answer, on every release.

use serde_json::{Value, json};

use crate::client::{Mcp, muxwire, pane_showing, until_shown};
use crate::support::{Release, Server, on_each_release, releases};

/// The keys of an object.
fn keys(object: &Value) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn machine() -> &'static Release {
    releases().last().expect("the machine's own tmux")
}

#[test]
fn listings_show_each_thing_once_with_its_ref() {
    on_each_release(|release| {
        let server = Server::start(release);
        let second = server.tmux([
            "new-session",
            "-d",
            "-P",
            "-F",
            "#{session_id} #{window_id} #{pane_id}",
            "-s",
            "a b",
            "-x",
            "80",
            "-y",
            "24",
            "exec sleep 100000",
        ]);
        let second = second.text();
        let [session, window, pane] = second.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{second}")
        };
        // Its window is in the first session too.
        server.set(["link-window", "-d", "-s", window, "-t", "main:7"]);
        server.set(["split-window", "-d", "-t", pane, "exec sleep 100000"]);
        let mut mcp = Mcp::on(&server, &[]);

        let sessions = mcp.call("list_sessions", json!({}));
        assert_eq!(sessions["count"], 2);
        assert!(sessions.get("note").is_none());
        let row = mcp.row("list_sessions", session);
        assert_eq!((&row["name"], &row["window_count"]), (&json!("a b"), &json!(1)));
        assert_eq!(row["current_window_id"], window);
        assert_eq!((&row["ref"]["kind"], &row["ref"]["id"]), (&json!("session"), &json!(session)));
        assert_eq!(row["ref"]["generation"].as_str().unwrap().len(), 32);

        assert_eq!(mcp.call("list_windows", json!({}))["count"], 2);
        let row = mcp.row("list_windows", window);
        let links = row["links"].as_array().unwrap();
        assert_eq!(links.len(), 2, "{row}");
        assert_eq!((&links[0]["session_name"], &links[0]["index"]), (&json!("main"), &json!(7)));
        assert_eq!((&links[1]["session_name"], &links[1]["active"]), (&json!("a b"), &json!(true)));
        assert_eq!((&row["pane_count"], &row["active_pane_id"]), (&json!(2), &json!(pane)));

        assert_eq!(mcp.call("list_panes", json!({}))["count"], 3);
        let row = mcp.row("list_panes", pane);
        assert_eq!((&row["window_id"], &row["session_name"]), (&json!(window), &json!("main")));
        assert_eq!(row["other_session_ids"], json!([session]));
        assert_eq!((&row["command"], &row["active"]), (&json!("sleep"), &json!(true)));
        assert_eq!((&row["dead"], &row["dead_status"]), (&json!(false), &Value::Null));
        let pid: u32 = server.show_of(pane, "#{pane_pid}").parse().unwrap();
        assert_eq!((&row["pid"], &row["caller"]), (&json!(pid), &json!(false)));
    });
}

#[test]
fn a_listing_is_narrowed_by_exact_names_and_ids() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["new-session", "-d", "-s", "main2", "exec sleep 100000"]);
        server.set(["new-window", "-d", "-t", "main2", "exec sleep 100000"]);
        let mut mcp = Mcp::on(&server, &[]);
        for listing in ["list_windows", "list_panes"] {
            for (arguments, count) in [
                (json!({"session_name": "main2"}), 2),
                (json!({"session_name": "main"}), 1),
                (json!({"session_id": "$1"}), 2),
                (json!({}), 3),
            ] {
                assert_eq!(mcp.call(listing, arguments.clone())["count"], count, "{arguments}");
            }
            for missing in [json!({"session_name": "mai"}), json!({"session_id": "$9"})] {
                assert_eq!(mcp.code(listing, missing.clone()), "not_found", "{missing}");
            }
            let both = json!({"session_name": "main", "session_id": "$0"});
            assert_eq!(mcp.code(listing, both), "invalid_input");
        }
        assert_eq!(mcp.call("list_panes", json!({"window_id": "@2"}))["count"], 1);
        assert_eq!(mcp.code("list_panes", json!({"window_id": "@9"})), "not_found");
        let session = mcp.row("list_sessions", "$1")["ref"].clone();
        for listing in ["list_windows", "list_panes"] {
            assert_eq!(mcp.call(listing, json!({"ref": session}))["count"], 2);
        }
        let info = mcp.call("get_session_info", json!({"session_id": "$1"}));
        let link = info["windows"][1]["ref"].clone();
        assert_eq!((&link["kind"], &link["session_id"]), (&json!("window_link"), &json!("$1")));
        assert_eq!(mcp.call("list_panes", json!({"ref": link}))["count"], 1);
        assert_eq!(mcp.code("list_windows", json!({"ref": link})), "invalid_input");
    });
}

#[test]
fn one_thing_is_told_with_what_belongs_to_it() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["split-window", "-d", "-t", "%0", "exec sleep 100000"]);
        let mut mcp = Mcp::on(&server, &["--endpoint", "work"]);

        let info = mcp.call("get_server_info", json!({}));
        let version = server.show("#{version}");
        assert_eq!((&info["tmux_version"], &info["pid"]), (&json!(version), &json!(server.pid())));
        let counts = ["sessions", "windows", "panes", "clients"].map(|name| info[name].clone());
        assert_eq!(counts, [json!(1), json!(1), json!(2), json!(0)]);
        assert_eq!((&info["endpoint"], &info["owns_daemon"]), (&json!("work"), &json!(false)));
        assert_eq!(info["socket_path"], server.socket().to_str().unwrap());

        let info = mcp.call("get_session_info", json!({"session_id": "$0"}));
        assert_eq!((&info["name"], &info["attached"]), (&json!("main"), &json!(0)));
        assert_eq!((&info["windows"][0]["id"], &info["clients"]), (&json!("@0"), &json!([])));

        let info = mcp.call("get_window_info", json!({"window_id": "@0"}));
        assert_eq!((&info["width"], &info["height"]), (&json!(80), &json!(24)));
        assert_eq!(info["layout"], server.show_of("@0", "#{window_layout}"));
        assert_eq!(
            (&info["panes"][1]["id"], &info["links"][0]["index"]),
            (&json!("%1"), &json!(0))
        );

        let listed = mcp.row("list_panes", "%1");
        let mut info = mcp.call("get_pane_info", json!({"ref": listed["ref"]}));
        assert_eq!(info["links"][0]["session_id"], "$0");
        for added in ["ok", "links"] {
            info.as_object_mut().unwrap().remove(added);
        }
        assert_eq!(info, listed);

        for (tool, id, missing) in [
            ("get_session_info", "session_id", "$9"),
            ("get_window_info", "window_id", "@9"),
            ("get_pane_info", "pane_id", "%9"),
            ("capture_pane", "pane_id", "%9"),
            ("snapshot_pane", "pane_id", "%9"),
        ] {
            assert_eq!(mcp.code(tool, json!({id: missing})), "not_found", "{tool}");
            assert_eq!(mcp.code(tool, json!({id: "1"})), "invalid_input", "{tool}");
            assert_eq!(mcp.code(tool, json!({})), "invalid_input", "{tool}");
        }
    });
}

#[test]
fn capabilities_tell_what_holds() {
    on_each_release(|release| {
        let server = Server::start(release);
        let mut mcp = Mcp::on(&server, &["--timeout", "2", "--exclude-tools", "capture_pane"]);
        let listed = mcp.tools();
        let data = mcp.call("tmux_capabilities", json!({}))["data"].clone();
        let identity = &data["server_identity"];
        assert_eq!(keys(identity), ["generation", "pid", "start_time", "tmux_version"]);
        assert_eq!(identity["tmux_version"], server.show("#{version}"));
        assert_eq!(identity["start_time"].to_string(), server.show("#{start_time}"));
        assert_eq!(data["enabled_tools"], json!(listed));
        assert!(!listed.contains(&"capture_pane".to_owned()));
        let limits = &data["limits"];
        assert_eq!(limits["request_timeout_seconds"], 2.0);
        assert_eq!(limits["max_response_bytes"], 1_048_576);
        assert_eq!((&data["endpoint"], &data["live"]), (&json!("default"), &json!(true)));
        assert_eq!(data["socket_provenance"], "path");
        // One instance, one generation.
        assert_eq!(mcp.row("list_sessions", "$0")["ref"]["generation"], identity["generation"]);
    });
}

#[test]
fn a_pane_is_read_with_its_newest_lines_and_what_was_dropped() {
    on_each_release(|release| {
        let server = Server::start(release);
        let lines = (1..=40).map(|n| format!("line {n}\\n")).collect::<String>();
        let pane = pane_showing(&server, "main", &lines, "line 40");
        let mut mcp = Mcp::on(&server, &[]);

        let answer = mcp.call("capture_pane", json!({"pane_id": pane}));
        let content = answer["content"].as_array().unwrap();
        assert_eq!((content.len(), &content[22]), (23, &json!("line 40")));
        assert_eq!((&answer["truncated"], &answer["lines_dropped"]), (&json!(false), &json!(0)));
        let expected =
            ["ok", "pane_id", "content", "cursor", "truncated", "lines_dropped", "alternate_on"];
        assert_eq!(keys(&answer), expected);
        assert_eq!((&answer["pane_id"], &answer["alternate_on"]), (&json!(pane), &json!(false)));
        assert!(answer["cursor"].as_str().unwrap().len() <= 120);

        let all = mcp.call("capture_pane", json!({"pane_id": pane, "history": true}));
        assert_eq!(all["content"].as_array().unwrap().len(), 40);
        let few = json!({"pane_id": pane, "history": true, "max_lines": "3"});
        for tool in ["capture_pane", "snapshot_pane"] {
            let few = mcp.call(tool, few.clone());
            assert_eq!(few["content"], json!(["line 38", "line 39", "line 40"]), "{tool}");
            assert_eq!((&few["truncated"], &few["lines_dropped"]), (&json!(true), &json!(37)));
        }
        let range = json!({"pane_id": pane, "start": -2, "end": 0});
        let range = mcp.call("capture_pane", range)["content"].clone();
        assert_eq!(range, json!(["line 16", "line 17", "line 18"]));

        let result = mcp.result("capture_pane", json!({"pane_id": pane, "max_lines": 2}));
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(
            text.starts_with(&format!("line 39\nline 40\n[muxwire] pane_id={pane} ")),
            "{text}"
        );
        assert!(text.contains(" lines_dropped=21"), "{text}");
        for beyond in
            [json!({"pane_id": pane, "max_lines": 0}), json!({"pane_id": pane, "start": 40_000})]
        {
            assert_eq!(mcp.code("capture_pane", beyond), "invalid_input");
        }
    });
}

#[test]
fn a_pane_and_its_facts_are_of_one_answer() {
    on_each_release(|release| {
        let server = Server::start(release);
        let pane = pane_showing(&server, "main", "one\\n\\033]2;a title\\007two", "two");
        let mut mcp = Mcp::on(&server, &[]);
        let answer = mcp.call("snapshot_pane", json!({"pane_id": pane}));
        let facts = &answer["pane"];
        let expected = [
            "id",
            "index",
            "window_id",
            "session_id",
            "session_name",
            "window_name",
            "active",
            "command",
            "path",
            "title",
            "width",
            "height",
            "pid",
            "dead",
            "dead_status",
            "in_mode",
            "mode",
            "alternate_on",
            "cursor_x",
            "cursor_y",
            "history_size",
            "caller",
        ];
        assert_eq!(keys(facts), expected);
        assert_eq!(answer["content"], json!(["one", "two"]));
        assert_eq!((&facts["id"], &facts["title"]), (&json!(pane), &json!("a title")));
        assert_eq!((&facts["cursor_x"], &facts["cursor_y"]), (&json!(3), &json!(1)));
        assert_eq!((&facts["in_mode"], &facts["mode"]), (&json!(false), &Value::Null));
        assert_eq!((&facts["session_name"], &facts["session_id"]), (&json!("main"), &json!("$0")));
        let captured = mcp.call("capture_pane", json!({"pane_id": pane}));
        assert_eq!(captured["cursor"], answer["cursor"], "cursors are of one kind");

        server.set(["copy-mode", "-t", &pane]);
        let facts = mcp.call("snapshot_pane", json!({"pane_id": pane}))["pane"].clone();
        assert_eq!((&facts["in_mode"], &facts["mode"]), (&json!(true), &json!("copy-mode")));
    });
}

#[test]
fn characters_come_as_they_are_in_names_and_content() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["new-session", "-d", "-s", "é ☃ \"x\"", "exec sleep 100000"]);
        let mut mcp = Mcp::on(&server, &[]);
        let name = json!("é ☃ \"x\"");
        assert_eq!(mcp.row("list_sessions", "$1")["name"], name);
        assert_eq!(mcp.call("list_panes", json!({"session_name": name}))["count"], 1);
        let pane = pane_showing(&server, "main", "caf\\303\\251 \\342\\230\\203 end", "end");
        let answer = mcp.call("capture_pane", json!({"pane_id": pane}));
        assert_eq!(answer["content"], json!(["café ☃ end"]));
        assert!(answer.get("replaced_bytes").is_none(), "{answer}");
    });
}

#[test]
fn wrapped_lines_are_one_and_colours_stay_only_when_asked_for() {
    on_each_release(|release| {
        let server = Server::start(release);
        let long = "x".repeat(200);
        let pane = pane_showing(&server, "main", &format!("{long}\\n\\033[31mred\\033[0m"), "red");
        let mut mcp = Mcp::on(&server, &[]);
        let answer = mcp.call("capture_pane", json!({"pane_id": pane}));
        assert_eq!(answer["content"], json!([long, "red"]));
        let styled = mcp.call("capture_pane", json!({"pane_id": pane, "styles": true}));
        let row = styled["content"][1].as_str().unwrap();
        assert!(row.contains("\u{1b}[31mred"), "{row:?}");
    });
}

#[test]
fn a_dead_pane_stays_readable() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["set-option", "-g", "remain-on-exit", "on"]);
        let program = "printf last; read line; exit 3";
        let pane = server.tmux(["new-window", "-d", "-P", "-F", "#{pane_id}", program]).text();
        // On a busy machine tmux may lose what a program writes right before its end.
        until_shown(&server, &pane, "last");
        server.set(["send-keys", "-t", &pane, "Enter"]);
        crate::support::eventually("its end", || {
            server.reap();
            (server.show_of(&pane, "#{pane_dead_status}") == "3").then_some(())
        });
        let mut mcp = Mcp::on(&server, &[]);
        // tmux scrolls the screen by a line to write its own below.
        let answer = mcp.call("snapshot_pane", json!({"pane_id": pane, "history": true}));
        assert_eq!(answer["content"][0], "last");
        let facts = &answer["pane"];
        assert_eq!((&facts["dead"], &facts["dead_status"]), (&json!(true), &json!(3)), "{facts}");
        assert_eq!(mcp.row("list_panes", &pane)["dead_status"], 3);
    });
}

#[test]
fn the_pane_that_this_server_runs_in_is_the_callers() {
    let server = Server::start(machine());
    server.set(["split-window", "-d", "-t", "%0", "exec sleep 100000"]);
    let socket = server.socket().to_str().unwrap().to_owned();
    let tmux = |pid: u32| format!("{socket},{pid},0");
    for (tmux, is_caller) in [(tmux(server.pid()), true), (tmux(1), false)] {
        for choice in [&["-S", &socket][..], &["--current"]] {
            let mut command = muxwire(server.directory());
            command.env("TMUX", &tmux).env("TMUX_PANE", "%1").arg("mcp").args(choice);
            let mut mcp = Mcp::start(&mut command);
            assert_eq!(mcp.row("list_panes", "%1")["caller"], is_caller, "{tmux}");
            assert_eq!(mcp.row("list_panes", "%0")["caller"], false);
            let facts = mcp.call("snapshot_pane", json!({"pane_id": "%1"}))["pane"].clone();
            assert_eq!(facts["caller"], is_caller);
            let caller = is_caller.then_some("%1");
            assert_eq!(mcp.call("get_server_info", json!({}))["caller_pane_id"], json!(caller));
        }
    }
}
