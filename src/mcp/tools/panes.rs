//! Tools that read what panes show.

use super::super::answer::Answer;
use super::super::arguments::Arguments;
use super::super::call::Call;
use super::super::catalogue::{Bound, Effect, Tool, Toolset};
use super::super::failure::Failure;
use super::super::schema::Schema;
use super::super::views::ScreenPane;
use crate::capture::{CaptureOptions, Screen};
use std::ops::RangeInclusive;

/// How many lines may be asked for.
pub(super) const LINES: RangeInclusive<i64> = 1..=100_000;
/// Rows from the start of any history to the end of any screen.
const ROWS: RangeInclusive<i64> = -1_000_000_000..=1_000_000_000;

pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "capture_pane",
        toolset: Toolset::Inspect,
        title: "Read a pane",
        description: "The text of a pane, wrapped lines joined, newest lines kept, and a cursor for capture_since.",
        effect: Effect::Reads,
        bound: Bound::Deadline,
        input: || {
            Schema::object()
                .one_pane()
                .flag("history", "Also what has scrolled off")
                .integer(
                    "start",
                    "First row: 0 is the top of the screen, negative is history",
                    ROWS,
                )
                .integer("end", "Last row, counted likewise", ROWS)
                .integer("max_lines", "Keep at most this many, the newest", LINES)
                .default_to(200)
                .flag("styles", "Keep colours and attributes as SGR sequences")
        },
        output: None,
        run: |call, arguments| Box::pin(capture_pane(call, arguments)),
    },
    Tool {
        name: "snapshot_pane",
        toolset: Toolset::Inspect,
        title: "Pane facts and screen",
        description: "A pane's facts and its text at one instant.",
        effect: Effect::Reads,
        bound: Bound::Deadline,
        input: || {
            Schema::object()
                .one_pane()
                .flag("history", "Also what has scrolled off")
                .integer("max_lines", "Keep at most this many, the newest", LINES)
                .default_to(200)
        },
        output: Some(|| {
            Schema::object()
                .flag("ok", "Whether it succeeded")
                .required()
                .open_object("pane", "The pane's facts")
                .texts("content", "Its lines", usize::MAX)
                .text("cursor", "Where capture_since reads on")
                .flag("truncated", "Whether lines were dropped")
                .integer("lines_dropped", "How many", 0..=i64::MAX)
                .integer("replaced_bytes", "Invalid bytes replaced", 0..=i64::MAX)
                .open_object("error", "What failed")
        }),
        run: |call, arguments| Box::pin(snapshot_pane(call, arguments)),
    },
];

async fn capture_pane(call: &Call, arguments: Arguments) -> Result<Answer, Failure> {
    let screen = read(call, &arguments).await?;
    let alternate_on = screen.pane.alternate_on;
    let answer = Answer::new().serialized("pane_id", &screen.pane.id)?;
    let answer = content(call, answer, screen).field("alternate_on", alternate_on);
    Ok(answer.terminal(
        "content",
        &["pane_id", "cursor", "truncated", "lines_dropped", "replaced_bytes", "alternate_on"],
    ))
}

async fn snapshot_pane(call: &Call, arguments: Arguments) -> Result<Answer, Failure> {
    let screen = read(call, &arguments).await?;
    let pane = ScreenPane::new(&screen.pane, call.caller_on(&screen.server.identity));
    let answer = Answer::new().serialized("pane", &pane)?;
    Ok(content(call, answer, screen)
        .terminal("content", &["pane", "cursor", "truncated", "lines_dropped", "replaced_bytes"]))
}

/// Reads the pane that the arguments name, as they say.
async fn read(call: &Call, arguments: &Arguments) -> Result<Screen, Failure> {
    let target = arguments.pane().ok_or_else(|| Failure::invalid("Give a pane."))?;
    let row = |name| arguments.integer(name).map(i32::try_from).transpose();
    let outside = |_| Failure::invalid("The rows start and end are out of range.");
    let options = CaptureOptions {
        history: arguments.flag("history"),
        start: row("start").map_err(outside)?,
        end: row("end").map_err(outside)?,
        styles: arguments.flag("styles"),
        max_lines: arguments.count("max_lines"),
        view: true,
    };
    Ok(call.screen(target, &options).await?.what)
}

/// Adds the lines of a screen and what is to be known of them.
fn content(call: &Call, answer: Answer, screen: Screen) -> Answer {
    let cursor = screen.view.map(|view| call.remember(&view));
    let answer = answer
        .field("content", screen.lines)
        .field("cursor", cursor)
        .field("truncated", screen.lines_dropped > 0)
        .field("lines_dropped", screen.lines_dropped);
    match screen.replaced_bytes {
        0 => answer,
        bytes => answer.field("replaced_bytes", bytes),
    }
}
