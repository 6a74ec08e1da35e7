//! What can be asked about: entities, their fields and their relations.

use super::Item;
use crate::model::{Snapshot, Text};

/// A kind of thing that a snapshot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entity {
    /// Sessions.
    Session,
    /// Windows.
    Window,
    /// Panes.
    Pane,
    /// The places of windows in sessions.
    WindowLink,
    /// Attached clients.
    Client,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    /// The number of an id; the field says of which kind.
    Id(u32),
    Text(&'a [u8]),
}

/// What a field may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    /// Integers from the first to the second.
    Int(i64, i64),
    /// An id that starts with this sign.
    Id(char),
    Text,
}

/// A field: its name on the wire, what it may hold and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) nullable: bool,
    pub(super) get: for<'a> fn(Item<'a>) -> Value<'a>,
}

/// How many of the other entity there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arity {
    Many,
    One,
    ZeroOrOne,
}

/// Where a relation leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    SessionWindows,
    SessionLinks,
    SessionPanes,
    SessionCurrentWindow,
    WindowPanes,
    WindowLinks,
    WindowActivePane,
    PaneWindow,
    LinkSession,
    LinkWindow,
    ClientSession,
}

/// A relation: its name on the wire and where it leads.
#[derive(Debug)]
pub(super) struct Relation {
    pub(super) name: &'static str,
    pub(super) arity: Arity,
    pub(super) target: Entity,
    pub(super) path: Path,
}

const UINT32: Kind = Kind::Int(0, u32::MAX as i64);
const INT31: Kind = Kind::Int(0, i32::MAX as i64);
const INT64: Kind = Kind::Int(i64::MIN, i64::MAX);
const BYTE: Kind = Kind::Int(0, u8::MAX as i64);
const SESSION_ID: Kind = Kind::Id('$');
const WINDOW_ID: Kind = Kind::Id('@');
const PANE_ID: Kind = Kind::Id('%');

/// A field of the rows of one variant; rows of another have nothing there.
macro_rules! field {
    ($variant:ident, $name:literal, $kind:expr, $row:ident => $value:expr) => {
        Field {
            name: $name,
            kind: $kind,
            nullable: false,
            get: |row| match row {
                Item::$variant($row) => $value,
                _ => Value::Null,
            },
        }
    };
}

/// The same for a field that may be null.
const fn nullable(field: Field) -> Field {
    Field { nullable: true, ..field }
}

fn text(text: &Text) -> Value<'_> {
    Value::Text(text.as_bytes())
}

fn int(number: impl Into<i64>) -> Value<'static> {
    Value::Int(number.into())
}

const SESSION: &[Field] = &[
    field!(Session, "id", SESSION_ID, row => Value::Id(row.id.number())),
    field!(Session, "name", Kind::Text, row => text(&row.name)),
    field!(Session, "created", INT64, row => int(row.created)),
    field!(Session, "attached", UINT32, row => int(row.attached)),
    field!(Session, "windowCount", UINT32, row => int(row.window_count)),
];

const WINDOW: &[Field] = &[
    field!(Window, "id", WINDOW_ID, row => Value::Id(row.id.number())),
    field!(Window, "name", Kind::Text, row => text(&row.name)),
    field!(Window, "width", UINT32, row => int(row.width)),
    field!(Window, "height", UINT32, row => int(row.height)),
    field!(Window, "paneCount", UINT32, row => int(row.pane_count)),
    field!(Window, "layout", Kind::Text, row => text(&row.layout)),
];

const PANE: &[Field] = &[
    field!(Pane, "id", PANE_ID, row => Value::Id(row.id.number())),
    field!(Pane, "windowId", WINDOW_ID, row => Value::Id(row.window_id.number())),
    field!(Pane, "index", UINT32, row => int(row.index)),
    field!(Pane, "pid", INT31, row => int(row.pid)),
    field!(Pane, "currentCommand", Kind::Text, row => text(&row.current_command)),
    nullable(field!(Pane, "currentPath", Kind::Text,
        row => row.current_path.as_ref().map_or(Value::Null, text))),
    field!(Pane, "title", Kind::Text, row => text(&row.title)),
    field!(Pane, "active", Kind::Bool, row => Value::Bool(row.active)),
    field!(Pane, "dead", Kind::Bool, row => Value::Bool(row.dead)),
    nullable(field!(Pane, "deadStatus", BYTE, row => row.dead_status.map_or(Value::Null, int))),
    field!(Pane, "width", UINT32, row => int(row.width)),
    field!(Pane, "height", UINT32, row => int(row.height)),
];

const WINDOW_LINK: &[Field] = &[
    field!(WindowLink, "sessionId", SESSION_ID, row => Value::Id(row.session_id.number())),
    field!(WindowLink, "windowId", WINDOW_ID, row => Value::Id(row.window_id.number())),
    field!(WindowLink, "index", INT31, row => int(row.index)),
    field!(WindowLink, "active", Kind::Bool, row => Value::Bool(row.active)),
];

const CLIENT: &[Field] = &[
    field!(Client, "name", Kind::Text, row => text(&row.name)),
    field!(Client, "pid", INT31, row => int(row.pid)),
    field!(Client, "created", INT64, row => int(row.created)),
    nullable(field!(Client, "tty", Kind::Text, row => row.tty.as_ref().map_or(Value::Null, text))),
    nullable(field!(Client, "sessionId", SESSION_ID,
        row => row.session_id.map_or(Value::Null, |id| Value::Id(id.number())))),
    nullable(field!(Client, "width", UINT32, row => row.width.map_or(Value::Null, int))),
    nullable(field!(Client, "height", UINT32, row => row.height.map_or(Value::Null, int))),
    field!(Client, "readOnly", Kind::Bool, row => Value::Bool(row.read_only)),
    field!(Client, "utf8", Kind::Bool, row => Value::Bool(row.utf8)),
    field!(Client, "controlMode", Kind::Bool, row => Value::Bool(row.control_mode)),
];

const fn relation(name: &'static str, arity: Arity, target: Entity, path: Path) -> Relation {
    Relation { name, arity, target, path }
}

const SESSION_RELATIONS: &[Relation] = &[
    relation("windows", Arity::Many, Entity::Window, Path::SessionWindows),
    relation("windowLinks", Arity::Many, Entity::WindowLink, Path::SessionLinks),
    relation("panes", Arity::Many, Entity::Pane, Path::SessionPanes),
    relation("currentWindow", Arity::ZeroOrOne, Entity::Window, Path::SessionCurrentWindow),
];

const WINDOW_RELATIONS: &[Relation] = &[
    relation("panes", Arity::Many, Entity::Pane, Path::WindowPanes),
    relation("windowLinks", Arity::Many, Entity::WindowLink, Path::WindowLinks),
    relation("activePane", Arity::ZeroOrOne, Entity::Pane, Path::WindowActivePane),
];

const PANE_RELATIONS: &[Relation] =
    &[relation("window", Arity::One, Entity::Window, Path::PaneWindow)];

const WINDOW_LINK_RELATIONS: &[Relation] = &[
    relation("session", Arity::One, Entity::Session, Path::LinkSession),
    relation("window", Arity::One, Entity::Window, Path::LinkWindow),
];

const CLIENT_RELATIONS: &[Relation] =
    &[relation("session", Arity::ZeroOrOne, Entity::Session, Path::ClientSession)];

impl Entity {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::Session, Self::Window, Self::Pane, Self::WindowLink, Self::Client];

    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Window => "window",
            Self::Pane => "pane",
            Self::WindowLink => "window_link",
            Self::Client => "client",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|entity| entity.name() == name)
    }

    /// How many of this kind a snapshot holds.
    #[must_use]
    pub fn count(self, snapshot: &Snapshot) -> usize {
        match self {
            Self::Session => snapshot.sessions.len(),
            Self::Window => snapshot.windows.len(),
            Self::Pane => snapshot.panes.len(),
            Self::WindowLink => snapshot.links.len(),
            Self::Client => snapshot.clients.len(),
        }
    }

    /// The one at this position in the snapshot's list.
    #[must_use]
    pub fn item(self, snapshot: &Snapshot, position: usize) -> Option<Item<'_>> {
        match self {
            Self::Session => snapshot.sessions.get(position).map(Item::Session),
            Self::Window => snapshot.windows.get(position).map(Item::Window),
            Self::Pane => snapshot.panes.get(position).map(Item::Pane),
            Self::WindowLink => snapshot.links.get(position).map(Item::WindowLink),
            Self::Client => snapshot.clients.get(position).map(Item::Client),
        }
    }

    /// All of this kind, in the snapshot's order.
    pub fn items(self, snapshot: &Snapshot) -> impl Iterator<Item = Item<'_>> {
        (0..self.count(snapshot)).filter_map(move |position| self.item(snapshot, position))
    }

    pub(super) fn fields(self) -> &'static [Field] {
        match self {
            Self::Session => SESSION,
            Self::Window => WINDOW,
            Self::Pane => PANE,
            Self::WindowLink => WINDOW_LINK,
            Self::Client => CLIENT,
        }
    }

    pub(super) fn relations(self) -> &'static [Relation] {
        match self {
            Self::Session => SESSION_RELATIONS,
            Self::Window => WINDOW_RELATIONS,
            Self::Pane => PANE_RELATIONS,
            Self::WindowLink => WINDOW_LINK_RELATIONS,
            Self::Client => CLIENT_RELATIONS,
        }
    }
}
