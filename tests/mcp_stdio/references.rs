//! References hold for one server instance and one process, and ids are never taken for others.

use serde_json::{Value, json};

use crate::client::{Mcp, muxwire};
use crate::support::{CountingProxy, Server, eventually, has_ended, on_each_release, releases};

/// Each tool that takes a ref, with the kind that it takes.
const BY_REF: [(&str, &str); 10] = [
    ("list_windows", "session"),
    ("list_panes", "window"),
    ("get_session_info", "session"),
    ("get_window_info", "window"),
    ("get_pane_info", "pane"),
    ("capture_pane", "pane"),
    ("snapshot_pane", "pane"),
    ("capture_since", "pane"),
    ("search_panes", "window"),
    ("observe", "session"),
];

/// The arguments of a tool that is given this ref.
fn by(tool: &str, reference: &Value) -> Value {
    match tool {
        "search_panes" => json!({"ref": reference, "pattern": "x"}),
        _ => json!({"ref": reference}),
    }
}

/// Refs to the first session, window and pane.
fn references(mcp: &mut Mcp) -> Value {
    json!({
        "session": mcp.row("list_sessions", "$0")["ref"],
        "window": mcp.row("list_windows", "@0")["ref"],
        "pane": mcp.row("list_panes", "%0")["ref"],
    })
}

#[test]
fn a_restarted_server_has_another_generation_and_old_refs_are_stale() {
    on_each_release(|release| {
        let server = Server::start(release);
        let mut mcp = Mcp::on(&server, &[]);
        let old = references(&mut mcp);
        for (tool, kind) in BY_REF {
            mcp.call(tool, by(tool, &old[kind]));
        }
        server.tmux(["kill-server"]);
        eventually("its end", || has_ended(server.pid()).then_some(()));
        for (tool, kind) in BY_REF {
            let error = mcp.fail(tool, by(tool, &old[kind]));
            assert_eq!(error["code"], "no_server", "{tool}");
            assert_eq!(error["delivery"], "not_sent");
        }
        server.tmux(["new-session", "-d", "-s", "main", "exec sleep 100000"]).text();
        // The ids are the same, and nothing has been asked of the new server before.
        for (tool, kind) in BY_REF {
            let error = mcp.fail(tool, by(tool, &old[kind]));
            assert_eq!(error["code"], "stale_target", "{tool} {error}");
        }
        let new = references(&mut mcp);
        assert_ne!(new["pane"]["generation"], old["pane"]["generation"]);
        for (tool, kind) in BY_REF {
            mcp.call(tool, by(tool, &new[kind]));
            assert_eq!(mcp.code(tool, by(tool, &old[kind])), "stale_target", "{tool}");
        }
        server.tmux(["kill-server"]);
    });
}

#[test]
fn what_was_killed_is_stale_by_ref_and_not_found_by_id() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["new-session", "-d", "-s", "other", "exec sleep 100000"]);
        let mut mcp = Mcp::on(&server, &[]);
        let old = references(&mut mcp);
        server.set(["kill-session", "-t", "main"]);
        for (tool, kind) in BY_REF {
            let error = mcp.fail(tool, by(tool, &old[kind]));
            assert_eq!(error["code"], "stale_target", "{tool}");
            assert_eq!(
                (&error["delivery"], &error["retryable"]),
                (&json!("observed"), &json!(false))
            );
            let mut id = by(tool, &old[kind]);
            id.as_object_mut().unwrap().remove("ref");
            id[format!("{kind}_id")] = old[kind]["id"].clone();
            let error = mcp.fail(tool, id);
            assert_eq!(error["code"], "not_found", "{tool}");
            // Values stay out of messages.
            assert!(!error["message"].as_str().unwrap().contains(['%', '@', '$']), "{error}");
        }
    });
}

#[test]
fn a_link_must_stand_where_it_stood() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["new-window", "-d", "-t", "main:3", "exec sleep 100000"]);
        let mut mcp = Mcp::on(&server, &[]);
        let info = mcp.call("get_session_info", json!({"session_id": "$0"}));
        let link = info["windows"][1]["ref"].clone();
        for tool in ["get_window_info", "list_panes"] {
            mcp.call(tool, json!({"ref": link}));
        }
        server.set(["move-window", "-d", "-s", "main:3", "-t", "main:5"]);
        for tool in ["get_window_info", "list_panes"] {
            assert_eq!(mcp.code(tool, json!({"ref": link})), "stale_target", "{tool}");
        }
    });
}

/// The refs of all links, by session and index.
fn links(mcp: &mut Mcp) -> Vec<Value> {
    let page = mcp.call("tmux_snapshot", json!({"entity": "window_link"}))["data"].clone();
    page["items"].as_array().unwrap().iter().map(|item| item["ref"].clone()).collect()
}

#[test]
fn a_link_goes_alone_and_its_place_may_be_taken_by_another_window() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["new-session", "-d", "-s", "two", "exec sleep 100000"]);
        server.set(["link-window", "-d", "-s", "=main:0", "-t", "=two:4"]);
        server.set(["link-window", "-d", "-s", "=main:0", "-t", "=two:6"]);
        let mut mcp = Mcp::on(&server, &[]);
        let refs = links(&mut mcp);
        let places: Vec<_> =
            refs.iter().map(|it| [&it["session_id"], &it["index"], &it["id"]]).collect();
        let (main, two, window) = (json!("$0"), json!("$1"), json!("@0"));
        assert_eq!(places[2..], [[&two, &json!(4), &window], [&two, &json!(6), &window]]);
        assert_eq!(places[0], [&main, &json!(0), &window]);
        let window = mcp.row("list_windows", "@0")["ref"].clone();
        server.set(["unlink-window", "-t", "=two:4"]);
        server.set(["new-window", "-d", "-t", "=two:4", "exec sleep 100000"]);
        for tool in ["get_window_info", "list_panes"] {
            // Another window stands there now; the one that was meant is elsewhere.
            assert_eq!(mcp.code(tool, json!({"ref": refs[2]})), "stale_target", "{tool}");
            for good in [&refs[0], &refs[3], &window] {
                mcp.call(tool, json!({"ref": good}));
            }
        }
        let new = links(&mut mcp)[2].clone();
        assert_eq!((&new["index"], &new["id"]), (&json!(4), &json!("@2")));
        assert_eq!(mcp.call("get_window_info", json!({"ref": new}))["id"], "@2");
    });
}

#[test]
fn a_session_of_a_group_has_links_of_its_own() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["new-session", "-d", "-t", "=main", "-s", "twin"]);
        server.set(["new-window", "-d", "-t", "=main:1", "exec sleep 100000"]);
        let mut mcp = Mcp::on(&server, &[]);
        let refs = links(&mut mcp);
        let places: Vec<_> =
            refs.iter().map(|it| json!([it["session_id"], it["index"], it["id"]])).collect();
        let expected = json!([["$0", 0, "@0"], ["$0", 1, "@2"], ["$1", 0, "@0"], ["$1", 1, "@2"]]);
        assert_eq!(json!(places), expected);
        for one in &refs {
            assert_eq!(mcp.call("get_window_info", json!({"ref": one}))["id"], one["id"]);
        }
        server.set(["kill-session", "-t", "=twin"]);
        for (one, gone) in refs.iter().zip([false, false, true, true]) {
            let result = mcp.result("get_window_info", json!({"ref": one}));
            assert_eq!(result["isError"], gone, "{one}");
            assert!(!gone || result["structuredContent"]["error"]["code"] == "stale_target");
        }
    });
}

#[test]
fn every_tool_that_takes_a_ref_is_tried_with_one() {
    let server = Server::start(releases().last().unwrap());
    let mut mcp = Mcp::on(&server, &[]);
    let tools = mcp.request("tools/list", json!({}))["tools"].clone();
    let taking = tools.as_array().unwrap().iter().filter(|tool| {
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        // A ref goes wherever an id goes.
        let ids = ["session_id", "window_id", "pane_id"];
        let takes_id = ids.iter().any(|id| properties.contains_key(*id));
        assert_eq!(properties.contains_key("ref"), takes_id, "{tool}");
        takes_id
    });
    let mut taking: Vec<&str> = taking.map(|tool| tool["name"].as_str().unwrap()).collect();
    let mut tried = BY_REF.map(|(tool, _)| tool);
    taking.sort_unstable();
    tried.sort_unstable();
    assert_eq!(taking, tried);
}

#[test]
fn a_call_by_ref_is_one_round_trip_and_a_further_page_is_none() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["split-window", "-d", "-t", "%0", "exec sleep 100000"]);
        let proxy = CountingProxy::new(&server);
        let mut command = muxwire(server.directory());
        let mut mcp = Mcp::start(command.arg("mcp").arg("-S").arg(proxy.path()));
        let refs = references(&mut mcp);
        (0..3).for_each(|_| assert_eq!(proxy.next().round_trips, 1));
        for (tool, kind) in BY_REF {
            mcp.call(tool, by(tool, &refs[kind]));
            assert_eq!(proxy.next().round_trips, 1, "{tool}");
            // These list panes first, and then read what is in them.
            if ["search_panes", "observe"].contains(&tool) {
                assert_eq!(proxy.next().round_trips, 1, "{tool}");
            }
        }
        mcp.call("tmux_capabilities", json!({}));
        assert_eq!(proxy.next().round_trips, 1);
        let filter = json!({"profile": "libtmux-ruby.where", "version": 1, "entity": "pane",
            "where": {"window": {"is": {"windowLinks": {"some": {"active": true}}}}}});
        let query = json!({"entity": "pane", "criteria": filter, "limit": 1});
        let page = mcp.call("tmux_snapshot", query)["data"].clone();
        assert_eq!(proxy.next().round_trips, 1);
        let next = mcp.call("tmux_snapshot", json!({"cursor": page["next_cursor"]}));
        assert_eq!(next["data"]["items"][0]["ref"]["id"], "%1");
        // Nor does a ref of another run need the server to be known as one.
        let mut foreign = refs["pane"].clone();
        foreign["generation"] = json!("0".repeat(32));
        let error = mcp.fail("get_pane_info", json!({"ref": foreign}));
        assert_eq!(
            (&error["code"], &error["delivery"]),
            (&json!("stale_target"), &json!("not_sent"))
        );
        assert!(proxy.is_drained(), "one connection each");
        // What is gone is told by the same exchange; an error of tmux's own takes one more.
        server.set(["kill-pane", "-t", "%0"]);
        assert_eq!(mcp.code("get_pane_info", json!({"ref": refs["pane"]})), "stale_target");
        assert_eq!(proxy.next().round_trips, 1);
        assert!(proxy.is_drained(), "one connection each");
    });
}

#[test]
fn a_ref_of_another_process_is_stale_and_two_processes_do_not_disturb_each_other() {
    let server = Server::start(releases().last().unwrap());
    let mut first = Mcp::on(&server, &[]);
    let mut second = Mcp::on(&server, &[]);
    let foreign = references(&mut first);
    for (tool, kind) in BY_REF {
        assert_eq!(second.code(tool, by(tool, &foreign[kind])), "stale_target", "{tool}");
    }
    let own = references(&mut second);
    for (tool, kind) in BY_REF {
        second.call(tool, by(tool, &own[kind]));
        first.call(tool, by(tool, &foreign[kind]));
    }
}

#[test]
fn a_malformed_ref_is_invalid_input() {
    let server = Server::start(releases().last().unwrap());
    let mut mcp = Mcp::on(&server, &[]);
    let good = mcp.row("list_panes", "%0")["ref"].clone();
    let change = |key: &str, value: Value| {
        let mut changed = good.clone();
        changed[key] = value;
        json!({"ref": changed})
    };
    for bad in [
        change("generation", json!("x")),
        change("kind", json!("window")),
        change("id", json!("%01")),
        change("extra", json!(1)),
        json!({"ref": "%0"}),
        json!({"ref": good, "pane_id": "%0"}),
    ] {
        assert_eq!(mcp.code("get_pane_info", bad.clone()), "invalid_input", "{bad}");
    }
    let unknown = change("generation", json!("0".repeat(32)));
    assert_eq!(mcp.code("get_pane_info", unknown), "stale_target");
    // Nothing is found where nothing is: a name is no id.
    let mut nobody = Mcp::start(muxwire(server.directory()).args(["mcp", "-L", "nobody"]));
    assert_eq!(nobody.code("get_pane_info", json!({"ref": good})), "stale_target");
}
