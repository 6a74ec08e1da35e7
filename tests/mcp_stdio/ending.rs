//! How the program ends, and what it says to lines that are no requests.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Mcp;
use crate::support::{Server, releases, signal};

const SOON: Duration = Duration::from_secs(1);

/// A server that has stopped answering, and a call that waits for it.
fn with_a_call_in_flight(test: impl FnOnce(&mut Mcp)) {
    let server = Server::start(releases().last().unwrap());
    let mut mcp = Mcp::on(&server, &[]);
    mcp.call("list_panes", json!({}));
    signal(server.pid(), "STOP");
    mcp.ask("tools/call", json!({"name": "list_panes", "arguments": {}}));
    std::thread::sleep(Duration::from_millis(50));
    // Other requests are answered meanwhile.
    mcp.send_raw(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
    assert_eq!(mcp.receive()["id"], "p");
    test(&mut mcp);
}

#[test]
fn end_of_input_ends_it_within_a_second_with_a_call_in_flight() {
    with_a_call_in_flight(|mcp| {
        mcp.close();
        let (status, took) = mcp.ended();
        assert!(status.success() && took < SOON, "{status} {took:?}");
        let last = mcp.receive();
        assert_eq!(last["result"]["structuredContent"]["error"]["code"], "cancelled");
    });
}

#[test]
fn sigterm_and_sigint_end_it_within_a_second_with_a_call_in_flight() {
    for name in ["TERM", "INT"] {
        with_a_call_in_flight(|mcp| {
            mcp.signal(name);
            let (status, took) = mcp.ended();
            assert!(status.success() && took < SOON, "{name} {status} {took:?}");
        });
    }
}

#[test]
fn end_of_input_ends_an_idle_one_at_once() {
    let server = Server::start(releases().last().unwrap());
    let mut mcp = Mcp::on(&server, &[]);
    mcp.call("list_panes", json!({}));
    mcp.close();
    let (status, took) = mcp.ended();
    assert!(status.success() && took < Duration::from_millis(300), "{status} {took:?}");
    assert!(server.answers());
}

#[test]
fn a_malformed_line_gets_a_parse_error_and_the_next_an_answer() {
    let server = Server::start(releases().last().unwrap());
    let mut mcp = Mcp::on(&server, &[]);
    for line in ["{\"jsonrpc\":\"2.0\",\"id\":1,", "nonsense"] {
        mcp.send_raw(line);
        let message = mcp.receive();
        assert_eq!((&message["id"], &message["error"]["code"]), (&Value::Null, &json!(-32700)));
    }
    let initialize = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"}});
    let info = mcp.request("initialize", initialize)["serverInfo"].clone();
    assert_eq!(info, json!({"name": "muxwire", "version": env!("CARGO_PKG_VERSION")}));
    mcp.call("list_panes", json!({}));
}
