//! The arguments of a call, read strictly against the tool's schema.
//!
//! Unknown and doubled keys are refused by name, values by kind; no message ever holds a value. Numbers may come as
//! numeric strings, because some agents send them so; booleans may not.

use super::binding::{Generation, Place, Reference};
use super::failure::Failure;
use super::schema::{Kind, Property, Rule, Schema};
use crate::model::{PaneId, SessionId, WindowId};
use serde::de::{DeserializeOwned, Deserializer as _, MapAccess, Visitor};
use serde_json::Number;
use serde_json::value::RawValue;
use std::fmt;
use std::str::FromStr;

/// Arguments that fit their schema.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    given: Vec<(&'static str, Value)>,
    defaults: Vec<(&'static str, Number)>,
}

/// One value, by its kind.
#[derive(Debug)]
#[allow(dead_code, reason = "the tools so far do not take every kind")]
enum Value {
    Null,
    Text(String),
    Pane(PaneId),
    Window(WindowId),
    Session(SessionId),
    Integer(i64),
    Number(f64),
    Flag(bool),
    Texts(Vec<String>),
    Objects(Vec<Arguments>),
    Raw(Box<RawValue>),
    Reference(Reference),
}

/// What a call is aimed at: an id, and the reference that it came from, whose generation is to be checked in the same
/// round trip as the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target<I> {
    /// tmux's id.
    pub(crate) id: I,
    /// The reference, when one was given.
    pub(crate) reference: Option<Reference>,
}

#[allow(dead_code, reason = "the tools so far do not take every kind")]
impl Arguments {
    /// Reads the client's text.
    ///
    /// # Errors
    /// `invalid_input`, naming the key.
    pub(crate) fn read(text: &str, schema: &Schema) -> Result<Self, Failure> {
        let entries = entries(text)
            .ok_or_else(|| Failure::invalid("The arguments must be one JSON object."))?;
        let mut given: Vec<(&'static str, Value)> = Vec::new();
        for (key, raw) in &entries {
            let Some(property) = schema.property(key) else {
                return Err(unknown(key, schema));
            };
            if given.iter().any(|(name, _)| *name == property.name) {
                return Err(Failure::invalid(format!(
                    "The argument {} is given twice.",
                    property.name
                )));
            }
            given.push((property.name, value(property, raw)?));
        }
        let mut defaults = Vec::new();
        for property in schema.properties() {
            let absent = !given.iter().any(|(name, _)| *name == property.name);
            if absent && property.required {
                return Err(Failure::invalid(format!(
                    "The argument {} is missing.",
                    property.name
                )));
            }
            if let Some(default) = property.default.clone().filter(|_| absent) {
                defaults.push((property.name, default));
            }
        }
        let arguments = Self { given, defaults };
        schema.rules().iter().try_for_each(|rule| arguments.check(*rule))?;
        Ok(arguments)
    }

    fn check(&self, rule: Rule) -> Result<(), Failure> {
        let (names, least) = match rule {
            Rule::ExactlyOne(names) => (names, 1),
            Rule::AtMostOne(names) => (names, 0),
        };
        let count = names.iter().filter(|name| self.has(name)).count();
        if count >= least && count <= 1 {
            return Ok(());
        }
        let amount = if least == 1 { "exactly" } else { "at most" };
        Err(Failure::invalid(format!("Give {amount} one of {}.", names.join(", "))))
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.given.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Whether the client gave the key with a value other than null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !matches!(value, Value::Null))
    }

    /// The keys that the client gave.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.given.iter().map(|(name, _)| *name)
    }

    /// A text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A whole number; its default when absent, none when null.
    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            Some(Value::Integer(number)) => Some(*number),
            Some(_) => None,
            None => self.default(name)?.as_i64(),
        }
    }

    /// A whole number that counts something; its default when absent, none when null.
    pub(crate) fn count(&self, name: &str) -> Option<usize> {
        self.integer(name).and_then(|number| usize::try_from(number).ok())
    }

    /// A number; its default when absent, none when null.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(Value::Number(number)) => Some(*number),
            Some(_) => None,
            None => self.default(name)?.as_f64(),
        }
    }

    fn default(&self, name: &str) -> Option<&Number> {
        self.defaults.iter().find(|(key, _)| *key == name).map(|(_, number)| number)
    }

    /// A boolean, false when absent.
    pub(crate) fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Value::Flag(true)))
    }

    /// A boolean with another default.
    pub(crate) fn flag_or(&self, name: &str, default: bool) -> bool {
        match self.get(name) {
            Some(Value::Flag(flag)) => *flag,
            _ => default,
        }
    }

    /// A list of texts, empty when absent.
    pub(crate) fn texts(&self, name: &str) -> &[String] {
        match self.get(name) {
            Some(Value::Texts(texts)) => texts,
            _ => &[],
        }
    }

    /// A list of objects, empty when absent.
    pub(crate) fn objects(&self, name: &str) -> &[Arguments] {
        match self.get(name) {
            Some(Value::Objects(objects)) => objects,
            _ => &[],
        }
    }

    /// An object as the client spelt it.
    pub(crate) fn raw(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Value::Raw(raw) => Some(raw.get()),
            _ => None,
        }
    }

    /// The `ref`.
    pub(crate) fn reference(&self) -> Option<Reference> {
        match self.get("ref")? {
            Value::Reference(reference) => Some(*reference),
            _ => None,
        }
    }

    /// The pane of `pane_id` or `ref`.
    pub(crate) fn pane(&self) -> Option<Target<PaneId>> {
        match (self.get("pane_id"), self.reference()) {
            (Some(Value::Pane(id)), _) => Some(Target { id: *id, reference: None }),
            (_, Some(reference)) => match reference.place {
                Place::Pane(id) => Some(Target { id, reference: Some(reference) }),
                _ => None,
            },
            _ => None,
        }
    }

    /// The window of `window_id` or `ref`.
    pub(crate) fn window(&self) -> Option<Target<WindowId>> {
        match (self.get("window_id"), self.reference()) {
            (Some(Value::Window(id)), _) => Some(Target { id: *id, reference: None }),
            (_, Some(reference)) => match reference.place {
                Place::Window(id) | Place::Link(id, ..) => {
                    Some(Target { id, reference: Some(reference) })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The session of `session_id` or `ref`.
    pub(crate) fn session(&self) -> Option<Target<SessionId>> {
        match (self.get("session_id"), self.reference()) {
            (Some(Value::Session(id)), _) => Some(Target { id: *id, reference: None }),
            (_, Some(reference)) => match reference.place {
                Place::Session(id) => Some(Target { id, reference: Some(reference) }),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The keys and values of an object, each value as it was spelt.
fn entries(text: &str) -> Option<Vec<(String, Box<RawValue>)>> {
    struct Entries;
    impl<'de> Visitor<'de> for Entries {
        type Value = Vec<(String, Box<RawValue>)>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = map.next_entry()? {
                entries.push(entry);
            }
            Ok(entries)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let entries = deserializer.deserialize_map(Entries).ok()?;
    deserializer.end().ok()?;
    Some(entries)
}

/// A key of the client's, fit for a message.
fn shown(key: &str) -> String {
    let short: String = key.chars().take(64).collect();
    format!("{short:?}")
}

fn unknown(key: &str, schema: &Schema) -> Failure {
    let names: Vec<&str> = schema.properties().iter().map(|property| property.name).collect();
    let key = shown(key);
    Failure::invalid(match names.as_slice() {
        [] => format!("Unknown argument {key}; none are taken here."),
        names => format!("Unknown argument {key}; known are {}.", names.join(", ")),
    })
}

/// One value, read by the property's kind.
fn value(property: &Property, raw: &RawValue) -> Result<Value, Failure> {
    let text = raw.get();
    if text == "null" {
        return if property.nullable {
            Ok(Value::Null)
        } else {
            Err(wrong(property, "must not be null"))
        };
    }
    let name = property.name;
    match &property.kind {
        Kind::Text => {
            json(text).map(Value::Text).ok_or_else(|| wrong(property, "must be a string"))
        }
        Kind::Choice(words) => match json::<String>(text) {
            Some(word) if words.contains(&word.as_str()) => Ok(Value::Text(word)),
            _ => Err(wrong(property, &format!("must be one of {}", words.join(", ")))),
        },
        Kind::Pane => {
            id(text).map(Value::Pane).ok_or_else(|| wrong(property, "must be a pane id like %1"))
        }
        Kind::Window => id(text)
            .map(Value::Window)
            .ok_or_else(|| wrong(property, "must be a window id like @1")),
        Kind::Session => id(text)
            .map(Value::Session)
            .ok_or_else(|| wrong(property, "must be a session id like $1")),
        Kind::Integer(range) => match integer(text) {
            Some(number) if range.contains(&number) => Ok(Value::Integer(number)),
            Some(_) => Err(outside(property, range.start(), range.end())),
            None => Err(wrong(property, "must be a whole number")),
        },
        Kind::Number(range) => match numeric(text).and_then(|number| number.as_f64()) {
            Some(number) if range.contains(&number) => Ok(Value::Number(number)),
            Some(_) => Err(outside(property, range.start(), range.end())),
            None => Err(wrong(property, "must be a number")),
        },
        Kind::Flag => {
            json(text).map(Value::Flag).ok_or_else(|| wrong(property, "must be true or false"))
        }
        Kind::Texts(most) => match json::<Vec<String>>(text) {
            Some(texts) if texts.len() <= *most => Ok(Value::Texts(texts)),
            Some(_) => Err(wrong(property, &format!("takes at most {most} items"))),
            None => Err(wrong(property, "must be a list of strings")),
        },
        Kind::Objects(item, most) => match json::<Vec<Box<RawValue>>>(text) {
            Some(items) if (1..=*most).contains(&items.len()) => objects(name, &items, item),
            Some(_) => Err(wrong(property, &format!("takes 1 to {most} items"))),
            None => Err(wrong(property, "must be a list of objects")),
        },
        Kind::Object if text.starts_with('{') => Ok(Value::Raw(raw.to_owned())),
        Kind::Object => Err(wrong(property, "must be an object")),
        Kind::Reference(kinds) => reference(text, kinds).map(Value::Reference),
        Kind::Any => Ok(Value::Raw(raw.to_owned())),
    }
}

fn wrong(property: &Property, what: &str) -> Failure {
    Failure::invalid(format!("The argument {} {what}.", property.name))
}

fn outside(property: &Property, low: &impl fmt::Display, high: &impl fmt::Display) -> Failure {
    wrong(property, &format!("must be from {low} to {high}"))
}

fn json<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

fn id<I: FromStr>(text: &str) -> Option<I> {
    json::<String>(text)?.parse().ok()
}

/// A number, or a string that spells one as JSON would.
fn numeric(text: &str) -> Option<Number> {
    if !text.starts_with('"') {
        return json(text);
    }
    let inner = json::<String>(text)?;
    if inner.trim() == inner { json(&inner) } else { None }
}

/// A whole number; `5.0` is one, as JSON Schema has it.
fn integer(text: &str) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = numeric(text)?;
    if let Some(whole) = number.as_i64() {
        return Some(whole);
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT)?;
    format!("{float:.0}").parse().ok()
}

fn objects(name: &str, items: &[Box<RawValue>], schema: &Schema) -> Result<Value, Failure> {
    let mut objects = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let within = |failure: Failure| failure.within(&format!("item {index} of {name}"));
        objects.push(Arguments::read(item.get(), schema).map_err(within)?);
    }
    Ok(Value::Objects(objects))
}

/// A `ref` of one of the kinds.
fn reference(text: &str, kinds: &[&str]) -> Result<Reference, Failure> {
    let schema = Schema::object()
        .text("generation", "Hex")
        .required()
        .text("kind", "Kind")
        .required()
        .text("id", "Id")
        .required()
        .session_id()
        .integer("index", "Index", 0..=i64::from(i32::MAX));
    let parts = Arguments::read(text, &schema).map_err(|failure| failure.within("ref"))?;
    let kind = parts.text("kind").unwrap_or_default();
    if !kinds.contains(&kind) {
        return Err(Failure::invalid(format!(
            "The ref must be of kind {} here.",
            kinds.join(" or ")
        )));
    }
    let malformed =
        || Failure::invalid("The ref is malformed; pass it on exactly as it was answered.");
    let generation = parts.text("generation").and_then(Generation::read).ok_or_else(malformed)?;
    let id = parts.text("id").unwrap_or_default();
    let index = parts.integer("index").and_then(|index| u32::try_from(index).ok());
    let session = match parts.get("session_id") {
        Some(Value::Session(session)) => Some(*session),
        _ => None,
    };
    let place = match (kind, session, index) {
        ("session", None, None) => id.parse().ok().map(Place::Session),
        ("window", None, None) => id.parse().ok().map(Place::Window),
        ("pane", None, None) => id.parse().ok().map(Place::Pane),
        ("window_link", Some(session), Some(index)) => {
            id.parse().ok().map(|window| Place::Link(window, session, index))
        }
        _ => None,
    };
    place.map(|place| Reference { generation, place }).ok_or_else(malformed)
}

#[cfg(test)]
mod tests;
