//! Criteria asked of a snapshot.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use memchr::memmem;

use super::check::{Checked, Condition, Constant, Node};
use super::entity::{Path, Relation, Value};
use super::tree::{Match, Order, Quantifier};
use super::{Criteria, CriteriaError, Item};
use crate::model::{Pane, Snapshot, WindowId, WindowLink};

/// Most steps that one question may take, so that it ends within a second whatever it is and
/// whatever names a server holds: a comparison is one, and one more for each 32 bytes of text.
const MAX_STEPS: usize = 5_000_000;
/// Bytes of text that are compared in about the time of one comparison.
const BYTES_A_STEP: usize = 32;

impl Criteria {
    /// What of `snapshot` matches, in the snapshot's order.
    ///
    /// Each condition costs the same for each thing that it is asked of. Relations are followed
    /// without looking at anything else, and within each other once for each thing.
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
        let Checked { node, texts } = &self.checked;
        for (entity, field) in texts {
            let mut texts = entity.items(snapshot).map(field.get);
            if texts.any(|text| matches!(text, Value::Text(text) if str::from_utf8(text).is_err()))
            {
                let (name, entity) = (field.name, entity.name());
                return Err(CriteriaError::Undecodable { name, entity });
            }
        }
        let graph = Graph::new(snapshot);
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

/// A snapshot with its relations at hand.
struct Graph<'a> {
    snapshot: &'a Snapshot,
    /// Panes by window, once they are needed.
    panes: OnceCell<Vec<&'a Pane>>,
    /// Links by window, once they are needed.
    links: OnceCell<Vec<&'a WindowLink>>,
    /// What remembered filters gave, by their number and the key of what they were asked of.
    known: RefCell<HashMap<(u64, u64), bool, BuildHasherDefault<KeyHasher>>>,
    /// Steps that may still be taken; at 0 whatever is answered is void.
    left: Cell<usize>,
}

/// Mixes two small numbers; the usual hasher costs more than what it would save.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(32) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

impl<'a> Graph<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let (panes, links) = (OnceCell::new(), OnceCell::new());
        Self { snapshot, panes, links, known: RefCell::default(), left: Cell::new(MAX_STEPS) }
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
            Node::Many(relation, quantifier, node) => {
                let sought = *quantifier != Quantifier::Every;
                let found =
                    self.any(relation, row, &mut |related| self.holds(node, related) == sought);
                found == (*quantifier == Quantifier::Some)
            }
            Node::One(relation, Some(node)) => {
                self.any(relation, row, &mut |related| self.holds(node, related))
            }
            Node::One(relation, None) => !self.any(relation, row, &mut |_| true),
            Node::Remembered(number, node) => {
                let key = (*number, key(row));
                if let Some(known) = self.known.borrow().get(&key) {
                    return *known;
                }
                let holds = self.holds(node, row);
                self.known.borrow_mut().insert(key, holds);
                holds
            }
        }
    }

    /// Whether something that `relation` leads to from `row` is as wanted.
    fn any(
        &self,
        relation: &Relation,
        row: Item<'a>,
        wanted: &mut dyn FnMut(Item<'a>) -> bool,
    ) -> bool {
        let snapshot = self.snapshot;
        match (relation.path, row) {
            (Path::SessionWindows, Item::Session(session)) => snapshot
                .links_of_session(session.id)
                .iter()
                .filter_map(|link| snapshot.window(link.window_id))
                .any(|window| wanted(Item::Window(window))),
            (Path::SessionLinks, Item::Session(session)) => snapshot
                .links_of_session(session.id)
                .iter()
                .any(|link| wanted(Item::WindowLink(link))),
            (Path::SessionPanes, Item::Session(session)) => snapshot
                .links_of_session(session.id)
                .iter()
                .flat_map(|link| self.panes_of(link.window_id))
                .any(|pane| wanted(Item::Pane(pane))),
            (Path::SessionCurrentWindow, Item::Session(session)) => snapshot
                .current_window(session.id)
                .is_some_and(|window| wanted(Item::Window(window))),
            (Path::WindowPanes, Item::Window(window)) => {
                self.panes_of(window.id).iter().any(|pane| wanted(Item::Pane(pane)))
            }
            (Path::WindowLinks, Item::Window(window)) => {
                let links = range(self.links(), |link| link.window_id, window.id);
                links.iter().any(|link| wanted(Item::WindowLink(link)))
            }
            (Path::WindowActivePane, Item::Window(window)) => {
                let mut panes = self.panes_of(window.id).iter();
                panes.find(|pane| pane.active).is_some_and(|pane| wanted(Item::Pane(pane)))
            }
            (Path::PaneWindow, Item::Pane(Pane { window_id, .. }))
            | (Path::LinkWindow, Item::WindowLink(WindowLink { window_id, .. })) => {
                snapshot.window(*window_id).is_some_and(|window| wanted(Item::Window(window)))
            }
            (Path::LinkSession, Item::WindowLink(link)) => snapshot
                .session(link.session_id)
                .is_some_and(|session| wanted(Item::Session(session))),
            (Path::ClientSession, Item::Client(client)) => client
                .session_id
                .and_then(|id| snapshot.session(id))
                .is_some_and(|session| wanted(Item::Session(session))),
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

    fn panes_of(&self, window: WindowId) -> &[&'a Pane] {
        let panes = self.panes.get_or_init(|| {
            let mut panes: Vec<&Pane> = self.snapshot.panes.iter().collect();
            panes.sort_by_key(|pane| pane.window_id);
            panes
        });
        range(panes, |pane| pane.window_id, window)
    }

    fn links(&self) -> &[&'a WindowLink] {
        self.links.get_or_init(|| {
            let mut links: Vec<&WindowLink> = self.snapshot.links.iter().collect();
            links.sort_by_key(|link| link.window_id);
            links
        })
    }
}

/// What tells a thing from all others of its kind.
fn key(row: Item<'_>) -> u64 {
    match row {
        Item::Session(session) => session.id.number().into(),
        Item::Window(window) => window.id.number().into(),
        Item::Pane(pane) => pane.id.number().into(),
        Item::WindowLink(link) => {
            (u64::from(link.session_id.number()) << 32) | u64::from(link.index)
        }
        // No relation leads to one, so that none is asked twice.
        Item::Client(client) => client.pid.into(),
    }
}

/// The part of sorted `rows` with this key.
fn range<T>(rows: &[T], key: impl Fn(&T) -> WindowId, window: WindowId) -> &[T] {
    let start = rows.partition_point(|row| key(row) < window);
    let rows = rows.get(start..).unwrap_or_default();
    rows.get(..rows.partition_point(|row| key(row) == window)).unwrap_or_default()
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
