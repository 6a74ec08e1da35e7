//! Pages of captures that are kept, while time stands still.

use super::support::{Listing, ScriptedPeer};
use super::*;

#[tokio::test(start_paused = true)]
async fn a_cursor_leads_on_for_30_seconds_after_its_capture_was_made_and_no_longer() {
    let peer = ScriptedPeer::play(|talk| Listing::new(3, 1).answer(talk));
    // Stopped time jumps when nothing else is to do, unless a thread of the runtime is at work.
    let (at_work, end) = std::sync::mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || end.recv());
    let flags = Flags { socket_path: Some(peer.path().into()), ..Flags::default() };
    let mut server = Harness::with_tools(&flags, super::super::tools::GROUPS, Ownership::NotOurs);
    let first = server.answer("tmux_snapshot", json!({"entity": "pane", "limit": 1})).await;
    let next = json!({"cursor": first["data"]["next_cursor"]});
    for almost in [Duration::ZERO, Duration::from_secs(15), Duration::from_millis(14_999)] {
        tokio::time::advance(almost).await;
        let page = server.answer("tmux_snapshot", next.clone()).await;
        assert_eq!(page["data"]["items"][0]["fields"]["id"], "%1", "{page}");
        assert_eq!(page["data"]["interval"], first["data"]["interval"]);
    }
    tokio::time::advance(Duration::from_millis(1)).await;
    let error = server.answer("tmux_snapshot", next).await["error"].clone();
    assert_eq!((&error["code"], &error["delivery"]), (&json!("stale_cursor"), &json!("not_sent")));
    peer.finish();
    drop(at_work);
}
