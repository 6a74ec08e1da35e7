//! The whole server in one process, over pipes in memory, with tools made for the tests.

mod calls;
mod ending;
mod pages;
mod protocol;
#[path = "../../../tests/support/mod.rs"]
mod support;

use super::answer::Answer;
use super::call::{Context, Ownership, Prepare};
use super::catalogue::{Bound, Catalogue, Effect, Tool, Toolset};
use super::failure::{Code, Delivery, Failure};
use super::options::{Flags, Options};
use super::schema::Schema;
use super::serve_on;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The marks of the `wait` bodies that are at work.
static AT_WORK: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps a mark in [`AT_WORK`] while it lives.
struct Mark(String);

impl Mark {
    fn set(mark: &str) -> Self {
        AT_WORK.lock().unwrap().push(mark.to_owned());
        Self(mark.to_owned())
    }

    fn is_set(mark: &str) -> bool {
        AT_WORK.lock().unwrap().iter().any(|other| other == mark)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        AT_WORK.lock().unwrap().retain(|other| *other != self.0);
    }
}

/// Tools for the tests.
static TOOLS: &[Tool] = &[
    Tool {
        name: "echo",
        toolset: Toolset::Inspect,
        title: "Echo",
        description: "Answers what it is given.",
        effect: Effect::Reads,
        bound: Bound::Deadline,
        input: || {
            Schema::object()
                .integer("count", "A count", 0..=100)
                .flag("loud", "Loudly")
                .text("text", "A text")
        },
        output: None,
        run: |_, arguments| {
            Box::pin(async move {
                Ok(Answer::new()
                    .field("count", arguments.integer("count"))
                    .field("loud", arguments.flag("loud"))
                    .field("text", arguments.text("text")))
            })
        },
    },
    Tool {
        name: "wait",
        toolset: Toolset::Manage,
        title: "Wait",
        description: "Waits until it is cancelled.",
        effect: Effect::Changes,
        bound: Bound::Itself,
        input: || Schema::object().text("mark", "A mark to set meanwhile"),
        output: None,
        run: |call, arguments| {
            Box::pin(async move {
                let _mark = Mark::set(arguments.text("mark").unwrap_or_default());
                call.report(1.0, None, "waiting").await;
                std::future::pending().await
            })
        },
    },
    Tool {
        name: "overrun",
        toolset: Toolset::Execute,
        title: "Overrun",
        description: "Never keeps the deadline.",
        effect: Effect::Runs,
        bound: Bound::Deadline,
        input: Schema::object,
        output: None,
        run: |_, _| Box::pin(std::future::pending()),
    },
    Tool {
        name: "short_sleep",
        toolset: Toolset::Inspect,
        title: "Short sleep",
        description: "Answers after a tenth of a second.",
        effect: Effect::Reads,
        bound: Bound::Deadline,
        input: Schema::object,
        output: None,
        run: |_, _| {
            Box::pin(async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok(Answer::new())
            })
        },
    },
    Tool {
        name: "destroy",
        toolset: Toolset::Teardown,
        title: "Destroy",
        description: "Is refused by a pretended tmux.",
        effect: Effect::Destroys,
        bound: Bound::Deadline,
        input: Schema::object,
        output: None,
        run: |_, _| {
            Box::pin(async {
                Err(Failure::new(Code::Refused, "tmux said: no").delivery(Delivery::Observed))
            })
        },
    },
];

/// A server at work and the client's ends of its streams.
struct Harness {
    input: Option<DuplexStream>,
    output: BufReader<DuplexStream>,
    terminate: Option<oneshot::Sender<()>>,
    server: JoinHandle<()>,
}

impl Harness {
    /// With the tools of the tests and default options.
    fn start() -> Self {
        Self::with(&Flags::default())
    }

    fn with(flags: &Flags) -> Self {
        Self::with_tools(flags, &[TOOLS], Ownership::NotOurs)
    }

    fn with_tools(flags: &Flags, groups: &[&'static [Tool]], ownership: Ownership) -> Self {
        let prepare: Prepare = match ownership {
            Ownership::Ours => ours,
            Ownership::NotOurs => not_ours,
        };
        Self::prepared(flags, groups, prepare)
    }

    fn prepared(flags: &Flags, groups: &[&'static [Tool]], prepare: Prepare) -> Self {
        let options = Options::resolve(flags, |_| None).unwrap();
        let context = Arc::new(Context::new(options, Catalogue::of(groups), prepare));
        let (input, server_input) = tokio::io::duplex(64 * 1024);
        let (server_output, output) = tokio::io::duplex(64 * 1024);
        let (terminate, told) = oneshot::channel::<()>();
        let server = tokio::spawn(serve_on(context, server_input, server_output, async {
            let _ = told.await;
        }));
        Self {
            input: Some(input),
            output: BufReader::new(output),
            terminate: Some(terminate),
            server,
        }
    }

    async fn send_raw(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).await.unwrap();
    }

    async fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes()).await;
    }

    /// The next message; none at the end of the stream.
    async fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.output.read_line(&mut line);
        match tokio::time::timeout(Duration::from_secs(5), read)
            .await
            .expect("an answer in time")
            .unwrap()
        {
            0 => None,
            _ => Some(serde_json::from_str(&line).expect("stdout carries JSON-RPC only")),
        }
    }

    async fn next(&mut self) -> Value {
        self.receive().await.expect("one more message")
    }

    /// Asserts that nothing comes for a while.
    async fn silence(&mut self) {
        let mut line = String::new();
        let read = self.output.read_line(&mut line);
        if tokio::time::timeout(Duration::from_millis(50), read).await.is_ok() {
            panic!("unexpected: {line}");
        }
    }

    async fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}))
            .await;
    }

    async fn call(&mut self, id: impl Into<Value>, tool: &str, arguments: Value) {
        self.request(id, "tools/call", json!({"name": tool, "arguments": arguments})).await;
    }

    /// Calls a tool and returns its structured answer.
    async fn answer(&mut self, tool: &str, arguments: Value) -> Value {
        self.call("answer", tool, arguments).await;
        let message = self.next().await;
        assert_eq!(message["id"], "answer", "{message}");
        message["result"]["structuredContent"].clone()
    }

    /// The names that `tools/list` gives.
    async fn tool_names(&mut self) -> Vec<String> {
        self.request("list", "tools/list", json!({})).await;
        let message = self.next().await;
        let tools = message["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits for the server to end.
    async fn ended(self) {
        tokio::time::timeout(Duration::from_secs(5), self.server).await.expect("an end").unwrap();
    }
}

/// A start that finds a server of its own.
fn ours(_: &Context) -> Pin<Box<dyn Future<Output = Ownership> + Send + '_>> {
    Box::pin(std::future::ready(Ownership::Ours))
}

/// The same after a while.
fn ours_later(_: &Context) -> Pin<Box<dyn Future<Output = Ownership> + Send + '_>> {
    Box::pin(async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        Ownership::Ours
    })
}

/// A start that finds the server of somebody else.
fn not_ours(_: &Context) -> Pin<Box<dyn Future<Output = Ownership> + Send + '_>> {
    Box::pin(std::future::ready(Ownership::NotOurs))
}

/// The flag of one option.
fn flag(value: &str) -> Option<OsString> {
    Some(value.into())
}
