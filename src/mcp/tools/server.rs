//! Tools about the server as a whole.

use super::super::answer::Answer;
use super::super::arguments::Arguments;
use super::super::call::Call;
use super::super::catalogue::{Bound, Effect, Tool, Toolset};
use super::super::failure::Failure;
use super::super::inflight::MAX_REQUESTS;
use super::super::metadata::{self, Interval};
use super::super::reach::Seen;
use super::super::retention;
use super::super::schema::Schema;
use super::super::transport::MAX_LINE;
use super::super::uri::MAX_URI;
use super::super::views::ServerView;
use super::search;
use crate::capture::MAX_PATTERN;
use crate::query;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "tmux_capabilities",
        toolset: Toolset::Inspect,
        title: "Capabilities",
        description: "What this endpoint can do: server identity, enabled tools, limits, and the JSON Schema of tmux_snapshot criteria.",
        effect: Effect::Reads,
        bound: Bound::Deadline,
        input: Schema::object,
        output: None,
        run: |call, arguments| Box::pin(tmux_capabilities(call, arguments)),
    },
    Tool {
        name: "get_server_info",
        toolset: Toolset::Inspect,
        title: "Server facts",
        description: "The tmux server: version, pid, start time, socket, and how many sessions, windows, panes and clients it has.",
        effect: Effect::Reads,
        bound: Bound::Deadline,
        input: Schema::object,
        output: None,
        run: |call, arguments| Box::pin(get_server_info(call, arguments)),
    },
];

async fn tmux_capabilities(call: &Call, _: Arguments) -> Result<Answer, Failure> {
    let started = Instant::now();
    let Seen { what: server, generation } = call.server().await?;
    let context = &call.context;
    let observation = Interval::since(started, context.epoch);
    let mut tools = Vec::new();
    for entry in context.catalogue.iter() {
        if context.enables(entry.tool).await {
            tools.push(entry.tool.name);
        }
    }
    Ok(Answer::data(json!({
        "endpoint": context.options.endpoint,
        "server_identity": ServerView::new(&server, generation),
        "enabled_tools": tools,
        "criteria_schema": query::json_schema(),
        "limits": {
            "max_captures": retention::MAX_CAPTURES,
            "max_capture_bytes": retention::MAX_BYTES,
            "capture_ttl_seconds": retention::TTL.as_secs(),
            "max_pane_places": retention::MAX_PLACES,
            "max_pane_findings": retention::MAX_FINDINGS,
            "pane_place_ttl_seconds": retention::PANES_TTL.as_secs(),
            "max_pattern_bytes": MAX_PATTERN,
            "max_matches": search::MAX_MATCHES,
            "request_timeout_seconds": seconds(context.options.timeout),
            "max_response_bytes": context.options.max_response_bytes,
            "page_limit": metadata::PAGE_LIMIT,
            "page_default": metadata::PAGE_DEFAULT,
            "max_rows_per_kind": metadata::MAX_ROWS,
            "max_acquired_bytes": metadata::MAX_ACQUIRED,
            "max_field_bytes": metadata::MAX_FIELD,
            "max_criteria_bytes": query::MAX_DOCUMENT,
            "max_criteria_nesting": query::MAX_NESTING,
            "max_criteria_depth": query::MAX_DEPTH,
            "max_criteria_nodes": query::MAX_NODES,
            "max_criteria_text_bytes": query::MAX_TEXT,
            "max_criteria_texts_bytes": query::MAX_TEXTS,
            "max_criteria_steps": query::MAX_STEPS,
            "max_uri_bytes": MAX_URI,
            "max_request_bytes": MAX_LINE,
            "max_unanswered_requests": MAX_REQUESTS,
        },
        "owns_daemon": context.owns(&server.identity),
        "live": context.options.live,
        "socket_provenance": context.socket_provenance(),
        "observation": observation,
    })))
}

/// Seconds as a whole number where they are one.
fn seconds(duration: Duration) -> Value {
    if duration.subsec_nanos() == 0 {
        duration.as_secs().into()
    } else {
        duration.as_secs_f64().into()
    }
}

async fn get_server_info(call: &Call, _: Arguments) -> Result<Answer, Failure> {
    let seen = call.snapshot(None).await?;
    let snapshot = &seen.what;
    let identity = snapshot.server.identity;
    let answer = Answer::new()
        .field("endpoint", call.context.options.endpoint.as_str())
        .field("socket_path", call.tmux()?.path().to_string_lossy())
        .field("generation", seen.generation.to_string())
        .field("tmux_version", snapshot.server.version())
        .field("pid", identity.pid)
        .field("start_time", identity.start_time)
        .field("owns_daemon", call.context.owns(&identity))
        .field("sessions", snapshot.sessions.len())
        .field("windows", snapshot.windows.len())
        .field("panes", snapshot.panes.len())
        .field("clients", snapshot.clients.len());
    let caller = call.caller_on(&identity).map(|pane| pane.to_string());
    Ok(answer.field("caller_pane_id", caller))
}
