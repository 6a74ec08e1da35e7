//! A tool that finds text in panes.

use super::super::answer::Answer;
use super::super::arguments::Arguments;
use super::super::call::Call;
use super::super::catalogue::{Bound, Effect, Tool, Toolset};
use super::super::failure::Failure;
use super::super::page_cursor::{Form, PageCursor};
use super::super::places::{Kept, page_cursor, stale};
use super::super::reach::missing;
use super::super::schema::{Rule, Schema};
use crate::ErrorKind;
use crate::capture::{Match, Matches, Pattern, Scope, SearchOptions};
use crate::client::fresh_bits;
use crate::model::{PaneId, Text, WindowId};
use serde::Serialize;
use std::sync::Arc;

/// How many matches a page holds unless told, and at most.
const LIMIT: usize = 50;
const MAX_LIMIT: i64 = 200;
/// How many matches are found at most.
pub(super) const MAX_MATCHES: usize = 5_000;

pub(crate) const TOOLS: &[Tool] = &[Tool {
    name: "search_panes",
    toolset: Toolset::Inspect,
    title: "Search panes",
    description: "Lines of many panes that hold a text or match a regex, wrapped lines joined, on the screens or with history. line_number counts from 1 in what capture_pane gives with the same history.",
    effect: Effect::Reads,
    bound: Bound::Deadline,
    input: || {
        Schema::object()
            .text(
                "pattern",
                "What to find: literal text, or with regex=true a regular expression for one line",
            )
            .required()
            .flag("regex", "The pattern is a regular expression")
            .flag("match_case", "Upper and lower case differ")
            .flag("history", "Also what has scrolled off")
            .session_id()
            .window_id()
            .reference(&["session", "window", "window_link"])
            .integer("limit", "Matches a page", 1..=MAX_LIMIT)
            .default_to(LIMIT)
            .text("cursor", "next_cursor of the page before; pattern and limit alone with it")
            .rule(Rule::AtMostOne(&["session_id", "window_id", "ref", "cursor"]))
            .rule(Rule::AtMostOne(&["regex", "cursor"]))
            .rule(Rule::AtMostOne(&["match_case", "cursor"]))
            .rule(Rule::AtMostOne(&["history", "cursor"]))
    },
    output: None,
    run: |call, arguments| Box::pin(search_panes(call, arguments)),
}];

/// What was found, kept for further pages.
#[derive(Debug)]
pub(crate) struct Found {
    pattern: String,
    matches: Matches,
}

/// A match as it is answered.
#[derive(Debug, Serialize)]
struct Row<'a> {
    pane_id: PaneId,
    session_name: &'a Text,
    window_id: WindowId,
    line_number: usize,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_bytes: Option<usize>,
}

async fn search_panes(call: &Call, arguments: Arguments) -> Result<Answer, Failure> {
    let text = arguments.text("pattern").unwrap_or_default();
    let limit = arguments.count("limit").unwrap_or(LIMIT);
    if let Some(cursor) = arguments.text("cursor") {
        let cursor = page_cursor(cursor, Form::Matches, "next_cursor of search_panes")?;
        let found = call.recall(cursor.capture, |kept| match kept {
            Kept::Matches(found) => Some(Arc::clone(found)),
            _ => None,
        });
        let lost = "What the cursor stands for is not kept: it is too old, made room for others, or is of another run. Search again.";
        let found = found.ok_or_else(|| stale(lost))?;
        if found.pattern != text {
            return Err(Failure::invalid(
                "The cursor is of a search for another pattern; give the same.",
            ));
        }
        return page(&found, cursor.capture, cursor.position as usize, limit)
            .map(|(answer, _)| answer);
    }
    let match_case = arguments.flag("match_case");
    let pattern = if arguments.flag("regex") {
        Pattern::regex(text, match_case)
    } else {
        Pattern::literal(text, match_case)
    };
    let pattern = pattern.map_err(|error| Failure::invalid(format!("In pattern: {error}.")))?;
    let (session, window) = (arguments.session(), arguments.window());
    let scope = match (session, window) {
        (Some(session), _) => Scope::Session(session.id),
        (None, Some(window)) => Scope::Window(window.id),
        (None, None) => Scope::Server,
    };
    let options = SearchOptions {
        scope,
        history: arguments.flag("history"),
        most: MAX_MATCHES,
        ..SearchOptions::default()
    };
    let begun = call.begin(arguments.reference())?;
    let matches =
        call.tmux()?.search(&pattern, &options).await.map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                let kind = if session.is_some() { "session" } else { "window" };
                missing(kind, arguments.reference())
            }
            _ => call.explain(error),
        })?;
    let matches = call.seen(matches.server.identity, &begun, matches)?.what;
    let (id, found) = (fresh_bits()?, Arc::new(Found { pattern: text.to_owned(), matches }));
    let (answer, is_last) = page(&found, id, 0, limit)?;
    if !is_last {
        let lines = found.matches.matches.iter();
        let bytes =
            lines.map(|it| size_of::<Match>() + it.line.len() + it.session_name.as_bytes().len());
        let bytes = bytes.sum();
        call.keep(id, Kept::Matches(found), bytes)?;
    }
    Ok(answer)
}

/// The matches from `position` on, and whether there are no more.
fn page(found: &Found, id: u128, position: usize, limit: usize) -> Result<(Answer, bool), Failure> {
    let Matches { matches, panes_searched, truncated, .. } = &found.matches;
    let rest = matches.get(position..).unwrap_or_default();
    let rows = rest.iter().take(limit).map(|it| Row {
        pane_id: it.pane,
        session_name: &it.session_name,
        window_id: it.window,
        line_number: it.line_number,
        text: &it.line,
        cut_bytes: Some(it.cut_bytes).filter(|bytes| *bytes > 0),
    });
    let rows: Vec<_> = rows.collect();
    let is_last = rest.len() <= limit;
    let answer = Answer::new()
        .serialized("matches", &rows)?
        .field("panes_searched", *panes_searched)
        .field("truncated", *truncated || !is_last);
    let next = u32::try_from(position + rows.len()).ok().filter(|_| !is_last);
    let Some(position) = next else { return Ok((answer, is_last)) };
    let cursor = PageCursor { form: Form::Matches, capture: id, position };
    Ok((answer.field("next_cursor", cursor.to_string()), is_last))
}
