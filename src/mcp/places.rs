//! Where readers stand in panes: cursors, and what is remembered behind them.

use super::arguments::Target;
use super::call::Call;
use super::failure::{Code, Failure};
use super::metadata::Capture;
use super::page_cursor::{Form, PageCursor};
use super::reach::{Seen, missing};
use super::retention::Kind;
use super::tools::Found;
use crate::ErrorKind;
use crate::capture::{Baseline, Cursor, Delta, Observation, SinceOptions, View};
use crate::model::PaneId;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, PoisonError};
use tokio::time::Instant;

/// What is kept for a while.
#[derive(Debug)]
pub(crate) enum Kept {
    /// Metadata of a server.
    Metadata(Arc<Capture>),
    /// A place in a pane.
    Place(View),
    /// Panes as they were observed.
    Observation(Arc<Observation>),
    /// What was found in panes.
    Matches(Arc<Found>),
}

impl Call {
    /// Remembers a place; gives its cursor.
    pub(crate) fn remember(&self, view: &View) -> String {
        let cursor = view.cursor();
        // If it is larger than all that may be kept, the cursor has to do.
        let _ = self.keep(key(&cursor), Kept::Place(view.clone()), view.held_bytes());
        cursor.to_string()
    }

    /// Keeps something that is to be read on.
    ///
    /// # Errors
    /// `capacity` if it is larger than all that may be kept.
    pub(crate) fn keep(&self, id: u128, what: Kept, bytes: usize) -> Result<(), Failure> {
        let kind = match what {
            Kept::Metadata(_) => Kind::Metadata,
            Kept::Place(_) => Kind::Places,
            Kept::Observation(_) | Kept::Matches(_) => Kind::Findings,
        };
        let mut kept = self.context.captures.lock().unwrap_or_else(PoisonError::into_inner);
        kept.keep(id, kind, what, bytes, Instant::now()).map_err(|_| {
            let message = "It is more than can be remembered; ask for fewer panes.";
            Failure::new(Code::Capacity, message).delivery(crate::Delivery::Observed)
        })
    }

    /// What is kept under an id, as far as `take` wants it.
    pub(crate) fn recall<T>(&self, id: u128, take: impl FnOnce(&Kept) -> Option<T>) -> Option<T> {
        let mut kept = self.context.captures.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(id, Instant::now()).and_then(take)
    }

    /// What a pane's cursor leads to: what is remembered, else what the cursor itself knows.
    ///
    /// # Errors
    /// `invalid_input` for a malformed cursor, `stale_cursor` for one of another kind.
    pub(crate) fn baseline(&self, text: &str) -> Result<Baseline, Failure> {
        let cursor: Cursor = text.parse().map_err(|_| match text.parse::<PageCursor>() {
            Ok(_) => stale("The cursor is not one of a pane; take cursor of capture_since, capture_pane or snapshot_pane."),
            Err(_) => malformed("cursor"),
        })?;
        let view = self.recall(key(&cursor), |kept| match kept {
            Kept::Place(view) if view.cursor() == cursor => Some(view.clone()),
            _ => None,
        });
        Ok(view.map_or(Baseline::Cursor(cursor), Baseline::View))
    }

    /// What was written in a pane since `earlier`; `None` if that is of a server that is gone.
    pub(crate) async fn since(
        &self,
        target: Target<PaneId>,
        earlier: Option<&Baseline>,
        options: &SinceOptions,
    ) -> Result<Option<Seen<Delta>>, Failure> {
        let begun = self.begin(target.reference)?;
        match self.tmux()?.since(target.id, earlier, options).await {
            Ok(delta) => self.seen(delta.server.identity, &begun, delta).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(missing("pane", target.reference))
            }
            Err(error) if error.kind() == ErrorKind::ServerChanged => Ok(None),
            Err(error) => Err(self.explain(error)),
        }
    }
}

/// A cursor of something that is kept. `source` says where to take one from.
///
/// # Errors
/// `invalid_input` for a malformed cursor, `stale_cursor` for one of another kind.
pub(crate) fn page_cursor(text: &str, form: Form, source: &str) -> Result<PageCursor, Failure> {
    match text.parse::<PageCursor>() {
        Ok(cursor) if cursor.form == form => Ok(cursor),
        Err(_) if text.parse::<Cursor>().is_err() => Err(malformed(source)),
        _ => Err(stale(&format!("The cursor is one of another tool; take {source}."))),
    }
}

fn malformed(source: &str) -> Failure {
    Failure::invalid(format!(
        "The cursor is malformed; pass on {source} exactly as it was answered."
    ))
}

pub(crate) fn stale(message: &str) -> Failure {
    Failure::new(Code::StaleCursor, message)
}

/// What a cursor's view is kept under. Two cursors of one key are told apart by themselves.
fn key(cursor: &Cursor) -> u128 {
    let mut hasher = DefaultHasher::new();
    cursor.hash(&mut hasher);
    hasher.finish().into()
}
