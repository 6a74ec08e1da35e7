//! Pages that must fit an answer, and how much the captures behind them hold.

use serde_json::{Value, json};

use crate::client::{Mcp, on};
use crate::support::{IDLE, Listing, Server, releases};

/// How long the names of windows are, in the order in which they are listed.
const LENGTHS: [usize; 20] =
    [1, 1, 1, 1, 1, 900, 1, 900, 900, 1, 1, 2_500, 1, 1, 1, 1, 900, 5_000, 1, 1];
/// The one that no answer of [`LIMIT`] bytes holds.
const TOO_LARGE: usize = 17;
const LIMIT: usize = 8_192;
/// How many items a page has where they fit.
const ITEMS: usize = 5;

fn name(row: usize) -> String {
    format!("{row:02}{}", "x".repeat(LENGTHS[row]))
}

fn ids(page: &Value) -> Vec<Value> {
    let items = page["items"].as_array().expect("items").iter();
    items.map(|item| item["fields"]["id"].clone()).collect()
}

#[test]
fn pages_shrink_to_what_an_answer_holds_and_together_show_everything_once() {
    let named = |field: &str, row| (field == "window_name").then(|| name(row));
    let listing = Listing { instead: named, ..Listing::new(LENGTHS.len(), 1) };
    let (mut mcp, peer, _home) = on(&[listing; 2], &["--max-response-bytes", "8192"]);
    let mut next_page = |arguments: Value| {
        let result = mcp.result("tmux_snapshot", arguments);
        assert!(serde_json::to_vec(&result).unwrap().len() <= LIMIT);
        result["structuredContent"].clone()
    };
    let query = |filter: Value| {
        let document = json!({"profile": "libtmux-ruby.where", "version": 1, "entity": "window",
            "where": filter});
        json!({"entity": "window", "limit": ITEMS, "criteria": document})
    };

    let first = next_page(query(json!({"id": {"not": format!("@{TOO_LARGE}")}})))["data"].clone();
    let (mut page, mut seen, mut counts) = (first.clone(), ids(&first), vec![ITEMS]);
    while page["truncated"] == true {
        page = next_page(json!({"cursor": page["next_cursor"]}))["data"].clone();
        assert_eq!(page["capture_id"], first["capture_id"]);
        counts.push(ids(&page).len());
        seen.extend(ids(&page));
    }
    let all = (0..LENGTHS.len()).map(|row| json!(format!("@{row}")));
    let all: Vec<Value> = all.collect();
    let expected: Vec<Value> = all
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != TOO_LARGE)
        .map(|(_, id)| id.clone())
        .collect();
    assert_eq!(seen, expected);
    assert!(counts[1..].contains(&ITEMS), "{counts:?}");
    assert!(counts[1..counts.len() - 1].iter().any(|count| *count < ITEMS), "{counts:?}");

    // What is too large by itself ends the way; what was before it is there, and so is the first capture.
    let (mut page, mut seen) = (next_page(query(json!({}))), Vec::new());
    while page["ok"] == true {
        seen.extend(ids(&page["data"]));
        page = next_page(json!({"cursor": page["data"]["next_cursor"]}));
    }
    assert_eq!(seen, all[..TOO_LARGE]);
    let error = &page["error"];
    assert_eq!((&error["code"], &error["delivery"]), (&json!("capacity"), &json!("not_sent")));
    let again = next_page(json!({"cursor": first["next_cursor"]}));
    assert_eq!(ids(&again["data"])[0], "@5");
    peer.finish();
}

#[test]
fn twenty_captures_of_many_links_hold_no_more_than_may_be_kept() {
    /// What eight mebibytes of captures may add in all: the one that is being made, what it is made of, and what the
    /// allocator does not give back.
    const MOST: u64 = 14 << 20;
    let server = Server::start(releases().last().unwrap());
    let windows = [["new-window", "-d", "-t", "=main:", IDLE, ";"]; 59];
    server.set(windows.as_flattened());
    let sessions = [["new-session", "-d", "-t", "=main", ";"]; 59];
    server.set(sessions.as_flattened());
    let mut mcp = Mcp::on(&server, &[]);
    mcp.call("tmux_capabilities", json!({}));
    let idle = mcp.memory();
    let mut cursors = Vec::new();
    for _ in 0..20 {
        let page = mcp.call("tmux_snapshot", json!({"entity": "window_link", "limit": 1}));
        cursors.push(page["data"]["next_cursor"].clone());
    }
    let full = mcp.memory();
    if let (Some(idle), Some(full)) = (idle, full) {
        assert!(full < idle + MOST, "{idle} {full}");
    }
    let kept =
        |cursor: &Value| mcp.result("tmux_snapshot", json!({"cursor": cursor}))["isError"] == false;
    let kept: Vec<bool> = cursors.iter().map(kept).collect();
    let count = kept.iter().filter(|kept| **kept).count();
    assert!((2..16).contains(&count), "{kept:?}");
    assert!(kept.is_sorted(), "the oldest went: {kept:?}");
}
