//! What was written since: `capture_since`, `observe`, and `search_panes`.

use serde_json::{Value, json};

use crate::client::{Mcp, pane_showing, until_shown};
use crate::support::{Server, Tap, eventually, has_ended, on_each_release, releases};

fn lines(answer: &Value) -> Vec<&str> {
    answer["lines"].as_array().expect("lines").iter().map(|line| line.as_str().unwrap()).collect()
}

/// A pane that shows what a test writes, and a server for it.
fn tap(release: &crate::support::Release) -> (Tap, Mcp) {
    let tap = Tap::open(release, 2_000);
    let mcp = Mcp::on(&tap.server, &[]);
    (tap, mcp)
}

#[test]
fn capture_since_reads_on_from_the_cursor_of_any_reading_tool() {
    on_each_release(|release| {
        let (mut tap, mut mcp) = tap(release);
        let pane = json!({"pane_id": tap.pane.to_string()});
        tap.lines(["one", "two"]);
        let first = mcp.call("capture_since", pane.clone());
        assert_eq!(lines(&first), ["one", "two"]);
        assert_eq!((&first["pane_id"], &first["unfinished"]), (&pane["pane_id"], &json!(false)));
        assert_eq!((&first["lines_missed"], &first["truncated"]), (&json!(false), &json!(false)));
        assert!(first.get("missed_reason").is_none() && first.get("splice").is_none());
        assert!(first["elapsed_seconds"].as_f64().unwrap() >= 0.0);
        let captured = mcp.call("capture_pane", pane.clone());
        let history = json!({"pane_id": tap.pane.to_string(), "history": true, "max_lines": 1});
        let snapshot = mcp.call("snapshot_pane", history);
        tap.lines((3..=40).map(|number| number.to_string()));
        for cursor in [&first["cursor"], &captured["cursor"], &snapshot["cursor"]] {
            assert!(cursor.as_str().unwrap().len() <= 120, "{cursor}");
            let since = mcp.call("capture_since", json!({"cursor": cursor}));
            let expected: Vec<String> = (3..=40).map(|number| number.to_string()).collect();
            assert_eq!(lines(&since), expected);
            let next = mcp.call("capture_since", json!({"cursor": since["cursor"]}));
            assert_eq!(lines(&next), [""; 0]);
        }
    });
}

#[test]
fn a_cursor_outlives_the_process_that_gave_it() {
    on_each_release(|release| {
        let (mut tap, mut mcp) = tap(release);
        tap.lines((1..=100).map(|number| number.to_string()));
        let first = mcp.call("capture_since", json!({"pane_id": tap.pane.to_string()}));
        drop(mcp);
        tap.lines(["after"]);
        let mut mcp = Mcp::on(&tap.server, &[]);
        let since = mcp.call("capture_since", json!({"cursor": first["cursor"]}));
        assert_eq!((lines(&since), &since["lines_missed"]), (vec!["after"], &json!(false)));
    });
}

#[test]
fn what_was_missed_and_what_was_cut_is_said() {
    on_each_release(|release| {
        let (mut tap, mut mcp) = tap(release);
        tap.lines((1..=100).map(|number| format!("old {number}")));
        let first = mcp.call("capture_since", json!({"pane_id": tap.pane.to_string()}));
        tap.lines((1..=9).map(|number| format!("é {number}")));
        let cut = json!({"cursor": first["cursor"], "max_lines": 2});
        let answer = mcp.call("capture_since", cut);
        assert_eq!(lines(&answer), ["é 8", "é 9"]);
        assert_eq!((&answer["truncated"], &answer["truncated_lines"]), (&json!(true), &json!(7)));
        assert_eq!(answer["truncated_bytes"], 28);
        let cut = json!({"cursor": first["cursor"], "max_lines": null, "max_bytes": 3});
        let answer = mcp.call("capture_since", cut);
        assert_eq!((lines(&answer), &answer["truncated_bytes"]), (vec![" 9"], &json!(34)));
        let all = json!({"cursor": first["cursor"], "max_lines": null, "max_bytes": null});
        assert_eq!(lines(&mcp.call("capture_since", all)).len(), 9);

        tap.set("clear-history", &[]);
        tap.lines(["new"]);
        let answer = mcp.call("capture_since", json!({"cursor": first["cursor"]}));
        assert_eq!(answer["lines_missed"], true);
        assert_eq!(answer["missed_reason"], "history_cleared");
        assert_eq!(lines(&answer).last(), Some(&"new"));
    });
}

#[test]
fn the_view_screen_is_a_splice_of_the_rows_before() {
    on_each_release(|release| {
        let (mut tap, mut mcp) = tap(release);
        tap.show("one\r\ntwo\r\nthree");
        let pane = json!({"pane_id": tap.pane.to_string(), "view": "screen"});
        let first = mcp.call("capture_since", pane);
        assert_eq!(first["reset"], true);
        assert_eq!(
            first["splice"],
            json!({"start": 0, "delete": 0, "rows": ["one", "two", "three"]})
        );
        assert_eq!(lines(&first), [""; 0]);
        tap.show("\x1b[2;1HTWO");
        let next = json!({"cursor": first["cursor"], "view": "screen"});
        let next = mcp.call("capture_since", next);
        assert_eq!(next["splice"], json!({"start": 1, "delete": 1, "rows": ["TWO"]}));
        assert_eq!(next["reset"], false);
        let same = json!({"cursor": next["cursor"], "view": "screen"});
        let same = mcp.call("capture_since", same);
        assert_eq!(same["splice"]["rows"], json!([]));
        assert_eq!(same["splice"]["delete"], 0);
    });
}

#[test]
fn a_pane_may_be_named_by_its_window_or_session() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["new-session", "-d", "-s", "other", "echo other; exec sleep 100000"]);
        let pane = server.show_of("=other:", "#{pane_id}");
        until_shown(&server, &pane, "other");
        let mut mcp = Mcp::on(&server, &[]);
        let socket = server.socket().file_name().unwrap().to_str().unwrap();
        let window = mcp.row("list_windows", "@1");
        for target in [
            json!({"session_name": "other"}),
            json!({"session_id": "$1"}),
            json!({"window_id": "@1"}),
            json!({"ref": window["ref"]}),
            json!({"pane_id": pane, "socket_name": socket}),
        ] {
            let answer = mcp.call("capture_since", target.clone());
            assert_eq!(answer["pane_id"], pane, "{target}");
            assert_eq!(lines(&answer), ["other"]);
        }
        for (target, code) in [
            (json!({}), "invalid_input"),
            (json!({"session_name": "oth"}), "not_found"),
            (json!({"session_name": ""}), "not_found"),
            (json!({"window_id": "@9"}), "not_found"),
            (json!({"pane_id": "%99"}), "not_found"),
            (json!({"pane_id": pane, "socket_name": "default"}), "invalid_input"),
            (json!({"pane_id": pane, "session_id": "$1"}), "invalid_input"),
        ] {
            assert_eq!(mcp.code("capture_since", target.clone()), code, "{target}");
        }
    });
}

#[test]
fn a_cursor_is_good_for_its_pane_and_program_alone() {
    on_each_release(|release| {
        let server = Server::start(release);
        server.set(["set-option", "-g", "remain-on-exit", "on"]);
        let pane = pane_showing(&server, "main", "one\\n", "one");
        let mut mcp = Mcp::on(&server, &[]);
        let first = mcp.call("capture_since", json!({"pane_id": pane}));
        let cursor = &first["cursor"];
        let other = json!({"cursor": cursor, "pane_id": "%0"});
        assert_eq!(mcp.code("capture_since", other), "invalid_input");
        let damaged = format!("{}A", cursor.as_str().unwrap());
        for bad in [json!(damaged), json!(""), json!("m1.AAAA"), json!("m0.7.1234.ff.6553f100")] {
            let error = mcp.fail("capture_since", json!({"cursor": bad}));
            assert_eq!(
                (&error["code"], &error["delivery"]),
                (&json!("invalid_input"), &json!("not_sent"))
            );
        }
        let page = mcp.call("tmux_snapshot", json!({"entity": "pane", "limit": 1}));
        let page = &page["data"]["next_cursor"];
        assert_eq!(mcp.code("capture_since", json!({"cursor": page})), "stale_cursor");
        assert_eq!(mcp.code("tmux_snapshot", json!({"cursor": cursor})), "stale_cursor");
        assert_eq!(mcp.code("observe", json!({"cursor": cursor})), "stale_cursor");

        server.set(["respawn-pane", "-k", "-t", &pane, "echo two; exec sleep 100000"]);
        until_shown(&server, &pane, "two");
        assert_eq!(mcp.code("capture_since", json!({"cursor": cursor})), "stale_cursor");
        let fresh = mcp.call("capture_since", json!({"pane_id": pane}));
        let program = fresh["cursor"].clone();
        let pid = server.show_of(&pane, "#{pane_pid}");
        assert!(crate::support::signal(pid.parse().unwrap(), "KILL"));
        eventually("the pane's death", || {
            server.reap();
            (server.show_of(&pane, "#{pane_dead}") == "1").then_some(())
        });
        // What the program wrote stays readable from a cursor, and by capture_pane without one.
        let last = mcp.call("capture_since", json!({"cursor": program}));
        assert_eq!((lines(&last), &last["lines_missed"]), (vec![], &json!(false)));
        let error = mcp.fail("capture_since", json!({"pane_id": pane}));
        assert_eq!(error["code"], "invalid_input");
        assert!(error["message"].as_str().unwrap().contains("capture_pane"), "{error}");
        mcp.call("capture_pane", json!({"pane_id": pane}));
    });
}

#[test]
fn a_restarted_server_is_told_only_where_the_pane_is_named_too() {
    on_each_release(|release| {
        let server = Server::start(release);
        let mut mcp = Mcp::on(&server, &[]);
        let first = mcp.call("capture_since", json!({"pane_id": "%0"}));
        let seen = mcp.call("observe", json!({}));
        server.tmux(["kill-server"]);
        eventually("its end", || has_ended(server.pid()).then_some(()));
        assert_eq!(mcp.code("capture_since", json!({"cursor": first["cursor"]})), "no_server");
        let program = "echo again; exec sleep 100000";
        server.tmux(["new-session", "-d", "-s", "main", program]).text();
        until_shown(&server, "%0", "again");
        assert_eq!(mcp.code("capture_since", json!({"cursor": first["cursor"]})), "stale_cursor");
        assert_eq!(mcp.code("observe", json!({"cursor": seen["cursor"]})), "stale_cursor");
        let named = json!({"cursor": first["cursor"], "pane_id": "%0"});
        let answer = mcp.call("capture_since", named);
        assert_eq!((lines(&answer), &answer["lines_missed"]), (vec!["again"], &json!(true)));
        assert_eq!(answer["missed_reason"], "server_restarted");
        server.tmux(["kill-server"]);
    });
}

/// The panes of an observation: id, state, lines.
fn changes<'a>(answer: &'a Value) -> Vec<(&'a str, &'a str, Vec<&'a str>)> {
    let panes = answer["panes"].as_array().expect("panes");
    let of = |pane: &'a Value| {
        let lines = if pane["lines"].is_array() { lines(pane) } else { vec![] };
        (pane["pane_id"].as_str().unwrap(), pane["state"].as_str().unwrap(), lines)
    };
    panes.iter().map(of).collect()
}

#[test]
fn observe_tells_which_panes_are_new_changed_and_gone() {
    on_each_release(|release| {
        let (mut tap, mut mcp) = tap(release);
        tap.lines(["one"]);
        let tapped = tap.pane.to_string();
        let first = mcp.call("observe", json!({}));
        assert_eq!(changes(&first), [("%0", "new", vec![]), (&tapped, "new", vec!["one"])]);
        assert_eq!((&first["unchanged"], &first["truncated"]), (&json!(0), &json!(false)));
        let same = mcp.call("observe", json!({"cursor": first["cursor"]}));
        assert_eq!((changes(&same), &same["unchanged"]), (vec![], &json!(2)));
        tap.lines(["two", "three"]);
        let added = pane_showing(&tap.server, "main", "added\\n", "added");
        let next = mcp.call("observe", json!({"cursor": same["cursor"]}));
        let expected =
            [(&*tapped, "changed", vec!["two", "three"]), (&*added, "new", vec!["added"])];
        assert_eq!((changes(&next), &next["unchanged"]), (expected.to_vec(), &json!(1)));
        tap.server.set(["kill-pane", "-t", &added]);
        let last = mcp.call("observe", json!({"cursor": next["cursor"]}));
        assert_eq!(
            (changes(&last), &last["unchanged"]),
            (vec![(&*added, "gone", vec![])], &json!(2))
        );
        // An older cursor is as good as a newer one.
        let again = mcp.call("observe", json!({"cursor": first["cursor"]}));
        assert_eq!(changes(&again), [(&*tapped, "changed", vec!["two", "three"])]);
        assert_eq!(mcp.code("observe", json!({"cursor": "o0.1"})), "invalid_input");
        let both = json!({"cursor": first["cursor"], "session_id": "$0"});
        assert_eq!(mcp.code("observe", both), "invalid_input");
    });
}

#[test]
fn what_is_read_of_single_panes_puts_out_no_observation() {
    let (mut tap, mut mcp) = tap(releases().last().unwrap());
    let first = mcp.call("observe", json!({}));
    let pane = tap.pane.to_string();
    for number in 0..300 {
        tap.show(format!("{number}\r"));
        mcp.call("capture_pane", json!({"pane_id": pane}));
    }
    let answer = mcp.call("observe", json!({"cursor": first["cursor"]}));
    assert_eq!(changes(&answer), [(&*pane, "changed", vec!["299"])]);
}

#[test]
fn observe_keeps_the_newest_lines_that_an_answer_holds() {
    let mut tap = Tap::open(releases().last().unwrap(), 2_000);
    let mut mcp = Mcp::on(&tap.server, &["--max-response-bytes", "8192"]);
    let first = mcp.call("observe", json!({}));
    // Each byte takes two in the answer and four in its text.
    let line = |number: usize| format!("{}{number}", "\"".repeat(60));
    tap.lines((1..=200).map(line));
    let answer = mcp.call("observe", json!({"cursor": first["cursor"]}));
    let change = &answer["panes"][0];
    let shown = lines(change);
    assert!((5..20).contains(&shown.len()), "{}", shown.len());
    let newest: Vec<String> = (201 - shown.len()..=200).map(line).collect();
    assert_eq!(
        (shown, &answer["truncated"]),
        (newest.iter().map(String::as_str).collect(), &json!(true))
    );
    assert_eq!(change["truncated_lines"], 200 - newest.len());
}

#[test]
fn observe_waits_for_a_change_and_no_longer_and_holds_nobody_up() {
    let (mut tap, mut mcp) = tap(releases().last().unwrap());
    let first = mcp.call("observe", json!({"session_id": "$0"}));
    let begun = std::time::Instant::now();
    let arguments = json!({"cursor": first["cursor"], "timeout": 0.4});
    let idle = mcp.call("observe", arguments);
    let waited = begun.elapsed();
    assert_eq!((changes(&idle), &idle["unchanged"]), (vec![], &json!(2)));
    assert!(waited.as_secs_f64() > 0.3 && waited.as_secs_f64() < 2.0, "{waited:?}");

    let arguments = json!({"cursor": idle["cursor"], "timeout": 60});
    mcp.ask("tools/call", json!({"name": "observe", "arguments": arguments}));
    mcp.ask("ping", json!({}));
    assert_eq!(mcp.receive()["result"], json!({}), "the wait holds up a ping");
    tap.lines(["woken"]);
    let answer = mcp.receive()["result"]["structuredContent"].clone();
    assert_eq!(changes(&answer), [(&*tap.pane.to_string(), "changed", vec!["woken"])]);
}

#[test]
fn search_panes_finds_lines_in_all_panes_and_pages_through_them() {
    on_each_release(|release| {
        let (mut tap, mut mcp) = tap(release);
        let long = format!("{}Needle{}", "x".repeat(90), "y".repeat(20));
        tap.lines(["a needle", "none", &long, "needle.", "[needle]"]);
        tap.lines((1..=30).map(|number| format!("filler {number}")));
        let other = pane_showing(&tap.server, "main", "needle again\\n", "again");
        let tapped = tap.pane.to_string();
        let found = |answer: &Value| -> Vec<(String, u64)> {
            let matches = answer["matches"].as_array().unwrap().iter();
            let row = |it: &Value| {
                (it["pane_id"].as_str().unwrap().to_owned(), it["line_number"].as_u64().unwrap())
            };
            matches.map(row).collect()
        };
        let all = json!({"pattern": "needle", "history": true});
        let answer = mcp.call("search_panes", all);
        let expected = [(&tapped, 1), (&tapped, 3), (&tapped, 4), (&tapped, 5), (&other, 1)];
        let expected = expected.map(|(pane, line)| (pane.clone(), line));
        assert_eq!(found(&answer), expected);
        assert_eq!((&answer["panes_searched"], &answer["truncated"]), (&json!(3), &json!(false)));
        assert_eq!(answer["matches"][1]["text"], long);
        assert_eq!(answer["matches"][0]["session_name"], "main");
        // The lines are those of capture_pane.
        let history = json!({"pane_id": tapped, "history": true});
        let content = mcp.call("capture_pane", history)["content"].clone();
        for it in answer["matches"].as_array().unwrap().iter().take(4) {
            let index = usize::try_from(it["line_number"].as_u64().unwrap()).unwrap() - 1;
            assert_eq!(content[index], it["text"]);
        }
        let on_screen = mcp.call("search_panes", json!({"pattern": "needle"}));
        assert_eq!(found(&on_screen), [(other.clone(), 1)]);
        for (arguments, lines) in [
            (json!({"pattern": "needle", "match_case": true}), vec![1, 4, 5]),
            (json!({"pattern": "^needle", "regex": true}), vec![4]),
            (json!({"pattern": "[needle]"}), vec![5]),
            (json!({"pattern": r"needle\.$", "regex": true}), vec![4]),
        ] {
            let mut arguments = arguments;
            arguments["history"] = json!(true);
            let window = tap.value("#{window_id}");
            arguments["window_id"] = json!(window);
            let answer = mcp.call("search_panes", arguments.clone());
            let found: Vec<u64> = found(&answer).into_iter().map(|(_, line)| line).collect();
            assert_eq!(found, lines, "{arguments}");
        }
        // Pages, which are those of the first moment whatever the panes show later.
        let first =
            mcp.call("search_panes", json!({"pattern": "needle", "history": true, "limit": 2}));
        tap.set("clear-history", &[]);
        let mut rows = found(&first);
        let mut next = first["next_cursor"].clone();
        assert_eq!((rows.len(), &first["truncated"]), (2, &json!(true)));
        while next.is_string() {
            let page = json!({"pattern": "needle", "limit": 2, "cursor": next});
            let page = mcp.call("search_panes", page);
            rows.extend(found(&page));
            next = page["next_cursor"].clone();
        }
        assert_eq!(rows, expected);
        for (arguments, code) in [
            (json!({}), "invalid_input"),
            (json!({"pattern": ""}), "invalid_input"),
            (json!({"pattern": "(", "regex": true}), "invalid_input"),
            (json!({"pattern": "x", "window_id": "@99"}), "not_found"),
            (json!({"pattern": "x", "cursor": first["next_cursor"]}), "invalid_input"),
            (json!({"pattern": "needle", "cursor": "q0"}), "invalid_input"),
            (
                json!({"pattern": "needle", "cursor": first["next_cursor"], "history": true}),
                "invalid_input",
            ),
        ] {
            assert_eq!(mcp.code("search_panes", arguments.clone()), code, "{arguments}");
        }
    });
}
