//! The metadata of a server as pages: acquired once, kept for a while, cut without asking tmux again.

use super::answer::Answer;
use super::binding::{Generation, Place, Reference};
use super::call::Call;
use super::failure::{Code, Delivery, Failure};
use super::page_cursor::{Form, PageCursor};
use super::places::{Kept, page_cursor, stale};
use super::reach::Seen;
use super::retention::{Kind, MAX_BYTES};
use super::views::ServerView;
use crate::client::fresh_bits;
use crate::model::Snapshot;
use crate::query::{Criteria, CriteriaError, Entity, Item};
use serde::Serialize;
use std::sync::{Arc, PoisonError};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// How many items a page holds at most.
pub(crate) const PAGE_LIMIT: i64 = 200;
/// How many items a page holds unless told.
pub(crate) const PAGE_DEFAULT: usize = 50;
/// How many things of a kind are acquired at most.
pub(crate) const MAX_ROWS: usize = 4_096;
/// How many bytes are acquired at most.
pub(crate) const MAX_ACQUIRED: usize = 1024 * 1024;
/// How many criteria are asked at the same time.
pub(crate) const MAX_QUESTIONS: usize = 4;
/// How long a field may be.
pub(crate) const MAX_FIELD: usize = 65_536;

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Query {
    /// The kind of the items.
    pub(crate) entity: Entity,
    /// What they must be; all of the kind without it.
    pub(crate) criteria: Option<Criteria>,
    /// How many a page holds.
    pub(crate) limit: usize,
}

/// When something was observed, in seconds since this process began to serve.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Interval {
    clock: &'static str,
    started: f64,
    finished: f64,
    /// How many instants it shows.
    reads: u32,
}

impl Interval {
    /// From `started` to now.
    pub(crate) fn since(started: Instant, epoch: Instant) -> Self {
        let seconds = |at: Instant| at.saturating_duration_since(epoch).as_secs_f64();
        let (started, finished) = (seconds(started), seconds(Instant::now()));
        Self { clock: "monotonic_seconds", started, finished, reads: 1 }
    }
}

/// A server's metadata at one instant, and what of it was asked for.
#[derive(Debug)]
pub(crate) struct Capture {
    id: u128,
    generation: Generation,
    snapshot: Snapshot,
    entity: Entity,
    /// Where the items stand in the snapshot's list.
    positions: Vec<usize>,
    limit: usize,
    interval: Interval,
}

/// A page as it is answered.
#[derive(Debug, Serialize)]
struct Page<'a> {
    capture_id: String,
    server_identity: ServerView<'a>,
    entity: &'static str,
    items: Vec<Row<'a>>,
    coverage: Coverage,
    interval: Interval,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize)]
struct Row<'a> {
    kind: &'static str,
    fields: Item<'a>,
    #[serde(rename = "ref")]
    reference: Option<Reference>,
}

/// Nothing is ever acquired in part.
#[derive(Debug, Serialize)]
struct Coverage {
    session: &'static str,
    window: &'static str,
    pane: &'static str,
    window_link: &'static str,
    client: &'static str,
}

const COMPLETE: Coverage = Coverage {
    session: "complete",
    window: "complete",
    pane: "complete",
    window_link: "complete",
    client: "complete",
};

impl Capture {
    /// The generation of the server that was seen.
    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    /// A page after the first, from `position` on: what `send` makes of it, with fewer items where it refuses them as
    /// too large.
    pub(crate) fn next_page<T>(
        &self,
        position: usize,
        send: impl Fn(Answer) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut count = self.limit;
        loop {
            match send(self.page(position, count)?) {
                // One item is too large by itself. Nothing was asked of tmux.
                Err(failure) if count == 1 => return Err(failure.delivery(Delivery::NotSent)),
                Err(_) => count = count.div_ceil(2),
                page => return page,
            }
        }
    }

    /// The page with `count` items from `position` on; fewer at the end.
    fn page(&self, position: usize, count: usize) -> Result<Answer, Failure> {
        let end = self.positions.len().min(position.saturating_add(count));
        let positions = self.positions.get(position..end).unwrap_or_default();
        let items = positions.iter().filter_map(|at| self.entity.item(&self.snapshot, *at));
        let truncated = end < self.positions.len();
        let next = u32::try_from(end).ok().filter(|_| truncated);
        let page = Page {
            capture_id: format!("{:032x}", self.id),
            server_identity: ServerView::new(&self.snapshot.server, self.generation),
            entity: self.entity.name(),
            items: items.map(|item| self.row(item)).collect(),
            coverage: COMPLETE,
            interval: self.interval,
            truncated,
            next_cursor: next.map(|position| {
                PageCursor { form: Form::Metadata, capture: self.id, position }.to_string()
            }),
        };
        Answer::new().serialized("data", &page)
    }

    fn row<'a>(&self, item: Item<'a>) -> Row<'a> {
        let place = match item {
            Item::Session(session) => Some(Place::Session(session.id)),
            Item::Window(window) => Some(Place::Window(window.id)),
            Item::Pane(pane) => Some(Place::Pane(pane.id)),
            Item::WindowLink(link) => {
                Some(Place::Link(link.window_id, link.session_id, link.index))
            }
            Item::Client(_) => None,
        };
        let reference = place.map(|place| Reference { generation: self.generation, place });
        Row { kind: self.entity.name(), fields: item, reference }
    }
}

impl Call {
    /// Acquires the server's metadata, gives what `send` makes of the first page and keeps the capture. `generation`
    /// is demanded of the server.
    ///
    /// # Errors
    /// `capacity` past the limits, or when `send` refuses the page as too large; then nothing is kept and nothing that
    /// was kept goes.
    pub(crate) async fn first_page<T>(
        &self,
        query: Query,
        generation: Option<Generation>,
        send: impl FnOnce(Answer) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        // Taken before anything is read, so that what waits for its turn holds nothing.
        let turn = match query.criteria {
            Some(criteria) => Some((criteria, self.turn().await?)),
            None => None,
        };
        let started = Instant::now();
        let Seen { what: snapshot, generation } = self.metadata(generation).await?;
        let interval = Interval::since(started, self.context.epoch);
        let bytes = weigh(&snapshot)?;
        let (snapshot, positions) = match turn {
            Some((criteria, turn)) => ask(criteria, snapshot, turn).await?,
            None => {
                let all = (0..query.entity.count(&snapshot)).collect();
                (snapshot, all)
            }
        };
        let bytes = bytes + positions.capacity() * size_of::<usize>();
        let (id, entity, limit) = (fresh_bits()?, query.entity, query.limit);
        let capture = Capture { id, generation, snapshot, entity, positions, limit, interval };
        let page = send(capture.page(0, limit)?)?;
        let mut captures = self.context.captures.lock().unwrap_or_else(PoisonError::into_inner);
        captures
            .keep(id, Kind::Metadata, Kept::Metadata(Arc::new(capture)), bytes, Instant::now())
            .map_err(|_| over("bytes in one capture", MAX_BYTES))?;
        Ok(page)
    }

    /// Waits until criteria may be asked.
    async fn turn(&self) -> Result<OwnedSemaphorePermit, Failure> {
        let questions = Arc::clone(&self.context.questions);
        questions.acquire_owned().await.map_err(|_| ending())
    }

    /// A capture that is kept, and where in it the page of a cursor starts. Asks nothing of tmux.
    ///
    /// # Errors
    /// `invalid_input` for a malformed cursor, `stale_cursor` for one that leads nowhere.
    pub(crate) fn kept(&self, cursor: &str) -> Result<(Arc<Capture>, usize), Failure> {
        let PageCursor { capture, position, .. } =
            page_cursor(cursor, Form::Metadata, "next_cursor of tmux_snapshot")?;
        let mut captures = self.context.captures.lock().unwrap_or_else(PoisonError::into_inner);
        let capture = match captures.get(capture, Instant::now()) {
            Some(Kept::Metadata(capture)) => Some(Arc::clone(capture)),
            _ => None,
        };
        match (capture, usize::try_from(position)) {
            (None, _) => Err(stale(
                "The cursor's capture is not kept: it is too old, made room for others, or is of another run. Query again.",
            )),
            (Some(capture), Ok(at)) if (1..capture.positions.len()).contains(&at) => {
                Ok((capture, at))
            }
            (Some(_), _) => Err(stale("The cursor is outside its result. Query again.")),
        }
    }
}

/// Asks criteria on a thread of their own: hard ones take long enough to hold up everybody else. Whoever no longer waits
/// for the answer, the turn is held until the thread is done.
async fn ask(
    criteria: Criteria,
    snapshot: Snapshot,
    turn: OwnedSemaphorePermit,
) -> Result<(Snapshot, Vec<usize>), Failure> {
    let asked = tokio::task::spawn_blocking(move || {
        let positions = criteria.positions(&snapshot);
        drop(turn);
        (snapshot, positions)
    });
    let (snapshot, positions) = asked.await.map_err(|_| ending())?;
    Ok((snapshot, positions.map_err(of_criteria)?))
}

fn ending() -> Failure {
    Failure::new(Code::Cancelled, "This MCP server is ending.")
}

/// What criteria that are refused mean to an agent.
pub(crate) fn of_criteria(error: CriteriaError) -> Failure {
    let message = format!("In criteria: {error}.");
    match error {
        CriteriaError::Undecodable { .. } => {
            Failure::new(Code::DecodeError, message).delivery(Delivery::Observed)
        }
        CriteriaError::Effort { .. } => {
            Failure::new(Code::Capacity, message).delivery(Delivery::Observed)
        }
        _ => Failure::new(Code::InvalidFilter, message),
    }
}

pub(crate) fn over(what: &str, limit: usize) -> Failure {
    let message = format!(
        "The server's metadata has more than {limit} {what}; list one session or window instead."
    );
    Failure::new(Code::Capacity, message).delivery(Delivery::Observed)
}

/// About how many bytes a snapshot holds in memory; refuses one that is past the limits.
fn weigh(snapshot: &Snapshot) -> Result<usize, Failure> {
    for entity in Entity::ALL {
        if entity.count(snapshot) > MAX_ROWS {
            return Err(over(&format!("{}s", entity.name()), MAX_ROWS));
        }
        for text in entity.items(snapshot).flat_map(|item| item.texts()) {
            if text.len() > MAX_FIELD {
                return Err(over("bytes in one field", MAX_FIELD));
            }
        }
    }
    Ok(snapshot.held_bytes())
}
