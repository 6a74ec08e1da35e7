//! Tools that tell what was written since a pane was last read.

use super::super::answer::Answer;
use super::super::arguments::{Arguments, Target};
use super::super::binding::{Place, Reference};
use super::super::call::Call;
use super::super::catalogue::{Bound, Effect, Tool, Toolset};
use super::super::failure::Failure;
use super::super::page_cursor::{Form, PageCursor};
use super::super::places::{Kept, page_cursor, stale};
use super::super::reach::{Seen, missing};
use super::super::schema::{Rule, Schema};
use super::panes::LINES;
use super::topology::{find_session, find_window};
use crate::capture::{Delta, Kind, Observation, Observed, PaneChange, Scope, SinceOptions};
use crate::client::fresh_bits;
use crate::model::{PaneId, Text, WindowId};
use crate::{Delivery, ErrorKind};
use serde::Serialize;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How many bytes of lines may be asked for.
const BYTES: RangeInclusive<i64> = 1..=10_000_000;
/// How many bytes of lines are given unless told.
const DEFAULT_BYTES: usize = 128_000;
/// How many lines of one pane are given among many.
const LINES_EACH: usize = 200;
/// How long a wait for changes may be, in seconds.
const LONGEST_WAIT: f64 = 120.0;
/// How long is waited between two looks while nothing has changed, at least.
const LOOK_AGAIN: Duration = Duration::from_millis(40);
/// How many times as long as the look took, so that a wait costs the server a small part of its time.
const REST: u32 = 10;

pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "capture_since",
        toolset: Toolset::Inspect,
        title: "Read on in a pane",
        description: "What was written in a pane since a cursor of capture_since, capture_pane or snapshot_pane: each finished line once, or lines_missed with the reason and the screen. Without a cursor: the screen and a cursor.",
        effect: Effect::Reads,
        bound: Bound::Deadline,
        input: || {
            Schema::object()
                .text("cursor", "Cursor of the read before, unchanged")
                .pane_id()
                .session_id()
                .text("session_name", "Exact session name; reads its active pane")
                .window_id()
                .reference(&["pane", "session", "window", "window_link"])
                .text("socket_name", "Checked against the endpoint's socket; never chooses another")
                .integer("max_lines", "Keep at most this many, the newest; null for all", LINES)
                .default_to(500)
                .nullable()
                .integer(
                    "max_bytes",
                    "Keep at most this many bytes, the newest; null for all",
                    BYTES,
                )
                .default_to(DEFAULT_BYTES)
                .nullable()
                .choice(
                    "view",
                    "lines (default): what was written; screen: a splice of the screen's rows",
                    &["lines", "screen"],
                )
                .rule(Rule::AtMostOne(&[
                    "pane_id",
                    "session_id",
                    "session_name",
                    "window_id",
                    "ref",
                ]))
        },
        output: Some(|| {
            Schema::object()
                .flag("ok", "Whether it succeeded")
                .required()
                .text("pane_id", "The pane")
                .text("cursor", "Where the next call reads on")
                .texts("lines", "Lines written, oldest first", usize::MAX)
                .flag("unfinished", "The cursor stands on the pane's last line")
                .flag("lines_missed", "Whether lines may be lost; lines is then the screen")
                .text("missed_reason", "Why")
                .flag("truncated", "Whether the limits cut something off")
                .integer("truncated_lines", "How many lines", 0..=i64::MAX)
                .integer("truncated_bytes", "How many bytes", 0..=i64::MAX)
                .integer("replaced_bytes", "Invalid bytes replaced", 0..=i64::MAX)
                .number("elapsed_seconds", "How long the call took", 0.0..=f64::MAX)
                .flag("alternate_on", "A full-screen program shows its own screen")
                .open_object("splice", "{start, delete, rows}: for view screen")
                .flag("reset", "The splice is the whole screen: for view screen")
                .open_object("error", "What failed")
        }),
        run: |call, arguments| Box::pin(capture_since(call, arguments)),
    },
    Tool {
        name: "observe",
        toolset: Toolset::Inspect,
        title: "What changed in all panes",
        description: "Every pane of the server or of a session that changed since the cursor, with the lines written; can wait for a change. Without a cursor all panes are new.",
        effect: Effect::Reads,
        bound: Bound::Itself,
        input: || {
            Schema::object()
                .text("cursor", "Cursor of the observe before; no session with it")
                .session_id()
                .reference(&["session"])
                .number("timeout", "Seconds to wait for a change", 0.0..=LONGEST_WAIT)
                .default_to(0)
                .rule(Rule::AtMostOne(&["cursor", "session_id", "ref"]))
        },
        output: None,
        run: |call, arguments| Box::pin(observe(call, arguments)),
    },
];

async fn capture_since(call: &Call, arguments: Arguments) -> Result<Answer, Failure> {
    let started = Instant::now();
    check_socket_name(call, &arguments)?;
    let earlier = arguments.text("cursor").map(|cursor| call.baseline(cursor)).transpose()?;
    let named = named_pane(call, &arguments).await?;
    let target = match (&earlier, named) {
        (Some(earlier), Some(named)) if earlier.pane() != named.id => {
            let message =
                "The cursor is of another pane than the one named; leave one of them out.";
            return Err(Failure::invalid(message));
        }
        (_, Some(named)) => named,
        (Some(earlier), None) => Target { id: earlier.pane(), reference: None },
        (None, None) => return Err(Failure::invalid("Give a cursor or a pane.")),
    };
    let kind = match arguments.text("view") {
        Some("screen") => Kind::Screen,
        _ => Kind::Lines,
    };
    let (max_lines, max_bytes) = (arguments.count("max_lines"), arguments.count("max_bytes"));
    let options = SinceOptions { kind, max_lines, max_bytes };
    let gone = || {
        stale("The cursor is of a tmux server that is gone; list again and read the pane without a cursor.")
            .delivery(Delivery::Observed)
    };
    let seen = call.since(target, earlier.as_ref(), &options).await?;
    let restarted = seen.is_none();
    let seen = match (seen, named) {
        (Some(seen), _) => seen,
        // Named as well, so that it is known which pane is meant on the server that is there now.
        (None, Some(named)) => call.since(named, None, &options).await?.ok_or_else(gone)?,
        (None, None) => return Err(gone()),
    };
    let delta = seen.what;
    if earlier.is_none() && delta.pane.dead {
        let message = "The pane is dead and there is no cursor to read on from; capture_pane and snapshot_pane read what it shows.";
        return Err(Failure::invalid(message).delivery(Delivery::Observed));
    }
    let missed = match delta.missed {
        _ if restarted => Some("server_restarted"),
        missed => missed.map(|missed| missed.as_str()),
    };
    let answer = Answer::new()
        .serialized("pane_id", &delta.pane.id)?
        .field("cursor", call.remember(&delta.view));
    let is_cut = delta.truncated_lines > 0 || delta.truncated_bytes > 0;
    let mut answer = answer
        .field("lines", delta.lines)
        .field("unfinished", delta.unfinished)
        .field("lines_missed", missed.is_some())
        .field("truncated", is_cut)
        .field("truncated_lines", delta.truncated_lines)
        .field("truncated_bytes", delta.truncated_bytes)
        .field("elapsed_seconds", started.elapsed().as_secs_f64())
        .field("alternate_on", delta.pane.alternate_on);
    if let Some(reason) = missed {
        answer = answer.field("missed_reason", reason);
    }
    if delta.replaced_bytes > 0 {
        answer = answer.field("replaced_bytes", delta.replaced_bytes);
    }
    let Some(screen) = delta.screen else {
        return Ok(answer.terminal(
            "lines",
            &[
                "pane_id",
                "cursor",
                "unfinished",
                "lines_missed",
                "missed_reason",
                "truncated",
                "truncated_lines",
                "truncated_bytes",
                "replaced_bytes",
                "alternate_on",
            ],
        ));
    };
    let splice = Splice { start: screen.start, delete: screen.delete, rows: &screen.rows };
    Ok(answer.serialized("splice", &splice)?.field("reset", screen.reset))
}

/// A splice as it is answered.
#[derive(Debug, Serialize)]
struct Splice<'a> {
    start: usize,
    delete: usize,
    rows: &'a [String],
}

/// A socket that is named must be the endpoint's own.
fn check_socket_name(call: &Call, arguments: &Arguments) -> Result<(), Failure> {
    let Some(name) = arguments.text("socket_name") else { return Ok(()) };
    let tmux = call.tmux()?;
    if tmux.path().file_name().is_some_and(|bound| bound == name) {
        return Ok(());
    }
    Err(Failure::invalid(
        "The socket_name is not that of this endpoint, which is fixed; leave it out.",
    ))
}

/// The pane that is named: itself, or the active one of a window or of a session's current window.
async fn named_pane(call: &Call, arguments: &Arguments) -> Result<Option<Target<PaneId>>, Failure> {
    if let Some(pane) = arguments.pane() {
        return Ok(Some(pane));
    }
    let name = arguments.text("session_name");
    let (session, window) = (arguments.session(), arguments.window());
    if name.is_none() && session.is_none() && window.is_none() {
        return Ok(None);
    }
    let Seen { what: snapshot, generation } = call.snapshot(arguments.reference()).await?;
    let current = |window: Option<WindowId>| window.and_then(|window| snapshot.active_pane(window));
    let pane = if let Some(window) = window {
        current(Some(find_window(&snapshot, window)?.id))
    } else {
        let session = match (session, name) {
            (Some(session), _) => find_session(&snapshot, session)?.id,
            (None, name) => {
                let named = snapshot.session_named(name.unwrap_or_default());
                named.ok_or_else(|| missing("session", None))?.id
            }
        };
        current(snapshot.current_window(session).map(|window| window.id))
    };
    let pane = pane.ok_or_else(|| missing("pane", None))?;
    let reference = Reference { generation, place: Place::Pane(pane.id) };
    Ok(Some(Target { id: pane.id, reference: Some(reference) }))
}

async fn observe(call: &Call, arguments: Arguments) -> Result<Answer, Failure> {
    let until =
        Instant::now() + Duration::from_secs_f64(arguments.number("timeout").unwrap_or(0.0));
    let earlier = match arguments.text("cursor") {
        Some(cursor) => Some(observation(call, cursor)?),
        None => None,
    };
    let scope = match (&earlier, arguments.session()) {
        (Some((_, earlier)), _) => earlier.scope(),
        (None, Some(session)) => Scope::Session(session.id),
        (None, None) => Scope::Server,
    };
    let begun = call.begin(arguments.reference())?;
    let options = SinceOptions {
        max_lines: Some(LINES_EACH),
        max_bytes: Some(DEFAULT_BYTES),
        ..Default::default()
    };
    let mut before = earlier.as_ref().map(|(_, earlier)| Arc::clone(earlier));
    let observed = loop {
        // A wait is bounded by itself, each look by the request deadline.
        let begun_look = Instant::now();
        let tmux = call.fresh_tmux()?;
        let observed = tmux.observe(scope, before.as_deref(), &options).await;
        let observed = observed.map_err(|error| match error.kind() {
            ErrorKind::NotFound => missing("session", arguments.reference()),
            ErrorKind::ServerChanged => {
                stale("The cursor is of a tmux server that is gone; observe without a cursor.")
                    .delivery(error.delivery())
            }
            _ => call.explain(error),
        })?;
        let observed = call.seen(observed.server.identity, &begun, observed)?.what;
        let looked = Instant::now();
        if !observed.panes.is_empty() || looked >= until {
            break observed;
        }
        before = Some(Arc::new(observed.observation));
        let rest = LOOK_AGAIN.max((looked - begun_look) * REST);
        tokio::time::sleep_until(until.min(looked + rest)).await;
    };
    let looks = earlier.map_or(0, |(cursor, _)| cursor.position.saturating_add(1));
    let cursor = PageCursor { form: Form::Observation, capture: fresh_bits()?, position: looks };
    let Observed { panes, unchanged, observation, .. } = observed;
    let bytes = observation.held_bytes();
    call.keep(cursor.capture, Kept::Observation(Arc::new(observation)), bytes)?;
    let mut rows: Vec<Change> = panes.into_iter().map(Change::new).collect();
    let mut most = DEFAULT_BYTES;
    loop {
        let truncated = share(&mut rows, most);
        let answer = Answer::new()
            .field("cursor", cursor.to_string())
            .serialized("panes", &rows)?
            .field("unchanged", unchanged)
            .field("truncated", truncated);
        // How much the lines take in an answer depends on what is in them.
        match answer.within(call.context.options.max_response_bytes) {
            Err(_) if most > 0 => most /= 2,
            answer => return answer,
        }
    }
}

/// What a cursor of observe leads to.
fn observation(call: &Call, text: &str) -> Result<(PageCursor, Arc<Observation>), Failure> {
    let cursor = page_cursor(text, Form::Observation, "cursor of observe")?;
    let kept = call.recall(cursor.capture, |kept| match kept {
        Kept::Observation(observation) => Some(Arc::clone(observation)),
        _ => None,
    });
    let lost = "What the cursor stands for is not kept: it is too old, made room for others, or is of another run. Observe without a cursor.";
    Ok((cursor, kept.ok_or_else(|| stale(lost))?))
}

/// A pane of which there is something to tell.
#[derive(Debug, Serialize)]
struct Change {
    pane_id: PaneId,
    state: &'static str,
    #[serde(flatten)]
    delta: Option<ChangeDelta>,
}

/// What was written in it.
#[derive(Debug, Serialize)]
struct ChangeDelta {
    window_id: WindowId,
    session_name: Text,
    lines: Vec<String>,
    lines_missed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    missed_reason: Option<&'static str>,
    truncated_lines: usize,
    truncated_bytes: usize,
    #[serde(skip_serializing_if = "is_zero")]
    replaced_bytes: usize,
    alternate_on: bool,
    dead: bool,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Change {
    fn new((pane_id, change): (PaneId, PaneChange)) -> Self {
        let (state, delta) = match change {
            PaneChange::New(delta) => ("new", Some(delta)),
            PaneChange::Changed(delta) => ("changed", Some(delta)),
            PaneChange::Gone => ("gone", None),
        };
        Self { pane_id, state, delta: delta.map(|delta| ChangeDelta::new(*delta)) }
    }
}

impl ChangeDelta {
    fn new(delta: Delta) -> Self {
        Self {
            window_id: delta.pane.window_id,
            session_name: delta.pane.session_name,
            lines: delta.lines,
            lines_missed: delta.missed.is_some(),
            missed_reason: delta.missed.map(|missed| missed.as_str()),
            truncated_lines: delta.truncated_lines,
            truncated_bytes: delta.truncated_bytes,
            replaced_bytes: delta.replaced_bytes,
            alternate_on: delta.pane.alternate_on,
            dead: delta.pane.dead,
        }
    }
}

/// Cuts the oldest lines of the panes that have most, so that all together hold no more than `most` bytes, an end of
/// line included; whether anything is cut, by this or before.
fn share(rows: &mut [Change], most: usize) -> bool {
    let mut deltas: Vec<&mut ChangeDelta> =
        rows.iter_mut().filter_map(|row| row.delta.as_mut()).collect();
    let weight = |line: &String| line.len() + 1;
    let size = |delta: &ChangeDelta| delta.lines.iter().map(weight).sum::<usize>();
    deltas.sort_by_key(|delta| size(delta));
    let (mut room, count) = (most, deltas.len());
    for (index, delta) in deltas.iter_mut().enumerate() {
        let share = room / (count - index);
        let mut bytes = size(delta);
        let cut = delta.lines.iter().take_while(|line| {
            let goes = bytes > share;
            bytes -= if goes { weight(line) } else { 0 };
            goes
        });
        let cut = cut.count();
        delta.truncated_lines += cut;
        delta.truncated_bytes += delta.lines.drain(..cut).map(|line| line.len()).sum::<usize>();
        room -= bytes;
    }
    deltas.iter().any(|delta| delta.truncated_lines > 0 || delta.truncated_bytes > 0)
}
