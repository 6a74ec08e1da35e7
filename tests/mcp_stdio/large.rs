//! `tmux_snapshot` of servers that are large, and of such as do not agree with themselves, played by a peer.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::on;
use crate::support::Listing;

/// The code of a query whose answer is short, on a peer that answers these.
fn code(listings: &[Listing]) -> String {
    let (mut mcp, peer, _home) = on(listings, &[]);
    let error = mcp.fail("tmux_snapshot", json!({"entity": "session"}));
    assert_eq!(error["delivery"], "observed", "{error}");
    peer.finish();
    error["code"].as_str().unwrap().to_owned()
}

#[test]
fn four_thousand_panes_are_queried_and_read_page_by_page() {
    let (mut mcp, peer, _home) = on(&[Listing::new(100, 40); 2], &[]);
    let filter = json!({"profile": "libtmux-ruby.where", "version": 1, "entity": "pane",
        "where": {"window": {"is": {"panes": {"some": {"pid": {"gte": 4_960}}}}}}});
    let few = mcp.call("tmux_snapshot", json!({"entity": "pane", "criteria": filter}));
    assert_eq!(few["data"]["items"].as_array().unwrap().len(), 40);
    let mut page =
        mcp.call("tmux_snapshot", json!({"entity": "pane", "limit": 200}))["data"].clone();
    let (mut pages, mut ids) = (1, Vec::new());
    loop {
        let items = page["items"].as_array().unwrap().iter();
        ids.extend(items.map(|item| item["fields"]["id"].clone()));
        if page["truncated"] == false {
            break;
        }
        page = mcp.call("tmux_snapshot", json!({"cursor": page["next_cursor"]}))["data"].clone();
        pages += 1;
    }
    assert_eq!(pages, 20);
    let expected: Vec<Value> = (0..4_000).map(|number| json!(format!("%{number}"))).collect();
    assert_eq!(ids, expected);
    peer.finish();
    // Found, built for tests: 0.2 s of its own and 16.6 MB.
    if let (Some(worked), Some(peak)) = (mcp.worked(), mcp.peak_memory()) {
        assert!(worked < Duration::from_secs(1), "{worked:?}");
        assert!(peak < 24 << 20, "{peak}");
    }
}

#[test]
fn what_passes_a_limit_is_capacity_and_never_a_short_list() {
    assert_eq!(code(&[Listing::new(4_097, 1)]), "capacity", "windows");
    assert_eq!(code(&[Listing::new(17, 241)]), "capacity", "panes");
    let long = |length: usize| match length {
        65_536 => {
            |field: &str, row| (field == "pane_title" && row == 3).then(|| "x".repeat(65_536))
        }
        _ => |field: &str, row| (field == "pane_title" && row == 3).then(|| "x".repeat(65_537)),
    };
    let listing = |instead| Listing { instead, ..Listing::new(2, 4) };
    assert_eq!(code(&[listing(long(65_537))]), "capacity", "a field");
    let (mut mcp, peer, _home) = on(&[listing(long(65_536))], &[]);
    mcp.call("tmux_snapshot", json!({"entity": "pane"}));
    peer.finish();
    // 30 titles of 40 000 bytes are more than a mebibyte.
    let much = listing(|field, _| (field == "pane_title").then(|| "x".repeat(40_000)));
    assert_eq!(code(&[Listing { windows: 6, panes: 5, ..much }]), "capacity", "bytes");
}

#[test]
fn what_does_not_agree_is_read_once_more_and_then_refused() {
    let good = Listing::new(2, 2);
    let lost = Listing {
        instead: |field, row| (field == "window_panes" && row == 1).then(|| "3".into()),
        ..good
    };
    let two_active =
        Listing { instead: |field, _| (field == "pane_active").then(|| "1".into()), ..good };
    let no_window =
        Listing { instead: |field, _| (field == "session_windows").then(|| "3".into()), ..good };
    for bad in [lost, two_active, no_window] {
        assert_eq!(code(&[bad, bad]), "incomplete_snapshot");
        let (mut mcp, peer, _home) = on(&[bad, good], &[]);
        let page = mcp.call("tmux_snapshot", json!({"entity": "pane"}));
        assert_eq!(page["data"]["items"].as_array().unwrap().len(), 4);
        peer.finish();
    }
}

#[test]
fn a_field_that_is_not_what_it_should_be_is_an_error() {
    let good = Listing::new(2, 2);
    for instead in [
        |field: &str, _: usize| (field == "pane_pid").then(|| "x".to_owned()),
        |field: &str, _| (field == "window_id").then(|| "@01".to_owned()),
        |field: &str, _| (field == "pane_dead_status").then(|| "256".to_owned()),
        |field: &str, _| (field == "session_created").then(String::new),
    ] {
        assert_eq!(code(&[Listing { instead, ..good }]), "decode_error");
    }
}
