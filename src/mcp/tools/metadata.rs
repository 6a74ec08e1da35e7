//! Tools that query the server's metadata.

use super::super::answer::Answer;
use super::super::arguments::Arguments;
use super::super::call::Call;
use super::super::catalogue::{Bound, Effect, Tool, Toolset};
use super::super::failure::{Code, Failure};
use super::super::metadata::{PAGE_DEFAULT, PAGE_LIMIT, Query, of_criteria};
use super::super::schema::{Rule, Schema};
use crate::query::{Criteria, Entity};

/// The kinds that can be asked for.
const ENTITIES: &[&str] = &["session", "window", "pane", "window_link", "client"];

pub(crate) const TOOLS: &[Tool] = &[Tool {
    name: "tmux_snapshot",
    toolset: Toolset::Inspect,
    title: "Query metadata",
    description: "Sessions, windows, panes, window links or clients of one instant, filtered by criteria, in pages with refs. Give entity, or the cursor of a next page alone.",
    effect: Effect::Reads,
    bound: Bound::Deadline,
    input: || {
        Schema::object()
            .choice("entity", "What to list", ENTITIES)
            .open_object(
                "criteria",
                "{profile: \"libtmux-ruby.where\", version: 1, entity, where}; tmux_capabilities has its schema",
            )
            .integer("limit", "Items a page", 1..=PAGE_LIMIT)
            .default_to(PAGE_DEFAULT)
            .text("cursor", "next_cursor of the page before; no other argument with it")
            .rule(Rule::ExactlyOne(&["entity", "cursor"]))
            .rule(Rule::AtMostOne(&["criteria", "cursor"]))
            .rule(Rule::AtMostOne(&["limit", "cursor"]))
    },
    output: Some(|| {
        Schema::object()
            .flag("ok", "Whether it succeeded")
            .required()
            .open_object(
                "data",
                "capture_id, server_identity, entity, items [{kind, fields, ref}], coverage, interval, truncated, next_cursor",
            )
            .open_object("error", "What failed")
    }),
    run: |call, arguments| Box::pin(tmux_snapshot(call, arguments)),
}];

async fn tmux_snapshot(call: &Call, arguments: Arguments) -> Result<Answer, Failure> {
    let within = |page: Answer| page.within(call.context.options.max_response_bytes);
    if let Some(cursor) = arguments.text("cursor") {
        let (capture, position) = call.kept(cursor)?;
        return capture.next_page(position, within);
    }
    let entity = arguments.text("entity").and_then(Entity::named);
    let entity = entity.ok_or_else(|| Failure::invalid("Give entity or cursor."))?;
    let criteria = arguments.raw("criteria").map(|raw| Criteria::from_json(raw.as_bytes()));
    let criteria = criteria.transpose().map_err(of_criteria)?;
    if criteria.as_ref().is_some_and(|criteria| criteria.entity() != entity) {
        let message = "The entity of criteria is not the call's; give the same in both.";
        return Err(Failure::new(Code::InvalidFilter, message));
    }
    let limit = arguments.count("limit").unwrap_or(PAGE_DEFAULT);
    call.first_page(Query { entity, criteria, limit }, None, within).await
}
