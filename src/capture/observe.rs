//! What changed in many panes.

use std::collections::BTreeMap;

use super::ask::Ask;
use super::glance::{Glance, Scope, glance};
use super::since::{Delta, Reading, SinceOptions};
use super::view::{Baseline, Signs, now};
use crate::client::{Error, ErrorKind, Server, ServerIdentity, Tmux};
use crate::model::PaneId;

/// What a reader remembers of many panes at once. Cheap to clone as far as its views are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    scope: Scope,
    server: ServerIdentity,
    views: BTreeMap<PaneId, Baseline>,
}

/// What became of a pane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaneChange {
    /// It was not there before, or another program was started in it: its screen.
    New(Box<Delta>),
    /// Something was written in it.
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
        let views = self.views.values().map(|view| match view {
            Baseline::View(view) => view.held_bytes(),
            Baseline::Cursor(_) => 0,
        });
        size_of::<Self>() + views.sum::<usize>() + self.views.len() * 2 * size_of::<Baseline>()
    }

    fn unchanged(&self, pane: &Glance) -> Option<&Baseline> {
        let view = self.views.get(&pane.id)?;
        // Signs of now, whenever they were made: the time is that of the earlier look.
        let signs = Signs::of(pane, i64::MAX)?;
        (view.signs() == Some(&signs)).then_some(view)
    }
}

impl Tmux {
    /// Tells which panes have changed since `earlier`, and what was written in them; without an
    /// earlier observation all are new. One round trip for the state of all panes, and one for
    /// every dozen that may have changed. The state is of one instant; what each pane shows may be of
    /// a later one.
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
        let known = |pane: &Glance| {
            let view = earlier?.views.get(&pane.id)?;
            view.is_of(pane.pid, pane.dead).then_some(view)
        };
        let mut views = BTreeMap::new();
        let mut readings = Vec::new();
        for pane in &panes {
            match earlier.and_then(|earlier| earlier.unchanged(pane)) {
                Some(view) => {
                    views.insert(pane.id, view.clone());
                }
                None => readings.push(Reading::new(pane.id, known(pane), options, Some(&server))?),
            }
        }
        let mut changes = Vec::new();
        let mut unchanged = views.len();
        while !readings.is_empty() {
            let batch = std::mem::take(&mut readings);
            let (asks, asked): (Vec<Ask<'_>>, _) =
                (batch.iter().map(Reading::ask).collect(), now());
            let replies = Ask::run_all(&self.until(due), &asks).await?;
            for ((mut reading, ask), reply) in batch.into_iter().zip(&asks).zip(replies) {
                let Some(reply) = reply else { continue };
                let pane = reply.pane.id;
                let delta = match reading.take(ask, &reply, asked) {
                    Ok(Some(delta)) => delta,
                    Ok(None) => {
                        readings.push(reading);
                        continue;
                    }
                    // Another program was started in it just now.
                    Err(error) if error.kind() == ErrorKind::StaleCursor => {
                        readings.push(Reading::new(pane, None, options, Some(&server))?);
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                views.insert(pane, Baseline::View(delta.view.clone()));
                let is_new = !reading.reads_on();
                let says_something = !delta.lines.is_empty() || delta.missed.is_some();
                if is_new {
                    changes.push((pane, PaneChange::New(Box::new(delta))));
                } else if says_something {
                    changes.push((pane, PaneChange::Changed(Box::new(delta))));
                } else {
                    unchanged += 1;
                }
            }
        }
        let before = earlier.into_iter().flat_map(|earlier| earlier.views.keys());
        let gone = before.filter(|pane| !views.contains_key(pane));
        changes.extend(gone.map(|pane| (*pane, PaneChange::Gone)));
        changes.sort_by_key(|(pane, _)| *pane);
        let observation = Observation { scope, server: server.identity, views };
        Ok(Observed { server, panes: changes, unchanged, observation })
    }
}
