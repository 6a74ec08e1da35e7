//! Criteria asked of a snapshot.

use std::cell::{Cell, OnceCell};

use memchr::memmem;

use super::check::{Checked, Condition, Constant, Node, Related};
use super::entity::{Path, Relation, Value};
use super::tree::{Match, Order, Quantifier};
use super::{Criteria, CriteriaError, Item};
use crate::model::{Pane, SessionId, Snapshot, WindowId, WindowLink};

/// Most steps that one question may take, so that it ends within a second whatever it is and
/// whatever names a server holds: a comparison is one, and one more for each 32 bytes of text.
pub const MAX_STEPS: usize = 5_000_000;
/// Bytes of text that are compared in about the time of one comparison.
const BYTES_A_STEP: usize = 32;

impl Criteria {
    /// What of `snapshot` matches, in the snapshot's order.
    ///
    /// Each condition costs the same for each thing that it is asked of. Relations are followed
    /// without looking at anything else, and a filter on what they lead to is asked once of each
    /// thing: what it gave is remembered, for each filter in two bits for each thing of its kind.
    ///
    /// # Errors
    ///
    /// [`CriteriaError::Undecodable`] when the criteria name a text field, in a branch that is never
    /// taken too, that is not UTF-8 in some thing of that kind; [`CriteriaError::Effort`] when the
    /// answer takes more than 5 000 000 steps.
    pub fn select<'a>(&self, snapshot: &'a Snapshot) -> Result<Vec<Item<'a>>, CriteriaError> {
        let positions = self.positions(snapshot)?.into_iter();
        Ok(positions.filter_map(|position| self.entity.item(snapshot, position)).collect())
    }

    /// Where each match stands in its list of the snapshot, in ascending order.
    ///
    /// # Errors
    ///
    /// As [`select`](Self::select).
    pub fn positions(&self, snapshot: &Snapshot) -> Result<Vec<usize>, CriteriaError> {
        let Checked { node, texts, related } = &self.checked;
        for (entity, field) in texts {
            let mut texts = entity.items(snapshot).map(field.get);
            if texts.any(|text| matches!(text, Value::Text(text) if str::from_utf8(text).is_err()))
            {
                let (name, entity) = (field.name, entity.name());
                return Err(CriteriaError::Undecodable { name, entity });
            }
        }
        let graph = Graph::new(snapshot, *related);
        let mut positions = Vec::new();
        for (at, item) in self.entity.items(snapshot).enumerate() {
            let holds = graph.holds(node, item);
            if graph.left.get() == 0 {
                return Err(CriteriaError::Effort { limit: MAX_STEPS });
            }
            if holds {
                positions.push(at);
            }
        }
        Ok(positions)
    }
}

/// A snapshot with its relations at hand; things are named by their positions in its lists.
struct Graph<'a> {
    snapshot: &'a Snapshot,
    /// Panes by window, once they are needed.
    panes: OnceCell<Vec<(WindowId, usize)>>,
    /// Links by window, once they are needed.
    links: OnceCell<Vec<(WindowId, usize)>>,
    /// What filters on related things gave, by their number, once they are asked.
    known: Box<[OnceCell<Known>]>,
    /// Steps that may still be taken; at 0 whatever is answered is void.
    left: Cell<usize>,
}

/// What one filter gave for each thing of its kind, four to a byte: whether it is known, and what.
struct Known(Box<[Cell<u8>]>);

impl Known {
    fn nothing_of(count: usize) -> Self {
        Self(vec![Cell::new(0); count.div_ceil(4)].into())
    }

    fn get(&self, at: usize) -> Option<bool> {
        let bits = self.0.get(at / 4)?.get() >> (at % 4 * 2);
        (bits & 2 != 0).then_some(bits & 1 != 0)
    }

    fn set(&self, at: usize, holds: bool) {
        if let Some(four) = self.0.get(at / 4) {
            four.set(four.get() | (2 | u8::from(holds)) << (at % 4 * 2));
        }
    }
}

impl<'a> Graph<'a> {
    fn new(snapshot: &'a Snapshot, related: usize) -> Self {
        let known = (0..related).map(|_| OnceCell::new()).collect();
        let (panes, links) = (OnceCell::new(), OnceCell::new());
        Self { snapshot, panes, links, known, left: Cell::new(MAX_STEPS) }
    }

    /// Takes a step over this many bytes; `false` when none is left.
    fn step(&self, bytes: usize) -> bool {
        let left = self.left.get().saturating_sub(1 + bytes / BYTES_A_STEP);
        self.left.set(left);
        left > 0
    }

    fn holds(&self, node: &Node, row: Item<'a>) -> bool {
        if !self.step(0) {
            return false;
        }
        match node {
            Node::All(nodes) => nodes.iter().all(|node| self.holds(node, row)),
            Node::Any(nodes) => nodes.iter().any(|node| self.holds(node, row)),
            Node::Not(node) => !self.holds(node, row),
            Node::Field(field, condition) => self.passes(condition, (field.get)(row)),
            Node::Many(relation, quantifier, filter) => {
                let sought = *quantifier != Quantifier::Every;
                let found =
                    self.any(relation, row, |at| self.related(relation, filter, at) == sought);
                found == (*quantifier == Quantifier::Some)
            }
            Node::One(relation, Some(filter)) => {
                self.any(relation, row, |at| self.related(relation, filter, at))
            }
            Node::One(relation, None) => !self.any(relation, row, |_| true),
        }
    }

    /// Whether what `relation` leads to at this position is as `filter` says.
    fn related(&self, relation: &Relation, filter: &Related, at: usize) -> bool {
        let target = relation.target;
        let asked =
            || target.item(self.snapshot, at).is_some_and(|row| self.holds(&filter.node, row));
        if !self.step(0) {
            return false;
        }
        let Some(known) = self.known.get(filter.number) else { return asked() };
        let known = known.get_or_init(|| Known::nothing_of(target.count(self.snapshot)));
        known.get(at).unwrap_or_else(|| {
            let holds = asked();
            known.set(at, holds);
            holds
        })
    }

    /// Whether something that `relation` leads to from `row` is wanted.
    fn any(
        &self,
        relation: &Relation,
        row: Item<'a>,
        mut wanted: impl FnMut(usize) -> bool,
    ) -> bool {
        match (relation.path, row) {
            (Path::SessionWindows, Item::Session(session)) => self
                .links_of_session(session.id)
                .filter_map(|(_, link)| self.window(link.window_id))
                .any(wanted),
            (Path::SessionLinks, Item::Session(session)) => {
                self.links_of_session(session.id).any(|(at, _)| wanted(at))
            }
            (Path::SessionPanes, Item::Session(session)) => self
                .links_of_session(session.id)
                .flat_map(|(_, link)| self.panes_of_window(link.window_id))
                .any(wanted),
            (Path::SessionCurrentWindow, Item::Session(session)) => self
                .links_of_session(session.id)
                .find(|(_, link)| link.active)
                .and_then(|(_, link)| self.window(link.window_id))
                .is_some_and(wanted),
            (Path::WindowPanes, Item::Window(window)) => {
                self.panes_of_window(window.id).any(wanted)
            }
            (Path::WindowLinks, Item::Window(window)) => {
                self.links_of_window(window.id).any(wanted)
            }
            (Path::WindowActivePane, Item::Window(window)) => self
                .panes_of_window(window.id)
                .find(|at| self.snapshot.panes.get(*at).is_some_and(|pane| pane.active))
                .is_some_and(wanted),
            (Path::PaneWindow, Item::Pane(Pane { window_id, .. }))
            | (Path::LinkWindow, Item::WindowLink(WindowLink { window_id, .. })) => {
                self.window(*window_id).is_some_and(wanted)
            }
            (Path::LinkSession, Item::WindowLink(link)) => {
                self.session(link.session_id).is_some_and(wanted)
            }
            (Path::ClientSession, Item::Client(client)) => {
                client.session_id.and_then(|id| self.session(id)).is_some_and(wanted)
            }
            // A relation is only ever checked against the entity that has it.
            _ => false,
        }
    }

    fn passes(&self, condition: &Condition, value: Value<'_>) -> bool {
        let bytes = if let Value::Text(text) = value { text.len() } else { 0 };
        match condition {
            Condition::All(conditions) => {
                conditions.iter().all(|condition| self.passes(condition, value))
            }
            Condition::Not(condition) => !self.passes(condition, value),
            Condition::Equals(constant) => equals(constant, value),
            Condition::In(constants) => {
                constants.iter().any(|constant| self.step(bytes) && equals(constant, value))
            }
            Condition::Order(order, bound) => match value {
                Value::Int(number) => match order {
                    Order::Lt => number < *bound,
                    Order::Lte => number <= *bound,
                    Order::Gt => number > *bound,
                    Order::Gte => number >= *bound,
                },
                _ => false,
            },
            Condition::Match(..) if !self.step(bytes) => false,
            Condition::Match(matching, part) => match value {
                Value::Text(text) => match matching {
                    Match::Contains => memmem::find(text, part).is_some(),
                    Match::StartsWith => text.starts_with(part),
                    Match::EndsWith => text.ends_with(part),
                },
                _ => false,
            },
        }
    }

    fn session(&self, id: SessionId) -> Option<usize> {
        self.snapshot.sessions.binary_search_by_key(&id, |session| session.id).ok()
    }

    fn window(&self, id: WindowId) -> Option<usize> {
        self.snapshot.windows.binary_search_by_key(&id, |window| window.id).ok()
    }

    fn links_of_session(&self, id: SessionId) -> impl Iterator<Item = (usize, &'a WindowLink)> {
        let links = &self.snapshot.links;
        let start = links.partition_point(|link| link.session_id < id);
        links.iter().enumerate().skip(start).take_while(move |(_, link)| link.session_id == id)
    }

    fn links_of_window(&self, id: WindowId) -> impl Iterator<Item = usize> {
        let links = self.snapshot.links.iter().map(|link| link.window_id);
        of_window(self.links.get_or_init(|| by_window(links)), id)
    }

    fn panes_of_window(&self, id: WindowId) -> impl Iterator<Item = usize> {
        let panes = self.snapshot.panes.iter().map(|pane| pane.window_id);
        of_window(self.panes.get_or_init(|| by_window(panes)), id)
    }
}

/// The positions of what is in these windows, by window.
fn by_window(windows: impl Iterator<Item = WindowId>) -> Vec<(WindowId, usize)> {
    let mut rows: Vec<_> = windows.enumerate().map(|(at, window)| (window, at)).collect();
    rows.sort_unstable();
    rows
}

/// The part of them that is in this one.
fn of_window(rows: &[(WindowId, usize)], id: WindowId) -> impl Iterator<Item = usize> {
    let start = rows.partition_point(|(window, _)| *window < id);
    let rows = rows.iter().skip(start).take_while(move |(window, _)| *window == id);
    rows.map(|(_, at)| *at)
}

fn equals(constant: &Constant, value: Value<'_>) -> bool {
    match (constant, value) {
        (Constant::Null, Value::Null) => true,
        (Constant::Bool(constant), Value::Bool(value)) => *constant == value,
        (Constant::Int(constant), Value::Int(value)) => *constant == value,
        (Constant::Id(constant), Value::Id(value)) => *constant == value,
        (Constant::Text(constant), Value::Text(value)) => **constant == *value,
        _ => false,
    }
}
