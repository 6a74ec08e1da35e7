//! Resources: what can be read by URI, and which URIs are refused in which way.

use serde_json::{Value, json};

use crate::client::{Mcp, on, pane_showing};
use crate::support::{Listing, Server, eventually, has_ended, on_each_release, releases, signal};

/// What stands in front of the URIs of this server now.
fn root(mcp: &mut Mcp) -> String {
    let data = mcp.call("tmux_capabilities", json!({}))["data"].clone();
    let generation = data["server_identity"]["generation"].as_str().unwrap();
    format!("tmux://{}/{generation}", data["endpoint"].as_str().unwrap())
}

/// The one content of a resource.
#[track_caller]
fn read(mcp: &mut Mcp, uri: &str) -> Value {
    let result = mcp.request("resources/read", json!({"uri": uri}));
    let contents = result["contents"].as_array().unwrap_or_else(|| panic!("{uri}"));
    assert_eq!((contents.len(), &contents[0]["uri"]), (1, &json!(uri)));
    contents[0].clone()
}

/// A resource of metadata.
#[track_caller]
fn page(mcp: &mut Mcp, uri: &str) -> Value {
    let content = read(mcp, uri);
    assert_eq!(content["mimeType"], "application/json");
    let body: Value = serde_json::from_str(content["text"].as_str().unwrap()).unwrap();
    assert_eq!(body["ok"], true);
    body["data"].clone()
}

/// The error of a resource that cannot be read.
#[track_caller]
fn refused(mcp: &mut Mcp, uri: &str) -> Value {
    mcp.ask("resources/read", json!({"uri": uri}));
    let message = mcp.receive();
    assert!(message["error"].is_object(), "{uri}: {message}");
    message["error"].clone()
}

#[test]
fn templates_are_listed_and_no_resources() {
    let server = Server::start(releases().last().unwrap());
    let mut mcp = Mcp::on(&server, &[]);
    let templates = mcp.request("resources/templates/list", json!({}))["resourceTemplates"].clone();
    let listed: Vec<_> = templates
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            ["name", "uriTemplate", "mimeType"].map(|key| it[key].as_str().unwrap().to_owned())
        })
        .collect();
    let (metadata, text) = ("application/json", "text/plain");
    let expected = [
        ["tmux_metadata", "tmux://{endpoint}/{generation}/snapshots/{entity}", metadata],
        ["tmux_metadata_page", "tmux://{endpoint}/{generation}/pages/{cursor}", metadata],
        ["tmux_screen", "tmux://{endpoint}/{generation}/panes/{pane_id}/screen", text],
    ];
    assert_eq!(listed, expected);
    assert_eq!(mcp.request("resources/list", json!({}))["resources"], json!([]));
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        mcp.ask(method, json!({"uri": "tmux://x"}));
        assert_eq!(mcp.receive()["error"]["code"], -32601, "{method}");
    }
}

#[test]
fn metadata_its_pages_and_screens_are_what_the_tools_answer() {
    on_each_release(|release| {
        let server = Server::start(release);
        let pane = pane_showing(&server, "main", "one \\303\\251\\ntwo\\n", "two");
        for _ in 0..60 {
            server.set(["new-window", "-d", "-t", "main:", "exec sleep 100000"]);
        }
        let mut mcp = Mcp::on(&server, &["--endpoint", "my.host-1"]);
        let root = root(&mut mcp);
        assert!(root.starts_with("tmux://my.host-1/"));
        for entity in ["session", "window", "pane", "window_link", "client"] {
            let by_uri = page(&mut mcp, &format!("{root}/snapshots/{entity}"));
            let by_tool = mcp.call("tmux_snapshot", json!({"entity": entity}))["data"].clone();
            for key in ["entity", "truncated", "server_identity", "coverage"] {
                assert_eq!(by_uri[key], by_tool[key], "{entity} {key}");
            }
            // Names and programs may change between the two.
            let refs = |data: &Value| -> Vec<Value> {
                let items = data["items"].as_array().unwrap().iter();
                items.map(|item| json!([item["kind"], item["ref"], item["fields"]["id"]])).collect()
            };
            assert_eq!(refs(&by_uri), refs(&by_tool));
        }
        let first = page(&mut mcp, &format!("{root}/snapshots/pane"));
        let cursor = first["next_cursor"].as_str().unwrap();
        let next = page(&mut mcp, &format!("{root}/pages/{cursor}"));
        assert_eq!(next, mcp.call("tmux_snapshot", json!({"cursor": cursor}))["data"]);
        assert_eq!(
            (&next["capture_id"], &next["truncated"]),
            (&first["capture_id"], &json!(false))
        );
        assert_eq!(next["items"].as_array().unwrap().len(), 12);

        let number = pane.trim_start_matches('%');
        let screen = read(&mut mcp, &format!("{root}/panes/%25{number}/screen"));
        assert_eq!(
            (&screen["mimeType"], &screen["text"]),
            (&json!("text/plain"), &json!("one é\ntwo"))
        );
    });
}

#[test]
fn a_uri_that_is_not_of_this_endpoint_or_not_well_formed_is_invalid_params() {
    let server = Server::start(releases().last().unwrap());
    let mut mcp = Mcp::on(&server, &[]);
    let root = root(&mut mcp);
    for uri in [
        String::new(),
        "file:///etc/passwd".to_owned(),
        format!("{}/snapshots/pane", root.replace("default", "other")),
        format!("{}/snapshots/pane", root.replace("default", "d%65fault")),
        format!("{root}/snapshots/panes"),
        format!("{root}/snapshots/pane/"),
        format!("{root}/panes/%1/screen"),
        format!("{root}/panes/%250%31/screen"),
        format!("{root}/panes/%2501/screen"),
        format!("{root}/pages/s0.1.2.3"),
        format!("{root}/pages/{}", "x".repeat(1024)),
        format!("tmux://default/{}/snapshots/pane", "A".repeat(32)),
    ] {
        let error = refused(&mut mcp, &uri);
        assert_eq!(error["code"], -32602, "{uri} {error}");
        let message = error["message"].as_str().unwrap();
        assert!(!message.contains("passwd") && message.len() > 20, "{message}");
    }
    mcp.ask("resources/read", json!({}));
    assert_eq!(mcp.receive()["error"]["code"], -32602);
}

#[test]
fn what_is_gone_is_not_found_and_other_failures_say_what_they_are() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["split-window", "-d", "-t", "%0", "exec sleep 100000"]);
        let mut mcp = Mcp::on(&server, &[]);
        let old = root(&mut mcp);
        let limit = json!({"entity": "pane", "limit": 1});
        let cursor = mcp.call("tmux_snapshot", limit)["data"]["next_cursor"].clone();
        let cursor = cursor.as_str().unwrap();
        server.set(["kill-pane", "-t", "%1"]);
        let zero = "0".repeat(32);
        let mut other = Mcp::on(&server, &[]);
        let foreign = root(&mut other);
        for (uri, code) in [
            (format!("{old}/panes/%251/screen"), "stale_target"),
            (format!("{foreign}/panes/%250/screen"), "stale_target"),
            (format!("{foreign}/snapshots/pane"), "stale_target"),
            (format!("tmux://default/{zero}/snapshots/pane"), "stale_target"),
            (format!("{foreign}/pages/{cursor}"), "stale_cursor"),
        ] {
            let error = refused(&mut mcp, &uri);
            assert_eq!(
                (&error["code"], &error["data"]["code"]),
                (&json!(-32002), &json!(code)),
                "{uri}"
            );
            assert_eq!(error["data"]["retryable"], false);
            assert_eq!(error["message"], error["data"]["message"]);
        }
        let uri = format!("{foreign}/pages/{cursor}");
        assert_eq!(refused(&mut other, &uri)["data"]["code"], "stale_cursor", "of another process");
        // The server restarts on the same path; the page that was kept stays what it was.
        server.tmux(["kill-server"]);
        eventually("its end", || has_ended(server.pid()).then_some(()));
        let error = refused(&mut mcp, &format!("{old}/snapshots/pane"));
        assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32000), &json!("no_server")));
        assert_eq!(error["data"]["delivery"], "not_sent");
        server.tmux(["new-session", "-d", "-s", "main", "exec sleep 100000"]).text();
        for rest in ["snapshots/pane", "panes/%250/screen"] {
            let error = refused(&mut mcp, &format!("{old}/{rest}"));
            assert_eq!(error["data"]["code"], "stale_target", "{rest} {error}");
        }
        assert_eq!(
            page(&mut mcp, &format!("{old}/pages/{cursor}"))["items"][0]["fields"]["id"],
            "%1"
        );
        let new = root(&mut mcp);
        assert_eq!(
            refused(&mut mcp, &format!("{new}/pages/{cursor}"))["data"]["code"],
            "stale_cursor"
        );
        page(&mut mcp, &format!("{new}/snapshots/pane"));
        server.tmux(["kill-server"]);
    });
}

#[test]
fn a_page_is_held_to_the_size_of_what_is_sent_by_uri() {
    // The second page holds one window that no answer holds.
    let long = |field: &str, row| {
        (field == "window_name").then(|| "x".repeat(if row == 55 { 60_000 } else { 100 }))
    };
    let listing = Listing { instead: long, ..Listing::new(60, 1) };
    let size = |mcp: &mut Mcp, uri: &str| {
        serde_json::to_vec(&mcp.request("resources/read", json!({"uri": uri}))).unwrap().len()
    };
    // The answer of tmux_capabilities is larger than these limits.
    let small_root = |mcp: &mut Mcp| {
        let data = mcp.call("tmux_snapshot", json!({"entity": "session"}))["data"].clone();
        format!("tmux://default/{}", data["server_identity"]["generation"].as_str().unwrap())
    };
    let (mut mcp, peer, _home) = on(&[listing; 3], &[]);
    let uri = format!("{}/snapshots/window", small_root(&mut mcp));
    let (whole, by_tool) =
        (size(&mut mcp, &uri), mcp.result("tmux_snapshot", json!({"entity": "window"})));
    let by_tool = serde_json::to_vec(&by_tool).unwrap().len();
    peer.finish();
    assert!(whole + whole / 2 < by_tool, "{whole} {by_tool}");

    // Times have some digits more or less.
    let (mut mcp, peer, _home) =
        on(&[listing; 4], &["--max-response-bytes", &(whole + 64).to_string()]);
    let root = small_root(&mut mcp);
    let uri = format!("{root}/snapshots/window");
    let first = page(&mut mcp, &uri);
    assert_eq!(first["items"].as_array().unwrap().len(), 50);
    assert_eq!(mcp.code("tmux_snapshot", json!({"entity": "window"})), "capacity");
    let few = mcp.call("tmux_snapshot", json!({"entity": "window", "limit": 5}))["data"].clone();
    let refused_as = |mcp: &mut Mcp, uri: &str, delivery: &str| {
        let error = refused(mcp, uri);
        let told = ["code", "delivery"].map(|key| error["data"][key].clone());
        assert_eq!((&error["code"], told), (&json!(-32000), [json!("capacity"), json!(delivery)]));
        assert!(error["message"].as_str().unwrap().contains("tmux_snapshot"), "{error}");
    };
    // Fewer items where all are too large; then one that is so alone.
    let mut next = first.clone();
    let mut ids = Vec::new();
    let refused_at = loop {
        let uri = format!("{root}/pages/{}", next["next_cursor"].as_str().unwrap());
        if ids.len() == 5 {
            break uri;
        }
        next = page(&mut mcp, &uri);
        ids.extend(next["items"].as_array().unwrap().iter().map(|item| item["ref"]["id"].clone()));
    };
    assert_eq!(ids, ["@50", "@51", "@52", "@53", "@54"]);
    refused_as(&mut mcp, &refused_at, "not_sent");
    // What else is kept stays.
    let cursor = few["next_cursor"].as_str().unwrap();
    assert_eq!(page(&mut mcp, &format!("{root}/pages/{cursor}"))["items"][0]["ref"]["id"], "@5");
    peer.finish();

    let (mut mcp, peer, _home) =
        on(&[listing; 2], &["--max-response-bytes", &(whole - 64).to_string()]);
    let uri = format!("{}/snapshots/window", small_root(&mut mcp));
    refused_as(&mut mcp, &uri, "observed");
    peer.finish();
}

#[test]
fn a_resource_is_offered_with_its_tool_and_keeps_the_deadline() {
    let server = Server::start(releases().last().unwrap());
    let arguments = ["--exclude-tools", "tmux_snapshot", "--timeout", "0.5"];
    let mut mcp = Mcp::on(&server, &arguments);
    let root = root(&mut mcp);
    let templates = mcp.request("resources/templates/list", json!({}))["resourceTemplates"].clone();
    assert_eq!(
        (templates.as_array().unwrap().len(), &templates[0]["name"]),
        (1, &json!("tmux_screen"))
    );
    let error = refused(&mut mcp, &format!("{root}/snapshots/pane"));
    assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32000), &json!("policy_denied")));
    let screen = format!("{root}/panes/%250/screen");
    read(&mut mcp, &screen);
    signal(server.pid(), "STOP");
    mcp.ask("resources/read", json!({"uri": screen}));
    mcp.ask("ping", json!({}));
    assert_eq!(mcp.receive()["result"], json!({}), "it holds nobody up");
    let error = mcp.receive()["error"].clone();
    assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32000), &json!("deadline")));
    signal(server.pid(), "CONT");
}
