//! What changed in many panes.

use std::collections::BTreeMap;

use super::ask::{Above, Ask};
use super::glance::{Glance, Scope, at_once, glance};
use super::since::{Delta, Reading, SinceOptions};
use super::view::{Baseline, Signs, now};
use crate::client::{Error, ErrorKind, Server, ServerIdentity, Tmux};
use crate::model::PaneId;

/// What a reader remembers of many panes at once. Cheap to clone as far as its views are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    scope: Scope,
    server: ServerIdentity,
    panes: BTreeMap<PaneId, Known>,
}

/// What is remembered of a pane.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    view: Baseline,
    dead: bool,
}

impl Known {
    /// Whether there is something to tell.
    fn differs(&self, delta: &Delta) -> bool {
        !delta.lines.is_empty()
            || delta.missed.is_some()
            || delta.pane.dead != self.dead
            || delta.pane.alternate_on != self.view.is_alternate()
    }
}

/// What became of a pane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaneChange {
    /// It was not there before, or another program was started in it: its screen.
    New(Box<Delta>),
    /// Something was written in it, its program ended, or the alternate screen came or went.
    Changed(Box<Delta>),
    /// It is gone, or in another session or window.
    Gone,
}

/// What became of panes since they were observed before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Observed {
    /// The server that was seen.
    pub server: Server,
    /// The panes of which there is something to tell, by id.
    pub panes: Vec<(PaneId, PaneChange)>,
    /// How many others there are.
    pub unchanged: usize,
    /// Where the next call goes on.
    pub observation: Observation,
}

impl Observation {
    /// Which panes are observed.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The server that was observed.
    #[must_use]
    pub fn server(&self) -> ServerIdentity {
        self.server
    }

    /// About how many bytes it holds in memory.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let views = self.panes.values().map(|known| match &known.view {
            Baseline::View(view) => view.held_bytes(),
            Baseline::Cursor(_) => 0,
        });
        size_of::<Self>() + views.sum::<usize>() + self.panes.len() * 2 * size_of::<Known>()
    }

    fn unchanged(&self, pane: &Glance) -> Option<&Known> {
        let known = self.panes.get(&pane.id)?;
        // Signs of now, whenever they were made: the time is that of the earlier look.
        let signs = Signs::of(pane, i64::MAX)?;
        (known.view.signs() == Some(&signs)).then_some(known)
    }

    fn known(&self, pane: &Glance) -> Option<&Known> {
        self.panes.get(&pane.id).filter(|known| known.view.is_of(pane.pid, pane.dead))
    }
}

impl Tmux {
    /// Tells which panes have changed since `earlier`, and what was written in them; without an
    /// earlier observation all are new. One round trip for the state of all panes, and one for
    /// every dozen that may have changed, fewer where much is to be read. The state is of one
    /// instant; what each pane shows may be of a later one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) when there is no such session or window;
    /// [`ErrorKind::ServerChanged`](crate::ErrorKind::ServerChanged) when another server answers
    /// than was observed; and the errors of [`run`](Tmux::run).
    ///
    /// # Cancel safety
    ///
    /// Changes nothing; dropped, the connection is closed and `earlier` is as good as before.
    pub async fn observe(
        &self,
        scope: Scope,
        earlier: Option<&Observation>,
        options: &SinceOptions,
    ) -> Result<Observed, Error> {
        let due = self.due();
        let (server, panes) = glance(&self.until(due), scope).await?;
        let earlier = earlier.filter(|earlier| earlier.scope == scope);
        if earlier.is_some_and(|earlier| earlier.server != server.identity) {
            return Err(Error::server_changed());
        }
        let mut known = BTreeMap::new();
        let mut readings = Vec::new();
        for pane in &panes {
            match earlier.and_then(|earlier| earlier.unchanged(pane)) {
                Some(same) => {
                    known.insert(pane.id, same.clone());
                }
                None => {
                    let was = earlier.and_then(|earlier| earlier.known(pane));
                    let view = was.map(|was| &was.view);
                    readings.push((pane, Reading::new(pane.id, view, options, Some(&server))?));
                }
            }
        }
        let mut changes = Vec::new();
        let mut unchanged = known.len();
        while !readings.is_empty() {
            // Those with the signs of before are left out already; a command that fails inside a
            // condition would not stop the list of a pane that has ended meanwhile.
            let ask = |reading: &Reading<'_>| Ask { unless: None, ..reading.ask() };
            let asks = readings.iter().map(|(_, reading)| ask(reading));
            let mut asks: Vec<Ask<'_>> = asks.collect();
            let sizes = readings.iter().zip(&asks).map(|((pane, _), ask)| size(pane, ask));
            asks.truncate(at_once(sizes));
            let rest = readings.split_off(asks.len());
            let (batch, asked) = (std::mem::replace(&mut readings, rest), now());
            let replies = Ask::run_all(&self.until(due), &asks).await?;
            for (((pane, mut reading), ask), reply) in batch.into_iter().zip(&asks).zip(replies) {
                let Some(reply) = reply else { continue };
                if reply.server.identity != server.identity {
                    return Err(Error::server_changed());
                }
                let mut delta = match reading.take(ask, &reply, asked) {
                    Ok(Some(delta)) => delta,
                    Ok(None) => {
                        readings.push((pane, reading));
                        continue;
                    }
                    // Another program was started in it just now.
                    Err(error) if error.kind() == ErrorKind::StaleCursor => {
                        let fresh = Reading::new(pane.id, None, options, Some(&server))?;
                        readings.push((pane, fresh));
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                // By itself a pane names the session that was used last.
                delta.pane.session_id = pane.session_id;
                delta.pane.session_name.clone_from(&pane.session_name);
                let view = Baseline::View(delta.view.clone());
                known.insert(pane.id, Known { view, dead: delta.pane.dead });
                let was = earlier.and_then(|earlier| earlier.known(pane));
                match was.filter(|_| reading.reads_on()) {
                    None => changes.push((pane.id, PaneChange::New(Box::new(delta)))),
                    Some(was) if was.differs(&delta) => {
                        changes.push((pane.id, PaneChange::Changed(Box::new(delta))));
                    }
                    Some(_) => unchanged += 1,
                }
            }
        }
        let before = earlier.into_iter().flat_map(|earlier| earlier.panes.keys());
        let gone = before.filter(|pane| !known.contains_key(pane));
        changes.extend(gone.map(|pane| (*pane, PaneChange::Gone)));
        changes.sort_by_key(|(pane, _)| *pane);
        let observation = Observation { scope, server: server.identity, panes: known };
        Ok(Observed { server, panes: changes, unchanged, observation })
    }
}

/// About how many bytes of text are asked of a pane.
fn size(pane: &Glance, ask: &Ask<'_>) -> usize {
    let above = match ask.place {
        None | Some((Above::Nothing, _)) => 0,
        Some((Above::Row(row), _)) => pane.history_size.saturating_sub(row),
        Some((Above::Around(_) | Above::Everything, _)) => pane.history_size,
    };
    pane.bytes(above)
}
