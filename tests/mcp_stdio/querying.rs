//! `tmux_snapshot`: what it shows of each kind, what criteria find, and its pages.

use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::client::Mcp;
use crate::support::{Release, Server, eventually, has_ended, on_each_release, releases};

const IDLE: &str = "exec sleep 100000";

fn machine() -> &'static Release {
    releases().last().expect("the machine's own tmux")
}

/// What `tmux_snapshot` answers.
#[track_caller]
fn snapshot(mcp: &mut Mcp, arguments: Value) -> Value {
    mcp.call("tmux_snapshot", arguments)["data"].clone()
}

/// A criteria document.
fn criteria(entity: &str, filter: Value) -> Value {
    json!({"profile": "libtmux-ruby.where", "version": 1, "entity": entity, "where": filter})
}

/// The values of one field in the items that match.
#[track_caller]
fn matching(mcp: &mut Mcp, entity: &str, filter: Value, field: &str) -> Vec<Value> {
    let arguments = json!({"entity": entity, "criteria": criteria(entity, filter)});
    values(&snapshot(mcp, arguments), field)
}

/// The values of one field of a page's items.
fn values(page: &Value, field: &str) -> Vec<Value> {
    let items = page["items"].as_array().expect("items");
    items.iter().map(|item| item["fields"][field].clone()).collect()
}

/// Two sessions that share a window, and a split one.
fn grow(server: &Server) {
    server.set(["split-window", "-d", "-t", "%0", IDLE]);
    server.set(["new-session", "-d", "-s", "two", "-x", "80", "-y", "24", IDLE]);
    server.set(["link-window", "-d", "-s", "=main:0", "-t", "=two:5"]);
}

#[test]
fn every_kind_shows_the_fields_of_the_contract_and_refs_that_lead_back() {
    on_each_release(|release| {
        let server = Server::start(release);
        grow(&server);
        let mut command = server.command();
        command.args(["-C", "attach-session", "-r", "-t", "=two"]);
        let mut control = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut mcp = Mcp::on(&server, &[]);
        eventually("the client", || {
            let clients = snapshot(&mut mcp, json!({"entity": "client"}));
            (!clients["items"].as_array().unwrap().is_empty()).then_some(())
        });
        let fields = |entity: &str| match entity {
            "session" => "id name created attached windowCount",
            "window" => "id name width height paneCount layout",
            "pane" => {
                "id windowId index pid currentCommand currentPath title active dead deadStatus \
                 width height"
            }
            "window_link" => "sessionId windowId index active",
            _ => "name pid created tty sessionId width height readOnly utf8 controlMode",
        };
        let tool = json!({"session": "get_session_info", "window": "get_window_info",
            "pane": "get_pane_info", "window_link": "get_window_info"});
        for (entity, count) in
            [("session", 2), ("window", 2), ("pane", 3), ("window_link", 3), ("client", 1)]
        {
            let page = snapshot(&mut mcp, json!({"entity": entity}));
            let items = page["items"].as_array().unwrap();
            assert_eq!(items.len(), count, "{page}");
            assert_eq!((&page["entity"], &page["truncated"]), (&json!(entity), &json!(false)));
            assert!(page.get("next_cursor").is_none());
            for item in items {
                assert_eq!(item["kind"], entity);
                let names: Vec<_> = item["fields"].as_object().unwrap().keys().collect();
                let mut expected: Vec<_> = fields(entity).split_whitespace().collect();
                expected.retain(|name| !names.iter().any(|other| other == name));
                assert!(expected.is_empty(), "{entity} lacks {expected:?}");
                if entity == "client" {
                    assert_eq!(item["ref"], Value::Null);
                    continue;
                }
                assert_eq!(item["ref"]["generation"], page["server_identity"]["generation"]);
                let info = mcp.call(tool[entity].as_str().unwrap(), json!({"ref": item["ref"]}));
                assert_eq!(info["id"], item["ref"]["id"]);
            }
        }
        let client = snapshot(&mut mcp, json!({"entity": "client"}))["items"][0]["fields"].clone();
        assert_eq!((&client["pid"], &client["controlMode"]), (&json!(control.id()), &json!(true)));
        assert_eq!((&client["sessionId"], &client["readOnly"]), (&json!("$1"), &json!(true)));
        let links = snapshot(&mut mcp, json!({"entity": "window_link"}));
        assert_eq!(values(&links, "sessionId"), ["$0", "$1", "$1"]);
        assert_eq!(values(&links, "index"), [0, 0, 5]);
        assert_eq!(links["items"][2]["ref"]["index"], 5);
        assert_eq!(links["items"][2]["ref"]["session_id"], "$1");
        drop(control.stdin.take());
        control.wait().unwrap();
    });
}

#[test]
fn the_answer_says_who_was_seen_when_and_that_it_is_whole() {
    on_each_release(|release| {
        let server = Server::start(release);
        let mut mcp = Mcp::on(&server, &[]);
        let first = snapshot(&mut mcp, json!({"entity": "pane"}));
        let second = snapshot(&mut mcp, json!({"entity": "pane"}));
        let identity = &first["server_identity"];
        assert_eq!(
            (&identity["pid"], second["server_identity"] == *identity),
            (&json!(server.pid()), true)
        );
        assert_eq!(identity["tmux_version"], release.name());
        assert_ne!(first["capture_id"], second["capture_id"]);
        let kinds = ["session", "window", "pane", "window_link", "client"];
        let coverage: Value =
            kinds.iter().map(|kind| ((*kind).to_owned(), json!("complete"))).collect();
        assert_eq!(first["coverage"], coverage);
        let time = |page: &Value, key: &str| page["interval"][key].as_f64().unwrap();
        assert_eq!(first["interval"]["clock"], "monotonic_seconds");
        assert_eq!(first["interval"]["reads"], 1);
        assert!(time(&first, "started") <= time(&first, "finished"));
        assert!(time(&first, "finished") <= time(&second, "started"));
    });
}

#[test]
fn rows_come_in_the_order_of_their_numbers_and_places() {
    on_each_release(|release| {
        let server = Server::start(release);
        // tmux lists sessions by name and windows by session: all but the last come the other way round.
        for name in ["l", "k", "j", "i", "h", "g", "f", "e", "d", "c", "b"] {
            server.set(["new-session", "-d", "-s", name, IDLE]);
        }
        for index in ["12", "5", "3"] {
            server.set(["link-window", "-d", "-s", "=b:0", "-t", &format!("=main:{index}")]);
        }
        let mut mcp = Mcp::on(&server, &[]);
        for (entity, sign) in [("session", '$'), ("window", '@'), ("pane", '%')] {
            let page = snapshot(&mut mcp, json!({"entity": entity}));
            let expected: Vec<Value> =
                (0..12).map(|number| json!(format!("{sign}{number}"))).collect();
            assert_eq!(values(&page, "id"), expected);
        }
        let page = snapshot(&mut mcp, json!({"entity": "window_link"}));
        let sessions: Vec<Value> =
            [0, 0, 0].into_iter().chain(0..12).map(|number| json!(format!("${number}"))).collect();
        assert_eq!(values(&page, "sessionId"), sessions);
        assert_eq!(values(&page, "index"), [0, 3, 5, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    });
}

#[test]
fn a_server_without_sessions_gives_empty_lists() {
    on_each_release(|release| {
        let server = Server::start_empty(release);
        let mut mcp = Mcp::on(&server, &[]);
        for entity in ["session", "window", "pane", "window_link", "client"] {
            let page = snapshot(&mut mcp, json!({"entity": entity}));
            assert_eq!((&page["items"], &page["truncated"]), (&json!([]), &json!(false)));
            assert_eq!(page["server_identity"]["pid"], server.pid());
        }
    });
}

#[test]
fn criteria_find_what_they_say_and_related_things_of_one_and_the_same_place() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["set-option", "-g", "remain-on-exit", "on"]);
        server.set(["rename-window", "-t", "main", "build"]);
        server.set(["new-session", "-d", "-s", "two", "-n", "build", IDLE]);
        server.set(["new-window", "-d", "-t", "two:", "-n", "logs", "exit 3"]);
        let mut mcp = Mcp::on(&server, &[]);
        // The end of a pane's output is seen first, the status of what ran in it a little later.
        eventually("a dead pane", || {
            server.reap();
            (matching(&mut mcp, "pane", json!({"deadStatus": 3}), "id") == ["%2"]).then_some(())
        });
        assert_eq!(matching(&mut mcp, "pane", json!({"dead": true}), "id"), ["%2"]);
        assert_eq!(matching(&mut mcp, "pane", json!({"deadStatus": {"not": null}}), "id"), ["%2"]);
        let dead = json!({"panes": {"some": {"dead": true}}});
        assert_eq!(matching(&mut mcp, "session", dead, "name"), ["two"]);
        // `two` has a window `build` and a dead pane, and no window `build` with a dead pane.
        let both =
            json!({"windows": {"some": {"name": "build", "panes": {"some": {"dead": true}}}}});
        assert!(matching(&mut mcp, "session", both, "name").is_empty());
        let apart =
            json!({"windows": {"some": {"name": "build"}}, "panes": {"some": {"dead": true}}});
        assert_eq!(matching(&mut mcp, "session", apart, "name"), ["two"]);
        let current = json!({"currentWindow": {"is": {"name": {"startsWith": "bu"}}}});
        assert_eq!(matching(&mut mcp, "session", current, "name"), ["main", "two"]);
        let link = json!({"session": {"is": {"name": "two"}}, "index": {"gte": 1}});
        assert_eq!(matching(&mut mcp, "window_link", link, "index"), [1]);
    });
}

#[test]
fn criteria_are_read_as_they_were_spelt_and_refused_before_anything_is_asked() {
    // Nobody is there: whatever is refused is refused first.
    let server = Server::start(machine());
    let mut mcp = Mcp::on(&server, &[]);
    server.tmux(["kill-server"]);
    eventually("its end", || has_ended(server.pid()).then_some(()));
    let head = r#"{"profile":"libtmux-ruby.where","version":1,"entity":"pane","where":"#;
    for (filter, says) in [
        (r#"{"dead":true,"de\u0061d":false}"#, "twice"),
        (r#"{"index":1.0}"#, "integers"),
        (r#"{"index":true}"#, "integer"),
        (r#"{"index":-1}"#, "from 0"),
        (r#"{"pid":2147483648}"#, "2147483647"),
        (r#"{"current_command":"sh"}"#, "current_command"),
        (r#"{"or":[{},{"nothing":1}]}"#, "nothing"),
    ] {
        let arguments = format!(r#"{{"entity":"pane","criteria":{head}{filter}}}}}"#);
        let error = mcp.fail_raw("tmux_snapshot", &arguments);
        assert_eq!(
            (&error["code"], &error["delivery"]),
            (&json!("invalid_filter"), &json!("not_sent"))
        );
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
    }
    let document = criteria("window", json!({}));
    let error = mcp.fail("tmux_snapshot", json!({"entity": "pane", "criteria": document}));
    assert_eq!(error["code"], "invalid_filter", "{error}");
    for document in [
        json!({"profile": "other", "version": 1, "entity": "pane", "where": {}}),
        json!({"profile": "libtmux-ruby.where", "version": 2, "entity": "pane", "where": {}}),
        json!({"where": {}}),
        json!({}),
    ] {
        let arguments = json!({"entity": "pane", "criteria": document});
        assert_eq!(mcp.code("tmux_snapshot", arguments), "invalid_filter");
    }
    for arguments in [
        json!({}),
        json!({"entity": "panes"}),
        json!({"entity": "pane", "limit": 0}),
        json!({"entity": "pane", "limit": 201}),
        json!({"entity": "pane", "criteria": "dead"}),
        json!({"entity": "pane", "filter": {}}),
    ] {
        assert_eq!(mcp.code("tmux_snapshot", arguments.clone()), "invalid_input", "{arguments}");
    }
    assert_eq!(mcp.code("tmux_snapshot", json!({"entity": "pane"})), "no_server");
    let good = json!({"entity": "pane", "limit": "200", "criteria": criteria("pane", json!({}))});
    assert_eq!(mcp.code("tmux_snapshot", good), "no_server");
}

#[test]
fn criteria_at_their_bounds_are_answered_and_past_them_refused() {
    let server = Server::start(machine());
    let mut mcp = Mcp::on(&server, &[]);
    let document = |filter: &str| {
        let head = r#"{"profile":"libtmux-ruby.where","version":1,"entity":"pane","where":"#;
        format!(r#"{{"entity":"pane","criteria":{head}{filter}}}}}"#)
    };
    let nots = |count: usize| format!("{}{{}}{}", r#"{"not":"#.repeat(count), "}".repeat(count));
    let text = |length: usize| format!(r#"{{"title":"{}"}}"#, "x".repeat(length));
    // Two bytes each.
    let wide = |count: usize| format!(r#"{{"title":"{}"}}"#, "é".repeat(count));
    let many = |what: &str, member: &str, count: usize| {
        format!(
            "{what}[{}]{}",
            vec![member; count].join(","),
            "}".repeat(what.matches('{').count())
        )
    };
    let within_in = |count| many(r#"{"pid":{"in":"#, "1", count);
    let within_or = |count| many(r#"{"or":"#, "{}", count);
    let blank = |count: usize| format!("{{{}}}", " ".repeat(count));
    for (last, further, says) in [
        (nots(32), nots(40), "32 levels"),
        // What is nested too deeply is not read, however deep it is.
        (nots(32), nots(67), "68 levels"),
        (nots(32), nots(10_000), "68 levels"),
        (text(65_536), text(65_537), "65536"),
        (wide(32_768), wide(32_769), "65536"),
        (within_in(1_024), within_in(1_025), "1024"),
        (within_or(2_047), within_or(2_049), "2048"),
        (blank(262_000), blank(262_144), "262144"),
    ] {
        let error = mcp.fail_raw("tmux_snapshot", &document(&further));
        assert_eq!(
            (&error["code"], &error["delivery"]),
            (&json!("invalid_filter"), &json!("not_sent"))
        );
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
        let last = serde_json::from_str::<Value>(&document(&last)).unwrap();
        mcp.call("tmux_snapshot", last);
    }
    // What no JSON has is no message at all; the next one is answered.
    for number in ["NaN", "Infinity", "-Infinity", "01"] {
        let arguments = document(&format!(r#"{{"pid":{number}}}"#));
        mcp.send_raw(&format!(
            r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{{"name":"tmux_snapshot","arguments":{arguments}}}}}"#
        ));
        assert_eq!(mcp.receive()["error"]["code"], -32700, "{number}");
    }
    assert_eq!(matching(&mut mcp, "pane", json!({"pid": {"lte": 2_147_483_647}}), "id"), ["%0"]);
}

#[test]
fn pages_show_what_was_there_whatever_tmux_does_meanwhile() {
    on_each_release(|release| {
        let server = Server::start(release);
        for name in ["b", "c", "d", "e"] {
            server.set(["new-session", "-d", "-s", name, IDLE]);
        }
        let mut mcp = Mcp::on(&server, &[]);
        let filter = criteria("session", json!({"name": {"not": "main"}}));
        let first =
            snapshot(&mut mcp, json!({"entity": "session", "criteria": filter, "limit": 1}));
        server.set(["rename-session", "-t", "=c", "renamed"]);
        server.set(["kill-session", "-t", "=d"]);
        let mut page = first.clone();
        let mut names = values(&first, "name");
        while page["truncated"] == true {
            let cursor = page["next_cursor"].clone();
            page = snapshot(&mut mcp, json!({"cursor": cursor}));
            for key in ["capture_id", "interval", "server_identity", "entity", "coverage"] {
                assert_eq!(page[key], first[key], "{key}");
            }
            // A cursor may be used twice.
            assert_eq!(snapshot(&mut mcp, json!({"cursor": cursor})), page);
            names.extend(values(&page, "name"));
            // Nothing is asked of tmux any more: it need not be there.
            server.tmux(["kill-server"]);
        }
        assert_eq!(names, ["b", "c", "d", "e"]);
        assert_eq!(mcp.code("tmux_snapshot", json!({"entity": "pane"})), "no_server");
    });
}

/// A cursor that is well formed and leads to another place of the same capture.
fn moved(cursor: &str, position: &str) -> String {
    let capture = cursor.split('.').nth(1).unwrap();
    let plain = format!("s0.{capture}.{position}");
    let sum = plain
        .bytes()
        .fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{plain}.{sum:08x}")
}

#[test]
fn cursors_that_lead_nowhere_are_told_from_damaged_ones() {
    let server = Server::start(machine());
    grow(&server);
    let mut mcp = Mcp::on(&server, &[]);
    let start = |mcp: &mut Mcp| {
        let page = snapshot(mcp, json!({"entity": "pane", "limit": 1}));
        page["next_cursor"].as_str().unwrap().to_owned()
    };
    let cursor = start(&mut mcp);
    let code = |mcp: &mut Mcp, cursor: &str| mcp.code("tmux_snapshot", json!({"cursor": cursor}));
    for damaged in ["", "x", &cursor[1..], &cursor[..cursor.len() - 1], &cursor.replace('.', ":")] {
        assert_eq!(code(&mut mcp, damaged), "invalid_input", "{damaged}");
    }
    // Well formed, and before or behind what there is of three panes.
    for (position, expected) in [
        ("0", Some("stale_cursor")),
        ("2", None),
        ("3", Some("stale_cursor")),
        ("ffffffff", Some("stale_cursor")),
        ("100000000", Some("invalid_input")),
    ] {
        let moved = moved(&cursor, position);
        let answer = mcp.result("tmux_snapshot", json!({"cursor": moved}));
        assert_eq!(answer["structuredContent"]["error"]["code"].as_str(), expected, "{moved}");
    }
    assert_eq!(moved(&cursor, "1"), cursor);
    for more in [json!({"entity": "pane"}), json!({"limit": 1}), json!({"criteria": {}})] {
        let mut arguments = more.clone();
        arguments["cursor"] = json!(cursor);
        assert_eq!(mcp.code("tmux_snapshot", arguments), "invalid_input", "{more}");
    }
    let pane = mcp.call("capture_pane", json!({"pane_id": "%0"}))["cursor"].clone();
    assert_eq!(code(&mut mcp, pane.as_str().unwrap()), "stale_cursor", "of another kind");
    let mut other = Mcp::on(&server, &[]);
    assert_eq!(code(&mut other, &cursor), "stale_cursor", "of another process");
    let error = mcp.fail("tmux_snapshot", json!({"cursor": pane}));
    assert_eq!((&error["delivery"], &error["retryable"]), (&json!("not_sent"), &json!(false)));
    // Fifteen more are kept beside it; the sixteenth puts it out.
    for _ in 0..15 {
        snapshot(&mut mcp, json!({"entity": "session"}));
    }
    mcp.call("tmux_snapshot", json!({"cursor": cursor}));
    snapshot(&mut mcp, json!({"entity": "session"}));
    assert_eq!(code(&mut mcp, &cursor), "stale_cursor", "evicted");
}

#[test]
fn a_first_page_that_does_not_fit_is_capacity_and_puts_nothing_out() {
    let server = Server::start(machine());
    for _ in 0..19 {
        server.set(["new-window", "-d", "-t", "main:", IDLE]);
    }
    let mut mcp = Mcp::on(&server, &["--max-response-bytes", "4096"]);
    let page = snapshot(&mut mcp, json!({"entity": "window_link", "limit": 1}));
    for _ in 0..20 {
        let error = mcp.fail("tmux_snapshot", json!({"entity": "pane"}));
        assert_eq!((&error["code"], &error["delivery"]), (&json!("capacity"), &json!("observed")));
    }
    let next = snapshot(&mut mcp, json!({"cursor": page["next_cursor"]}));
    assert_eq!(
        (values(&next, "index"), &next["capture_id"]),
        (vec![json!(1)], &page["capture_id"])
    );
}

#[test]
fn odd_names_titles_and_directories_are_fields_and_are_not_run() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["set-option", "-g", "automatic-rename", "off"]);
        let run = "#(cd; touch executed)";
        let odd = ["#{pid}", run, "a:b.c", "tab\there", "new\nline", "\x1f", "日本 é \"q\""];
        for name in odd {
            // Titles and names are formats once, when they are set.
            let doubled = name.replace('#', "##");
            let pane = server.tmux(["new-window", "-d", "-P", "-F", "#{pane_id}", IDLE]).text();
            server.tmux(["select-pane", "-t", &pane, "-T", &doubled]);
            // Some releases refuse some of them as names.
            server.tmux(["rename-window", "-t", &pane, "--", &doubled]);
            server.tmux(["new-session", "-d", "-s", &doubled, IDLE]);
            let path = server.directory().join(name);
            std::fs::create_dir(&path).unwrap();
        }
        let bad = server.directory().join(std::ffi::OsStr::from_bytes(b"bad \xff"));
        std::fs::create_dir(&bad).unwrap();
        for (at, path) in std::fs::read_dir(server.directory()).unwrap().enumerate() {
            let path = path.unwrap().path();
            if path.is_dir() {
                let link = server.directory().join(format!("link{at}"));
                std::os::unix::fs::symlink(&path, &link).unwrap();
                let run = format!("cd -P {} && {IDLE}", link.display());
                server.tmux(["new-window", "-d", "-t", "=main:", &run]);
            }
        }
        let mut mcp = Mcp::on(&server, &[]);
        let root = server.directory().to_str().unwrap().to_owned();
        let page = eventually("every directory", || {
            let page = snapshot(&mut mcp, json!({"entity": "pane"}));
            let found = values(&page, "currentPath");
            let inside = found.iter().filter(|path| {
                path.as_str().is_some_and(|path| path.starts_with(&root) && *path != *root)
            });
            (inside.count() == odd.len() + 1).then_some(page)
        });
        let (paths, titles) = (values(&page, "currentPath"), values(&page, "title"));
        for name in odd {
            assert!(paths.contains(&json!(format!("{root}/{name}"))), "{name:?} {paths:?}");
            // What tmux does to control characters in titles differs; it is never to act on them.
            let plain = name.bytes().all(|byte| byte >= b' ');
            assert!(!plain || titles.contains(&json!(name)), "{name:?} {titles:?}");
        }
        // What is no text is counted where it is shown, and nowhere else.
        for item in page["items"].as_array().unwrap() {
            let fields = &item["fields"];
            let bad = fields["currentPath"] == format!("{root}/bad \u{fffd}");
            assert_eq!(fields["replaced_bytes"], if bad { json!(1) } else { Value::Null });
        }
        assert!(values(&page, "replaced_bytes").contains(&json!(1)), "{paths:?}");
        // Names are what tmux's own client shows for the same id.
        for (entity, end) in [("window", ""), ("session", ":")] {
            let page = snapshot(&mut mcp, json!({"entity": entity, "limit": 200}));
            let (ids, names) = (values(&page, "id"), values(&page, "name"));
            for (id, name) in ids.iter().zip(&names) {
                let target = format!("{}{end}", id.as_str().unwrap());
                let shown = server.show_of(&target, &format!("#{{{entity}_name}}"));
                assert_eq!(*name, shown, "{target}");
            }
            for name in ["#{pid}", run, "日本 é \"q\""] {
                assert!(names.contains(&json!(name)), "{entity} {name:?} {names:?}");
            }
        }
        let executed = server.directory().join("executed");
        assert!(!executed.exists());
        eventually("what would have been run", || {
            server.show(run);
            executed.exists().then_some(())
        });
        // Compared they cannot be, whether or not it is looked at.
        let filter = criteria("pane", json!({"or": [{}, {"currentPath": null}]}));
        let error = mcp.fail("tmux_snapshot", json!({"entity": "pane", "criteria": filter}));
        assert_eq!(
            (&error["code"], &error["delivery"]),
            (&json!("decode_error"), &json!("observed"))
        );
        let found = matching(&mut mcp, "pane", json!({"title": {"in": odd}}), "title");
        assert!(found.contains(&json!("#{pid}")), "{found:?}");
    });
}

#[test]
fn answers_fit_the_schemas_that_are_published() {
    let server = Server::start(machine());
    grow(&server);
    let mut mcp = Mcp::on(&server, &[]);
    let tools = mcp.request("tools/list", json!({}))["tools"].clone();
    let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "tmux_snapshot");
    let schema = &tool.unwrap()["outputSchema"];
    for arguments in [json!({"entity": "pane", "limit": 1}), json!({"entity": "client"}), json!({})]
    {
        let answer = mcp.result("tmux_snapshot", arguments)["structuredContent"].clone();
        assert!(jsonschema::is_valid(schema, &answer), "{answer}");
    }
    let data = mcp.call("tmux_capabilities", json!({}))["data"].clone();
    let schema = &data["criteria_schema"];
    assert!(jsonschema::meta::is_valid(schema));
    assert!(jsonschema::is_valid(schema, &criteria("pane", json!({"dead": {"not": true}}))));
    assert!(!jsonschema::is_valid(schema, &criteria("pane", json!({"dead": 1}))));
    for (limit, value) in [
        ("max_captures", 16),
        ("max_capture_bytes", 8_388_608),
        ("capture_ttl_seconds", 30),
        ("request_timeout_seconds", 5),
        ("max_response_bytes", 1_048_576),
        ("page_limit", 200),
        ("max_rows_per_kind", 4_096),
        ("max_acquired_bytes", 1_048_576),
        ("max_field_bytes", 65_536),
        ("max_criteria_bytes", 262_144),
        ("max_criteria_nesting", 68),
        ("max_criteria_depth", 32),
        ("max_criteria_nodes", 2_048),
        ("max_criteria_text_bytes", 65_536),
        ("max_criteria_texts_bytes", 262_144),
        ("max_criteria_steps", 5_000_000),
        ("max_uri_bytes", 1_024),
    ] {
        assert_eq!(data["limits"][limit], value, "{limit}");
    }
    assert_eq!(data["observation"]["reads"], 1);
}
