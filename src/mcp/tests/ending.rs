//! How the server ends: soon, and with what it can still say.

use super::*;
use std::time::Instant;

#[tokio::test]
async fn end_of_input_ends_the_server_within_a_second_with_calls_in_flight() {
    let mut server = Harness::start();
    server.call(1, "wait", json!({})).await;
    server.call(2, "short_sleep", json!({})).await;
    server.call(3, "overrun", json!({})).await;
    let begun = Instant::now();
    server.input = None;
    // What ends in time is answered, what would not is cancelled and says so.
    assert_eq!(server.next().await["id"], 2);
    let (first, second) = (server.next().await, server.next().await);
    for message in [first, second] {
        assert!(message.to_string().contains("This MCP server is ending."));
        assert_eq!(message["result"]["structuredContent"]["error"]["code"], "cancelled");
    }
    assert_eq!(server.receive().await, None);
    server.ended().await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn end_of_input_with_nothing_to_do_ends_at_once() {
    let mut server = Harness::start();
    server.request(1, "ping", json!({})).await;
    server.next().await;
    let begun = Instant::now();
    server.input = None;
    server.ended().await;
    assert!(begun.elapsed() < Duration::from_millis(100), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_last_line_without_newline_is_still_answered() {
    let mut server = Harness::start();
    server.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}").await;
    server.input = None;
    assert_eq!(server.next().await["id"], 1);
    server.ended().await;
}

#[tokio::test]
async fn being_told_to_end_cancels_calls_at_once() {
    let mut server = Harness::start();
    server.call(1, "wait", json!({})).await;
    server.request(2, "ping", json!({})).await;
    server.next().await;
    let begun = Instant::now();
    server.terminate.take().unwrap().send(()).unwrap();
    assert_eq!(server.next().await["result"]["structuredContent"]["error"]["code"], "cancelled");
    server.ended().await;
    assert!(begun.elapsed() < Duration::from_millis(200), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_client_that_stops_reading_does_not_keep_the_server() {
    let mut server = Harness::start();
    for n in 0..100 {
        server.call(n, "echo", json!({"text": "x".repeat(2000)})).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    let begun = Instant::now();
    server.input = None;
    server.ended().await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_client_that_closes_its_ear_ends_the_server() {
    let mut server = Harness::start();
    let (nobody, _) = tokio::io::duplex(1);
    server.output = BufReader::new(nobody);
    server.request(1, "ping", json!({})).await;
    let begun = Instant::now();
    server.ended().await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}
