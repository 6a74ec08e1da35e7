//! What a tool takes, said once: published as JSON Schema and used to read the arguments.
//!
//! The builder can only make what every agent host accepts: a flat object, every property described, no further
//! properties, no combinators, no references, no lists of types, no formats.

use rmcp::model::JsonObject;
use serde_json::{Map, Number, Value, json};
use std::ops::RangeInclusive;

/// The properties of an object and what must hold between them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Schema {
    properties: Vec<Property>,
    rules: Vec<Rule>,
}

/// One property.
#[derive(Debug, Clone)]
pub(crate) struct Property {
    /// Its key.
    pub(crate) name: &'static str,
    description: &'static str,
    /// What its values are.
    pub(crate) kind: Kind,
    /// Must be given.
    pub(crate) required: bool,
    /// `null` is accepted, and means "none" or "no limit". Not published.
    pub(crate) nullable: bool,
    /// Stands when the key is absent.
    pub(crate) default: Option<Number>,
}

/// What the values of a property are.
#[derive(Debug, Clone)]
#[allow(dead_code, reason = "the tools so far do not take every kind")]
pub(crate) enum Kind {
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `%N`.
    Pane,
    /// `@N`.
    Window,
    /// `$N`.
    Session,
    /// A whole number in a range.
    Integer(RangeInclusive<i64>),
    /// A number in a range.
    Number(RangeInclusive<f64>),
    /// True or false.
    Flag,
    /// A list of texts, at most so many.
    Texts(usize),
    /// A list of objects of one schema, between one and so many.
    Objects(Schema, usize),
    /// An object that the tool reads itself, from the client's own spelling.
    Object,
    /// A reference of one of these kinds.
    Reference(&'static [&'static str]),
    /// Any value; only for answers, where a field may be null.
    Any,
}

/// What must hold between properties.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rule {
    /// Exactly one of them is given.
    ExactlyOne(&'static [&'static str]),
    /// At most one of them is given.
    AtMostOne(&'static [&'static str]),
}

#[allow(dead_code, reason = "the tools so far do not take every kind")]
impl Schema {
    /// An object without properties.
    pub(crate) fn object() -> Self {
        Self::default()
    }

    /// Its properties.
    pub(crate) fn properties(&self) -> &[Property] {
        &self.properties
    }

    /// Its rules.
    pub(crate) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The property of a name.
    pub(crate) fn property(&self, name: &str) -> Option<&Property> {
        self.properties.iter().find(|property| property.name == name)
    }

    fn add(mut self, name: &'static str, description: &'static str, kind: Kind) -> Self {
        self.properties.push(Property {
            name,
            description,
            kind,
            required: false,
            nullable: false,
            default: None,
        });
        self
    }

    fn last(mut self, change: impl FnOnce(&mut Property)) -> Self {
        if let Some(property) = self.properties.last_mut() {
            change(property);
        }
        self
    }

    /// Adds a text.
    pub(crate) fn text(self, name: &'static str, description: &'static str) -> Self {
        self.add(name, description, Kind::Text)
    }

    /// Adds a text that is one of some words.
    pub(crate) fn choice(
        self,
        name: &'static str,
        description: &'static str,
        words: &'static [&'static str],
    ) -> Self {
        self.add(name, description, Kind::Choice(words))
    }

    /// Adds a whole number.
    pub(crate) fn integer(
        self,
        name: &'static str,
        description: &'static str,
        range: RangeInclusive<i64>,
    ) -> Self {
        self.add(name, description, Kind::Integer(range))
    }

    /// Adds a number.
    pub(crate) fn number(
        self,
        name: &'static str,
        description: &'static str,
        range: RangeInclusive<f64>,
    ) -> Self {
        self.add(name, description, Kind::Number(range))
    }

    /// Adds a boolean; absent means false.
    pub(crate) fn flag(self, name: &'static str, description: &'static str) -> Self {
        self.add(name, description, Kind::Flag)
    }

    /// Adds a list of texts.
    pub(crate) fn texts(self, name: &'static str, description: &'static str, most: usize) -> Self {
        self.add(name, description, Kind::Texts(most))
    }

    /// Adds a list of objects.
    pub(crate) fn objects(
        self,
        name: &'static str,
        description: &'static str,
        item: Schema,
        most: usize,
    ) -> Self {
        self.add(name, description, Kind::Objects(item, most))
    }

    /// Adds an object that the tool reads itself.
    pub(crate) fn open_object(self, name: &'static str, description: &'static str) -> Self {
        self.add(name, description, Kind::Object)
    }

    /// Adds a field of an answer that may be null or of more than one type.
    pub(crate) fn any(self, name: &'static str, description: &'static str) -> Self {
        self.add(name, description, Kind::Any)
    }

    /// The last property must be given.
    pub(crate) fn required(self) -> Self {
        self.last(|property| property.required = true)
    }

    /// The last property may be null.
    pub(crate) fn nullable(self) -> Self {
        self.last(|property| property.nullable = true)
    }

    /// The last property, a number, stands for this when it is absent.
    pub(crate) fn default_to(self, value: impl Into<Number>) -> Self {
        self.last(|property| property.default = Some(value.into()))
    }

    /// Adds a rule between properties.
    pub(crate) fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Adds an optional pane id.
    pub(crate) fn pane_id(self) -> Self {
        self.add("pane_id", "Pane id, like %1", Kind::Pane)
    }

    /// Adds an optional window id.
    pub(crate) fn window_id(self) -> Self {
        self.add("window_id", "Window id, like @1", Kind::Window)
    }

    /// Adds an optional session id.
    pub(crate) fn session_id(self) -> Self {
        self.add("session_id", "Session id, like $1", Kind::Session)
    }

    /// Adds an optional `ref` of some kinds.
    pub(crate) fn reference(self, kinds: &'static [&'static str]) -> Self {
        self.add("ref", "Ref object from an answer, in place of the id", Kind::Reference(kinds))
    }

    /// Adds `pane_id` and `ref`, of which exactly one must be given.
    pub(crate) fn one_pane(self) -> Self {
        self.pane_id().reference(&["pane"]).rule(Rule::ExactlyOne(&["pane_id", "ref"]))
    }

    /// Adds `window_id` and `ref`, of which exactly one must be given.
    pub(crate) fn one_window(self) -> Self {
        self.window_id()
            .reference(&["window", "window_link"])
            .rule(Rule::ExactlyOne(&["window_id", "ref"]))
    }

    /// Adds `session_id` and `ref`, of which exactly one must be given.
    pub(crate) fn one_session(self) -> Self {
        self.session_id().reference(&["session"]).rule(Rule::ExactlyOne(&["session_id", "ref"]))
    }

    /// The JSON Schema that is published.
    pub(crate) fn publish(&self) -> JsonObject {
        let properties: JsonObject = self
            .properties
            .iter()
            .map(|p| (p.name.to_owned(), Value::Object(p.publish())))
            .collect();
        let required: Vec<&str> =
            self.properties.iter().filter(|p| p.required).map(|p| p.name).collect();
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        schema.insert("properties".into(), Value::Object(properties));
        if !required.is_empty() {
            schema.insert("required".into(), json!(required));
        }
        schema.insert("additionalProperties".into(), false.into());
        schema
    }
}

impl Property {
    fn publish(&self) -> JsonObject {
        let mut schema = Map::new();
        if let Some(kind) = self.kind.json_type() {
            schema.insert("type".into(), kind.into());
        }
        schema.insert("description".into(), self.description.into());
        match &self.kind {
            Kind::Choice(words) => {
                schema.insert("enum".into(), json!(words));
            }
            Kind::Integer(range) => {
                if *range.start() > i64::MIN {
                    schema.insert("minimum".into(), json!(range.start()));
                }
                if *range.end() < i64::MAX {
                    schema.insert("maximum".into(), json!(range.end()));
                }
            }
            Kind::Number(range) => {
                schema.insert("minimum".into(), json!(range.start()));
                schema.insert("maximum".into(), json!(range.end()));
            }
            Kind::Texts(most) => {
                schema.insert("items".into(), json!({"type": "string"}));
                if *most < usize::MAX {
                    schema.insert("maxItems".into(), json!(most));
                }
            }
            Kind::Objects(item, most) => {
                schema.insert("items".into(), Value::Object(item.publish()));
                schema.insert("minItems".into(), json!(1));
                schema.insert("maxItems".into(), json!(most));
            }
            Kind::Text
            | Kind::Pane
            | Kind::Window
            | Kind::Session
            | Kind::Flag
            | Kind::Object
            | Kind::Reference(_)
            | Kind::Any => {}
        }
        if let Some(default) = &self.default {
            schema.insert("default".into(), Value::Number(default.clone()));
        }
        schema
    }
}

impl Kind {
    /// The type on the wire, in JSON Schema's words.
    pub(crate) fn json_type(&self) -> Option<&'static str> {
        match self {
            Self::Text | Self::Choice(_) | Self::Pane | Self::Window | Self::Session => {
                Some("string")
            }
            Self::Integer(_) => Some("integer"),
            Self::Number(_) => Some("number"),
            Self::Flag => Some("boolean"),
            Self::Texts(_) | Self::Objects(..) => Some("array"),
            Self::Object | Self::Reference(_) => Some("object"),
            Self::Any => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Every rule that agent hosts impose, as a walk over a published schema.
    pub(crate) fn breaches(schema: &Value, path: &str) -> Vec<String> {
        let mut found = Vec::new();
        let Some(schema) = schema.as_object() else {
            return vec![format!("{path}: not an object")];
        };
        for word in [
            "oneOf",
            "anyOf",
            "allOf",
            "not",
            "if",
            "$ref",
            "$defs",
            "definitions",
            "$schema",
            "nullable",
        ] {
            if schema.contains_key(word) {
                found.push(format!("{path}: {word}"));
            }
        }
        match schema.get("type") {
            None if path.is_empty() => found.push("top level without type".to_owned()),
            None | Some(Value::String(_)) => {}
            Some(_) => found.push(format!("{path}: type is not one word")),
        }
        if let Some(format) = schema.get("format") {
            found.push(format!("{path}: format {format}"));
        }
        if !path.is_empty() && !path.ends_with("[]") {
            let described = schema
                .get("description")
                .and_then(Value::as_str)
                .is_some_and(|d| !d.trim().is_empty());
            if !described {
                found.push(format!("{path}: not described"));
            }
        }
        if path.is_empty() || schema.contains_key("properties") {
            if schema.get("type") != Some(&json!("object")) {
                found.push(format!("{path}: properties outside an object"));
            }
            if schema.get("additionalProperties") != Some(&json!(false)) {
                found.push(format!("{path}: open"));
            }
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                return vec![format!("{path}: no properties")];
            };
            for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
                if !properties.contains_key(name.as_str().unwrap_or_default()) {
                    found.push(format!("{path}: requires unknown {name}"));
                }
            }
            for (name, property) in properties {
                found.extend(breaches(property, &format!("{path}.{name}")));
            }
        }
        if schema.get("type") == Some(&json!("array")) {
            match schema.get("items") {
                Some(items) => found.extend(breaches(items, &format!("{path}[]"))),
                None => found.push(format!("{path}: array without items")),
            }
        }
        found
    }

    /// A schema that uses everything that the builder has.
    fn everything() -> Schema {
        Schema::object()
            .one_pane()
            .window_id()
            .session_id()
            .text("name", "A name")
            .required()
            .choice("view", "A view", &["lines", "screen"])
            .integer("max_lines", "A limit", 1..=10)
            .default_to(5)
            .nullable()
            .integer("start", "A row", i64::MIN..=i64::MAX)
            .number("timeout", "Seconds", 0.1..=120.0)
            .flag("force", "Force it")
            .texts("keys", "Keys", 10)
            .objects("operations", "Steps", Schema::object().text("tool", "A tool").required(), 16)
            .open_object("criteria", "A document")
            .any("dead_status", "May be null")
    }

    #[test]
    fn whatever_is_built_keeps_the_rules_of_agent_hosts() {
        let schema = everything().publish();
        assert_eq!(breaches(&Value::Object(schema.clone()), ""), Vec::<String>::new());
        assert!(jsonschema::validator_for(&Value::Object(schema)).is_ok());
    }

    #[test]
    fn a_published_schema_reads_as_written() {
        let schema = Schema::object().one_pane().integer("n", "A count", 0..=9).default_to(3);
        assert_eq!(
            Value::Object(schema.publish()),
            json!({"type": "object", "properties": {
                "pane_id": {"type": "string", "description": "Pane id, like %1"},
                "ref": {"type": "object", "description": "Ref object from an answer, in place of the id"},
                "n": {"type": "integer", "description": "A count", "minimum": 0, "maximum": 9, "default": 3},
            }, "additionalProperties": false})
        );
    }

    #[test]
    fn the_walk_sees_every_breach() {
        let good = json!({"type": "object", "properties": {"a": {"type": "string", "description": "A"}},
            "additionalProperties": false});
        assert!(breaches(&good, "").is_empty());
        for (pointer, key, value) in [
            ("", "oneOf", json!([])),
            ("", "additionalProperties", json!(true)),
            ("", "type", json!("string")),
            ("", "$defs", json!({})),
            ("", "required", json!(["b"])),
            ("/properties/a", "description", json!(" ")),
            ("/properties/a", "$ref", json!("#")),
            ("/properties/a", "type", json!(["string", "null"])),
            ("/properties/a", "type", json!("array")),
            ("/properties/a", "format", json!("uint32")),
        ] {
            let mut bad = good.clone();
            bad.pointer_mut(pointer).unwrap()[key] = value;
            assert!(!breaches(&bad, "").is_empty(), "{bad}");
        }
    }
}
