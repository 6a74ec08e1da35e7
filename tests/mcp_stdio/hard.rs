//! Questions that take long to answer.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Mcp, on, until_shown};
use crate::support::{Listing, Server, releases};

/// 4 000 panes whose program has a name that is as long as it may be to cost one step.
fn large() -> Listing {
    let long = |field: &str, _| {
        (field == "pane_current_command").then(|| "no such no such no such no such".to_owned())
    };
    Listing { instead: long, ..Listing::new(100, 40) }
}

/// Nearly as many steps as a question may take.
fn hard() -> Value {
    let conditions: Vec<Value> = (0..400)
        .map(|number| json!({"currentCommand": {"contains": format!("no such {number}")}}))
        .collect();
    let document = json!({"profile": "libtmux-ruby.where", "version": 1, "entity": "pane",
        "where": {"or": conditions}});
    json!({"name": "tmux_snapshot", "arguments": {"entity": "pane", "criteria": document}})
}

#[test]
fn others_are_answered_while_a_hard_question_is_at_work() {
    let (mut mcp, peer, _home) = on(&[large(), Listing::new(1, 1)], &[]);
    mcp.ask("tools/call", hard());
    // The peer takes a second call when it is done with the first: then the question begins.
    mcp.ask("tools/call", json!({"name": "list_sessions", "arguments": {}}));
    let sessions = mcp.receive();
    mcp.ask("ping", json!({}));
    let pong = mcp.receive();
    let answer = mcp.receive();
    assert_eq!((&sessions["id"], &pong["id"], &answer["id"]), (&json!(2), &json!(3), &json!(1)));
    assert_eq!(sessions["result"]["structuredContent"]["count"], 1);
    assert_eq!(answer["result"]["structuredContent"]["data"]["items"], json!([]), "{answer}");
    peer.finish();
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "it is answered before any deadline")]
fn a_hard_question_keeps_the_deadline_and_holds_up_no_end() {
    let (mut mcp, peer, _home) = on(&[large()], &["--timeout", "0.1"]);
    let begun = Instant::now();
    mcp.ask("tools/call", hard());
    let error = mcp.receive()["result"]["structuredContent"]["error"].clone();
    assert_eq!(error["code"], "deadline", "{error}");
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    mcp.close();
    let (status, took) = mcp.ended();
    assert!(status.success() && took < Duration::from_secs(1), "{took:?}");
    peer.finish();
}

/// A pane with 10 000 lines of letters without order, which leave an expression no state to come back to.
fn disorder(server: &Server) {
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + u8::try_from((state >> 40) % 26).expect("small"))
    };
    let mut text: String =
        (0..10_000 * 75).map(|at| if at % 75 == 74 { '\n' } else { letter() }).collect();
    text.push_str("READY");
    let path = server.directory().join("text");
    std::fs::write(&path, text).expect("written");
    server.set(["set-option", "-g", "history-limit", "20000"]);
    let program = format!("cat '{}'; exec sleep 100000", path.display());
    let made = ["new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "main", &program];
    until_shown(server, &server.tmux(made).text(), "READY");
}

#[test]
fn a_hard_search_holds_up_nobody_and_keeps_the_deadline() {
    let server = Server::start(releases().last().unwrap());
    disorder(&server);
    let mut mcp = Mcp::on(&server, &["--timeout", "0.5"]);
    mcp.call("search_panes", json!({"pattern": "READY"}));
    let threads = mcp.threads();
    // Seconds of work, in the fastest build too.
    let search = json!({"pattern": "(?-u:(.{1,40}[a-m]){1,40}[^A-Za-z])", "regex": true,
        "match_case": true, "history": true});
    let begun = Instant::now();
    let of_each = ["search_panes"; 8].map(|tool| json!({"name": tool, "arguments": search}));
    of_each.into_iter().for_each(|params| mcp.ask("tools/call", params));
    std::thread::sleep(Duration::from_millis(250));
    mcp.ask("ping", json!({}));
    let (pong, took) = (mcp.receive(), begun.elapsed());
    assert_eq!(pong["result"], json!({}), "{pong}");
    assert!(took < Duration::from_millis(490), "{took:?}");
    if let (Some(before), Some(now)) = (threads, mcp.threads()) {
        assert!((before + 1..before + 4).contains(&now), "{before} {now}");
    }
    for _ in 0..8 {
        let error = mcp.receive()["result"]["structuredContent"]["error"].clone();
        assert_eq!(error["code"], "deadline", "{error}");
    }
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    // What nobody waits for ends soon.
    mcp.call("search_panes", json!({"pattern": "READY"}));
    let before = mcp.worked();
    std::thread::sleep(Duration::from_millis(300));
    if let (Some(before), Some(after)) = (before, mcp.worked()) {
        assert!(after - before < Duration::from_millis(100), "{:?}", after - before);
    }
    mcp.ask("tools/call", json!({"name": "search_panes", "arguments": search}));
    std::thread::sleep(Duration::from_millis(100));
    mcp.close();
    let (status, took) = mcp.ended();
    assert!(status.success() && took < Duration::from_secs(1), "{took:?}");
}
