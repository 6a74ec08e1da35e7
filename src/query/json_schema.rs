//! The criteria language as a JSON Schema, made from the same tables that it is checked by.

use serde_json::{Map, Value, json};

use super::entity::{Arity, Field, Kind, Relation};
use super::{Entity, PROFILE, VERSION};

/// The schema of a criteria document (JSON Schema 2020-12).
///
/// What a schema cannot say is not in it: bounds on depth, nodes and all texts together, that the
/// length of a text counts bytes, duplicate keys, and that an integer is one by its spelling.
#[must_use]
pub fn json_schema() -> Value {
    let entities = Entity::ALL.map(|entity| {
        json!({"properties": {"entity": {"const": entity.name()}, "where": reference(entity)}})
    });
    let mut definitions = Map::new();
    for entity in Entity::ALL {
        definitions.insert(entity.name().into(), filter(entity));
        for field in entity.fields() {
            let not_null = Field { nullable: false, ..*field };
            definitions.insert(type_name(&not_null), literal(&not_null));
            definitions.insert(type_name(field), literal(field));
            definitions.insert(test_name(field), test(field));
        }
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "profile": {"const": PROFILE},
            "version": {"const": VERSION},
            "entity": true,
            "where": true,
        },
        "required": ["profile", "version", "entity", "where"],
        "additionalProperties": false,
        "oneOf": entities,
        "$defs": definitions,
    })
}

fn reference(entity: Entity) -> Value {
    reference_to(entity.name())
}

fn reference_to(definition: &str) -> Value {
    json!({"$ref": format!("#/$defs/{definition}")})
}

fn filter(entity: Entity) -> Value {
    let mut properties = Map::new();
    let several = json!({"type": "array", "items": reference(entity), "maxItems": 2048});
    properties.insert("and".into(), several.clone());
    properties.insert("or".into(), several);
    properties.insert("not".into(), reference(entity));
    for field in entity.fields() {
        properties.insert(field.name.into(), reference_to(&test_name(field)));
    }
    for relation in entity.relations() {
        properties.insert(relation.name.into(), related(relation));
    }
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// Fields of one type share its definition and that of its tests.
fn type_name(field: &Field) -> String {
    let name = match field.kind {
        Kind::Bool => "bool".to_owned(),
        Kind::Int(i64::MIN, i64::MAX) => "int64".to_owned(),
        Kind::Int(least, greatest) => format!("int_{least}_{greatest}"),
        Kind::Id(_) => "id".to_owned(),
        Kind::Text => "text".to_owned(),
    };
    if field.nullable { name + "_or_null" } else { name }
}

fn test_name(field: &Field) -> String {
    type_name(field) + "_test"
}

/// A literal or an object of operators.
fn test(field: &Field) -> Value {
    let value = reference_to(&type_name(field));
    let mut operators = Map::new();
    operators.insert("equals".into(), value.clone());
    operators.insert("in".into(), json!({"type": "array", "items": value, "maxItems": 1024}));
    operators.insert("not".into(), reference_to(&test_name(field)));
    let not_null = reference_to(&type_name(&Field { nullable: false, ..*field }));
    let more: &[&str] = match field.kind {
        Kind::Int(..) => &["lt", "lte", "gt", "gte"],
        Kind::Text => &["contains", "startsWith", "endsWith"],
        Kind::Bool | Kind::Id(_) => &[],
    };
    operators.extend(more.iter().map(|&name| (name.to_owned(), not_null.clone())));
    json!({"anyOf": [value, {
        "type": "object",
        "properties": operators,
        "additionalProperties": false,
        "minProperties": 1,
    }]})
}

fn literal(field: &Field) -> Value {
    let value = match field.kind {
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Int(least, greatest) => {
            json!({"type": "integer", "minimum": least, "maximum": greatest})
        }
        Kind::Id(_) | Kind::Text => json!({"type": "string", "maxLength": 65536}),
    };
    if field.nullable { json!({"anyOf": [value, {"type": "null"}]}) } else { value }
}

fn related(relation: &Relation) -> Value {
    let target = reference(relation.target);
    let (names, value): (&[&str], Value) = match relation.arity {
        Arity::Many => (&["some", "every", "none"], target),
        Arity::One => (&["is", "isNot"], target),
        Arity::ZeroOrOne => (&["is", "isNot"], json!({"anyOf": [target, {"type": "null"}]})),
    };
    let operators: Map<String, Value> =
        names.iter().map(|&name| (name.to_owned(), value.clone())).collect();
    json!({
        "type": "object",
        "properties": operators,
        "additionalProperties": false,
        "minProperties": 1,
    })
}
