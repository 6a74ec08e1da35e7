//! One thing of a snapshot, with its fields by their names on the wire.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::Entity;
use super::entity::{Field, Kind, Value};
use crate::model::{ClientInfo, Pane, Session, Window, WindowLink};

/// One thing of a snapshot.
///
/// As JSON it is an object of its fields as criteria name them: `currentCommand`, `windowId` and so
/// on, ids as text, invalid UTF-8 as U+FFFD; if there is any, `replaced_bytes` counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A session.
    Session(&'a Session),
    /// A window.
    Window(&'a Window),
    /// A pane.
    Pane(&'a Pane),
    /// The place of a window in a session.
    WindowLink(&'a WindowLink),
    /// An attached client.
    Client(&'a ClientInfo),
}

impl<'a> Item<'a> {
    /// Its kind.
    #[must_use]
    pub fn entity(self) -> Entity {
        match self {
            Self::Session(_) => Entity::Session,
            Self::Window(_) => Entity::Window,
            Self::Pane(_) => Entity::Pane,
            Self::WindowLink(_) => Entity::WindowLink,
            Self::Client(_) => Entity::Client,
        }
    }

    /// The texts among its fields, as bytes.
    pub fn texts(self) -> impl Iterator<Item = &'a [u8]> {
        let fields = self.entity().fields().iter();
        fields.filter_map(move |field| match (field.get)(self) {
            Value::Text(text) => Some(text),
            _ => None,
        })
    }

    /// How many bytes of them are not UTF-8.
    #[must_use]
    pub fn replaced_bytes(self) -> usize {
        let chunks = self.texts().flat_map(<[u8]>::utf8_chunks);
        chunks.map(|chunk| chunk.invalid().len()).sum()
    }
}

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for field in self.entity().fields() {
            map.serialize_entry(field.name, &Shown(field, (field.get)(*self)))?;
        }
        match self.replaced_bytes() {
            0 => {}
            bytes => map.serialize_entry("replaced_bytes", &bytes)?,
        }
        map.end()
    }
}

/// The value of a field.
struct Shown<'a>(&'a Field, Value<'a>);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(field, value) = self;
        match (value, field.kind) {
            (Value::Null, _) => serializer.serialize_none(),
            (Value::Bool(value), _) => serializer.serialize_bool(*value),
            (Value::Id(number), Kind::Id(sigil)) => {
                serializer.collect_str(&format_args!("{sigil}{number}"))
            }
            (Value::Id(number), _) => serializer.serialize_u32(*number),
            (Value::Int(number), _) => serializer.serialize_i64(*number),
            (Value::Text(text), _) => serializer.serialize_str(&String::from_utf8_lossy(text)),
        }
    }
}
