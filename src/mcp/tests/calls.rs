//! Tool calls: arguments, selection, cancellation, deadlines, size.

use super::*;
use std::time::Instant;

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_error() {
    let mut server = Harness::start();
    server.call(1, "no_such_tool", json!({})).await;
    assert_eq!(server.next().await["error"]["code"], -32602);
}

#[tokio::test]
async fn an_unknown_argument_is_refused_by_name_without_values() {
    let mut server = Harness::start();
    server.call(1, "echo", json!({"cuont": "secret"})).await;
    let message = server.next().await;
    assert!(!message.to_string().contains("secret"));
    let result = &message["result"];
    assert_eq!(result["isError"], true);
    let error = &result["structuredContent"]["error"];
    assert_eq!((&error["code"], &error["delivery"]), (&json!("invalid_input"), &json!("not_sent")));
    assert!(error["message"].as_str().unwrap().contains("\"cuont\""));
    assert_eq!(result["content"], json!([{"type": "text", "text": error["message"]}]));
}

#[tokio::test]
async fn numeric_strings_are_numbers_and_other_strings_no_booleans() {
    let mut server = Harness::start();
    assert_eq!(server.answer("echo", json!({"count": "7"})).await["count"], 7);
    assert_eq!(server.answer("echo", json!({"loud": true})).await["loud"], true);
    for arguments in [
        json!({"loud": "false"}),
        json!({"loud": 0}),
        json!({"count": "7x"}),
        json!({"count": 101}),
    ] {
        let body = server.answer("echo", arguments.clone()).await;
        assert_eq!(body["error"]["code"], "invalid_input", "{arguments}");
    }
    for absent in [json!({"name": "echo"}), json!({"name": "echo", "arguments": null})] {
        server.request(1, "tools/call", absent).await;
        assert_eq!(server.next().await["result"]["structuredContent"]["ok"], true);
    }
    server.request(1, "tools/call", json!({"name": "echo", "arguments": [1]})).await;
    assert_eq!(
        server.next().await["result"]["structuredContent"]["error"]["code"],
        "invalid_input"
    );
}

#[tokio::test]
async fn doubled_arguments_are_seen() {
    let mut server = Harness::start();
    server
        .send_raw(
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\
              \"arguments\":{\"count\":1,\"c\\u006funt\":2}}}\n",
        )
        .await;
    let body = server.next().await["result"]["structuredContent"].clone();
    assert_eq!(body["error"]["message"], "The argument count is given twice.");
}

#[tokio::test]
async fn ping_and_other_calls_pass_a_slow_one() {
    let mut server = Harness::start();
    server.call(1, "wait", json!({})).await;
    server.call(2, "overrun", json!({})).await;
    let begun = Instant::now();
    server.request(3, "ping", json!({})).await;
    assert_eq!(server.next().await["id"], 3);
    assert_eq!(server.answer("echo", json!({})).await["ok"], true);
    assert!(begun.elapsed() < Duration::from_millis(100));
}

#[tokio::test]
async fn a_cancelled_call_gets_no_answer_and_its_body_is_dropped() {
    let mut server = Harness::start();
    server.call(1, "wait", json!({"mark": "cancelled"})).await;
    server.request(2, "ping", json!({})).await;
    server.next().await;
    assert!(Mark::is_set("cancelled"));
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    server.silence().await;
    assert!(!Mark::is_set("cancelled"));
    // Its id is free again.
    server.request(1, "ping", json!({})).await;
    assert_eq!(server.next().await["id"], 1);
    // A stranger's id does no harm.
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}})).await;
    assert_eq!(server.answer("echo", json!({})).await["ok"], true);
}

#[tokio::test]
async fn progress_comes_only_when_asked_for() {
    let mut server = Harness::start();
    server.call(1, "wait", json!({})).await;
    server.silence().await;
    server
        .request(
            2,
            "tools/call",
            json!({"name": "wait", "arguments": {}, "_meta": {"progressToken": "p"}}),
        )
        .await;
    let message = server.next().await;
    assert_eq!(message["method"], "notifications/progress");
    assert_eq!(
        message["params"],
        json!({"progressToken": "p", "progress": 1.0, "message": "waiting"})
    );
}

#[tokio::test]
async fn a_body_that_overruns_the_deadline_is_cut_off_and_says_that_tmux_may_have_acted() {
    let mut server = Harness::with(&Flags { timeout: flag("0.1"), ..Flags::default() });
    let body = server.answer("overrun", json!({})).await;
    assert_eq!(
        (&body["error"]["code"], &body["error"]["delivery"], &body["error"]["retryable"]),
        (&json!("deadline"), &json!("possibly_sent"), &json!(false))
    );
    // A tool that bounds itself is not cut off.
    server.call(1, "wait", json!({})).await;
    tokio::time::sleep(Duration::from_millis(250)).await;
    server.silence().await;
}

#[tokio::test]
async fn an_answer_over_the_limit_is_capacity() {
    let mut server = Harness::with(&Flags { max_response_bytes: flag("4096"), ..Flags::default() });
    assert_eq!(server.answer("echo", json!({"text": "x".repeat(1000)})).await["ok"], true);
    let body = server.answer("echo", json!({"text": "x".repeat(3000)})).await;
    assert_eq!((&body["ok"], &body["error"]["code"]), (&json!(false), &json!("capacity")));
}

#[tokio::test]
async fn what_is_excluded_is_neither_listed_nor_callable() {
    let flags = Flags { toolsets: flag("inspect,teardown"), ..Flags::default() };
    let mut server = Harness::with(&flags);
    assert_eq!(server.tool_names().await, ["echo", "short_sleep", "destroy"]);
    for tool in ["wait", "overrun"] {
        let body = server.answer(tool, json!({})).await;
        assert_eq!(
            (&body["error"]["code"], &body["error"]["delivery"]),
            (&json!("policy_denied"), &json!("not_sent"))
        );
    }
    assert_eq!(server.answer("destroy", json!({})).await["error"]["code"], "refused");
    let mut none = Harness::with(&Flags { toolsets: flag(""), ..Flags::default() });
    assert!(none.tool_names().await.is_empty());
}

#[tokio::test]
async fn teardown_is_offered_by_default_only_on_a_server_that_is_ours() {
    let all = ["echo", "wait", "overrun", "short_sleep", "destroy"];
    let private = Flags::default();
    let chosen = Flags { socket_name: flag("work"), ..Flags::default() };
    for (flags, ownership, count) in [
        (&private, Ownership::Ours, 5),
        (&private, Ownership::NotOurs, 4),
        (&chosen, Ownership::Ours, 4),
    ] {
        let mut server = Harness::with_tools(flags, &[TOOLS], ownership);
        assert_eq!(server.tool_names().await, all[..count]);
        let refused = server.answer("destroy", json!({})).await["error"]["code"] == "policy_denied";
        assert_eq!(refused, count == 4);
    }
}

#[tokio::test]
async fn a_start_is_outlived_by_no_deadline_and_lost_with_no_call() {
    let flags = Flags { timeout: flag("0.1"), ..Flags::default() };
    let mut server = Harness::prepared(&flags, &[TOOLS], ours_later);
    let begun = Instant::now();
    let body = server.answer("echo", json!({"text": "x"})).await;
    assert_eq!(body["error"]["code"], "deadline");
    assert_eq!(body["error"]["delivery"], "not_sent");
    assert!(begun.elapsed() < Duration::from_millis(250), "it waited for the start");
    tokio::time::sleep(Duration::from_millis(400)).await;
    let body = server.answer("destroy", json!({})).await;
    assert_ne!(body["error"]["code"], "policy_denied", "the server that was started is ours");
}

#[tokio::test]
async fn what_agents_are_told_names_no_tool_that_is_not_there() {
    let mut server =
        Harness::with_tools(&Flags::default(), super::super::tools::GROUPS, Ownership::Ours);
    server.request(1, "tools/list", json!({})).await;
    let tools = server.next().await["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let mut texts = vec![include_str!("../instructions.txt").to_owned()];
    texts.extend(tools.iter().map(|tool| tool["description"].as_str().unwrap().to_owned()));
    let known = ["stale_target", "not_sent", "possibly_sent", "lines_missed", "line_number"];
    for text in texts {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        for word in words.filter(|word| word.contains('_')) {
            assert!(names.contains(&word) || known.contains(&word), "{word} in {text:?}");
        }
    }
}

#[tokio::test]
async fn the_standard_tools_are_listed_in_few_bytes() {
    let mut server =
        Harness::with_tools(&Flags::default(), super::super::tools::GROUPS, Ownership::NotOurs);
    server.request(1, "tools/list", json!({})).await;
    let message = server.next().await;
    assert!(message.to_string().len() <= 30_000);
    let tools = message["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "list_panes"));
}
