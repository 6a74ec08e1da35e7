//! Questions that take long to answer.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::on;
use crate::support::Listing;

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
