//! Messages, good and bad, before and after `initialize`.

use super::*;
use crate::mcp::transport::MAX_LINE;

fn initialize(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}})
}

#[tokio::test]
async fn initialize_names_us_and_instructs() {
    let mut server = Harness::start();
    server.request(1, "initialize", initialize("2025-06-18")).await;
    let result = server.next().await["result"].clone();
    assert_eq!(
        result["serverInfo"],
        json!({"name": "muxwire", "version": env!("CARGO_PKG_VERSION")})
    );
    assert_eq!(result["protocolVersion"], "2025-06-18");
    assert_eq!(result["capabilities"], json!({"tools": {}, "resources": {}}));
    let instructions = result["instructions"].as_str().unwrap();
    assert!(instructions.chars().count() <= 1900);
    for word in ["untrusted", "sandbox", "authority", "capture_pane", "snapshot_pane", "ids"] {
        assert!(instructions.contains(word), "{word}");
    }
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    assert_eq!(server.tool_names().await.len(), 4);
}

#[tokio::test]
async fn an_unknown_protocol_version_is_answered_with_one_that_we_speak() {
    for asked in ["1900-01-01", "2099-01-01", "nonsense", ""] {
        let mut server = Harness::start();
        server.request(1, "initialize", initialize(asked)).await;
        assert_eq!(server.next().await["result"]["protocolVersion"], "2025-11-25", "{asked}");
        assert_eq!(server.answer("echo", json!({})).await["ok"], true);
    }
}

#[tokio::test]
async fn requests_before_initialize_are_answered_and_notifications_do_no_harm() {
    let mut server = Harness::start();
    for method in ["notifications/initialized", "notifications/cancelled", "notifications/odd"] {
        server.send(&json!({"jsonrpc": "2.0", "method": method, "params": {"requestId": 9}})).await;
    }
    server.send(&json!({"jsonrpc": "2.0", "id": 9, "result": {}})).await;
    server.request(1, "ping", json!({})).await;
    assert_eq!(server.next().await, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert_eq!(server.tool_names().await.len(), 4);
    assert_eq!(server.answer("echo", json!({})).await["ok"], true);
    server.request(2, "initialize", initialize("2025-11-25")).await;
    assert_eq!(server.next().await["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn discovery_may_come_first() {
    let mut server = Harness::start();
    let meta = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    server.request(1, "server/discover", meta.clone()).await;
    let result = server.next().await["result"].clone();
    assert!(
        result["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")),
        "{result}"
    );
    let mut call = meta.clone();
    call["name"] = json!("echo");
    server.request(2, "tools/call", call).await;
    let message = server.next().await;
    assert_eq!(message["result"]["structuredContent"]["ok"], true, "{message}");
    assert_eq!(message["result"]["resultType"], "complete");
    // Without its metadata it is still answered, and the session goes on.
    server.request(3, "server/discover", json!({})).await;
    assert_eq!(server.next().await["error"]["code"], -32602);
    server.request(4, "initialize", initialize("2025-06-18")).await;
    assert_eq!(server.next().await["result"]["protocolVersion"], "2025-06-18");
}

#[tokio::test]
async fn a_malformed_line_gets_a_parse_error_at_once() {
    let mut server = Harness::start();
    for bad in ["{\"jsonrpc\":\"2.0\",\"id\":1,", "nonsense", "\u{1}"] {
        server.send_raw(format!("{bad}\n").as_bytes()).await;
        let message = server.next().await;
        assert_eq!(
            (&message["id"], &message["error"]["code"]),
            (&Value::Null, &json!(-32700)),
            "{bad}"
        );
        assert!(message.as_object().unwrap().contains_key("id"));
    }
    assert_eq!(server.answer("echo", json!({})).await["ok"], true);
}

#[tokio::test]
async fn json_that_is_no_message_gets_an_invalid_request() {
    let mut server = Harness::start();
    for (bad, id) in [("[]", Value::Null), ("{\"id\":4}", json!(4)), ("7", Value::Null)] {
        server.send_raw(format!("{bad}\n").as_bytes()).await;
        let message = server.next().await;
        assert_eq!((&message["id"], &message["error"]["code"]), (&id, &json!(-32600)), "{bad}");
    }
    server.request(5, "no/such/method", json!({})).await;
    assert_eq!(server.next().await["error"]["code"], -32601);
    server.request(6, "tools/list", json!({"cursor": "x"})).await;
    assert_eq!(server.next().await["error"]["code"], -32602);
}

#[tokio::test]
async fn many_bad_lines_and_answers_in_between_stay_whole() {
    let mut server = Harness::start();
    for n in 0..200 {
        server.call(n, "short_sleep", json!({})).await;
        server.send_raw(b"bad\n").await;
    }
    let (mut errors, mut answers) = (0, 0);
    for _ in 0..400 {
        let message = server.next().await;
        if message["id"].is_null() {
            errors += 1;
        } else {
            answers += 1;
        }
    }
    assert_eq!((errors, answers), (200, 200));
}

#[tokio::test]
async fn a_line_that_is_too_long_is_refused_skipped_and_survived() {
    let mut server = Harness::start();
    let (mut input, mut output) = (server.input.take().unwrap(), server.output);
    let writer = tokio::spawn(async move {
        let chunk = vec![b'x'; 1024 * 1024];
        for _ in 0..=(MAX_LINE / chunk.len()) {
            input.write_all(&chunk).await.unwrap();
        }
        input.write_all(b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await.unwrap();
        input
    });
    let mut line = String::new();
    output.read_line(&mut line).await.unwrap();
    let message: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&message["id"], &message["error"]["code"]), (&Value::Null, &json!(-32600)));
    line.clear();
    output.read_line(&mut line).await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["id"], 1);
    drop(writer.await.unwrap());
}

#[tokio::test]
async fn a_line_just_within_the_limit_is_read() {
    let mut server = Harness::start();
    let text = "x".repeat(MAX_LINE - 200);
    let line = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo",
        "arguments": {"text": text}}})
    .to_string();
    assert!(line.len() <= MAX_LINE);
    let mut input = server.input.take().unwrap();
    let writer = tokio::spawn(async move {
        input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        input
    });
    let message = server.next().await;
    assert_eq!(message["result"]["structuredContent"]["error"]["code"], "capacity");
    drop(writer.await.unwrap());
}

#[tokio::test]
async fn an_id_in_use_is_refused_and_its_owner_still_answered() {
    let mut server = Harness::start();
    server.call(1, "short_sleep", json!({})).await;
    server.request(1, "ping", json!({})).await;
    let refused = server.next().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)));
    assert_eq!(server.next().await["result"]["structuredContent"]["ok"], true);
    server.request(1, "ping", json!({})).await;
    assert_eq!(server.next().await["id"], 1);
}
