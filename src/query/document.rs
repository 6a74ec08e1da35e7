//! Criteria as JSON.
//!
//! The document is read from its own bytes: a decoded map has lost that a key stood twice, and
//! that a number was not written as an integer.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};

use super::error::shown;
use super::tree::{Clause, Literal, Match, Operator, Order, Quantifier, Test, Where};
use super::{CriteriaError, Entity, PROFILE, VERSION};

/// Greatest length of a document in bytes.
pub const MAX_DOCUMENT: usize = 262_144;
/// Greatest nesting of arrays and objects in a document.
pub const MAX_NESTING: usize = 68;

/// A JSON value that remembers what decoding would lose.
#[derive(Clone, Debug, PartialEq)]
enum Json {
    Null,
    Bool(bool),
    Int(i64),
    /// A number that is not an integer, or too large for one.
    OtherNumber,
    Text(String),
    Array(Vec<Json>),
    /// Members in their order; no key stands twice.
    Object(Vec<(String, Json)>),
}

/// Reads a document.
pub(super) fn read(document: &[u8]) -> Result<(Entity, Where), CriteriaError> {
    if document.len() > MAX_DOCUMENT {
        return Err(CriteriaError::Bound { what: "bytes", limit: MAX_DOCUMENT });
    }
    let (mut entity, mut filter) = (None, None);
    let (mut profile, mut version) = (false, false);
    for (key, value) in object("criteria", parse(document)?)? {
        match (&*key, value) {
            ("profile", Json::Text(text)) if text == PROFILE => profile = true,
            ("profile", _) => return shape("profile", "\"libtmux-ruby.where\""),
            ("version", Json::Int(VERSION)) => version = true,
            ("version", _) => return shape("version", "the integer 1"),
            ("entity", Json::Text(name)) if Entity::named(&name).is_some() => {
                entity = Entity::named(&name);
            }
            ("entity", _) => {
                return shape("entity", "session, window, pane, window_link or client");
            }
            ("where", value) => filter = Some(where_of("where", value)?),
            (other, _) => {
                return shape(
                    other,
                    "left out: criteria have the keys profile, version, entity and where",
                );
            }
        }
    }
    match (profile, version, entity, filter) {
        (true, true, Some(entity), Some(filter)) => Ok((entity, filter)),
        _ => shape("criteria", "an object with profile, version, entity and where"),
    }
}

fn shape<T>(at: &str, expected: &'static str) -> Result<T, CriteriaError> {
    Err(CriteriaError::Shape { at: shown(at), expected })
}

fn object(at: &str, json: Json) -> Result<Vec<(String, Json)>, CriteriaError> {
    match json {
        Json::Object(members) => Ok(members),
        _ => shape(at, "an object"),
    }
}

fn where_of(at: &str, json: Json) -> Result<Where, CriteriaError> {
    let clause = |(key, value): (String, Json)| {
        Ok(match &*key {
            "and" => Clause::And(wheres_of("and", value)?),
            "or" => Clause::Or(wheres_of("or", value)?),
            "not" => Clause::Not(where_of("not", value)?),
            name => Clause::Named(name.into(), test_of(name, value)?),
        })
    };
    let clauses = object(at, json)?.into_iter().map(clause).collect::<Result<_, _>>()?;
    Ok(Where { clauses })
}

fn wheres_of(at: &str, json: Json) -> Result<Vec<Where>, CriteriaError> {
    match json {
        Json::Array(members) => members.into_iter().map(|member| where_of(at, member)).collect(),
        _ => shape(at, "an array of objects"),
    }
}

/// A literal, or an object of operators.
fn test_of(at: &str, json: Json) -> Result<Test, CriteriaError> {
    let members = match json {
        Json::Object(members) if members.is_empty() => {
            return shape(at, "a literal or an object with an operator");
        }
        Json::Object(members) => members,
        literal => return Ok(Operator::Equals(literal_of(at, literal)?).into()),
    };
    let operator = |(key, value): (String, Json)| operator_of(at, &key, value);
    Ok(Test { operators: members.into_iter().map(operator).collect::<Result<_, _>>()? })
}

fn operator_of(at: &str, key: &str, value: Json) -> Result<Operator, CriteriaError> {
    let order = |order, value| Ok(Operator::Order(order, literal_of(at, value)?));
    let matching = |matching, value| Ok(Operator::Match(matching, literal_of(at, value)?));
    let many = |quantifier, value| Ok(Operator::Many(quantifier, where_of(at, value)?));
    let one = |negated, value| {
        let filter = match value {
            Json::Null => None,
            value => Some(where_of(at, value)?),
        };
        Ok(Operator::One { negated, filter })
    };
    match key {
        "equals" => Ok(Operator::Equals(literal_of(at, value)?)),
        "not" => Ok(Operator::Not(test_of(at, value)?)),
        "in" => match value {
            Json::Array(members) => {
                let literals = members.into_iter().map(|member| literal_of(at, member));
                Ok(Operator::In(literals.collect::<Result<_, _>>()?))
            }
            _ => shape(at, "an array of literals for in"),
        },
        "lt" => order(Order::Lt, value),
        "lte" => order(Order::Lte, value),
        "gt" => order(Order::Gt, value),
        "gte" => order(Order::Gte, value),
        "contains" => matching(Match::Contains, value),
        "startsWith" => matching(Match::StartsWith, value),
        "endsWith" => matching(Match::EndsWith, value),
        "some" => many(Quantifier::Some, value),
        "every" => many(Quantifier::Every, value),
        "none" => many(Quantifier::None, value),
        "is" => one(false, value),
        "isNot" => one(true, value),
        _ => shape(at, "a name and tests that exist; the criteria schema lists them"),
    }
}

fn literal_of(at: &str, json: Json) -> Result<Literal, CriteriaError> {
    match json {
        Json::Null => Ok(Literal::Null),
        Json::Bool(value) => Ok(Literal::Bool(value)),
        Json::Int(value) => Ok(Literal::Int(value)),
        Json::Text(value) => Ok(Literal::Text(value)),
        Json::OtherNumber => {
            shape(at, "compared with integers of 64 bits, written without fraction or exponent")
        }
        Json::Array(_) | Json::Object(_) => shape(at, "compared with a literal"),
    }
}

fn parse(document: &[u8]) -> Result<Json, CriteriaError> {
    let fault = RefCell::new(None);
    let document = without_negative_zeros(document);
    let mut reader = serde_json::Deserializer::from_slice(&document);
    let seed = Seed { nesting: 0, fault: &fault };
    let parsed = seed.deserialize(&mut reader).and_then(|json| reader.end().map(|()| json));
    parsed.map_err(|error| {
        let reason = match error.classify() {
            serde_json::error::Category::Eof => "it ends too early",
            _ => "it does not follow the grammar",
        };
        fault.take().unwrap_or(CriteriaError::Json { reason })
    })
}

/// The document with a blank in place of the sign of each integer `-0`, which serde_json cannot
/// tell from `-0.0`.
fn without_negative_zeros(document: &[u8]) -> Cow<'_, [u8]> {
    let mut document = Cow::Borrowed(document);
    let (mut in_text, mut at) = (false, 0);
    while let Some(rest) = document.get(at..).filter(|rest| !rest.is_empty()) {
        match rest {
            [b'\\', ..] if in_text => at += 1,
            [b'"', ..] => in_text = !in_text,
            // An exponent is not a number of its own, nor a fraction's start an integer.
            [b'e' | b'E', b'-', ..] => at += 1,
            [b'-', b'0', b'.' | b'e' | b'E', ..] => {}
            [b'-', b'0', ..] if !in_text => {
                if let Some(sign) = document.to_mut().get_mut(at) {
                    *sign = b' ';
                }
            }
            _ => {}
        }
        at += 1;
    }
    document
}

/// Reads one value; what it refuses by itself is left in `fault`.
#[derive(Clone, Copy)]
struct Seed<'a> {
    nesting: usize,
    fault: &'a RefCell<Option<CriteriaError>>,
}

impl Seed<'_> {
    /// The seed of the members of an array or object.
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        let inner = Self { nesting: self.nesting + 1, ..self };
        if inner.nesting > MAX_NESTING {
            let bound = CriteriaError::Bound { what: "levels of nesting", limit: MAX_NESTING };
            return Err(self.refuse(bound));
        }
        Ok(inner)
    }

    fn refuse<E: serde::de::Error>(self, why: CriteriaError) -> E {
        self.fault.replace(Some(why));
        E::custom("refused")
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Json;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(i64::try_from(value).map_or(Json::OtherNumber, Json::Int))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Json, E> {
        Ok(Json::OtherNumber)
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let inner = self.inner()?;
        let mut array = Vec::new();
        while let Some(member) = members.next_element_seed(inner)? {
            array.push(member);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let inner = self.inner()?;
        let mut object: Vec<(String, Json)> = Vec::new();
        while let Some(key) = members.next_key::<String>()? {
            object.push((key, members.next_value_seed(inner)?));
        }
        // Keys are compared as they read, so that an escape hides nothing.
        let mut keys: Vec<&str> = object.iter().map(|(key, _)| &**key).collect();
        keys.sort_unstable();
        if keys.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
            return Err(self.refuse(CriteriaError::Json { reason: "a key stands twice" }));
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(filter: &str) -> String {
        format!(
            r#"{{"profile":"libtmux-ruby.where","version":1,"entity":"pane","where":{filter}}}"#
        )
    }

    fn refused(document: &str) -> CriteriaError {
        read(document.as_bytes()).expect_err(document)
    }

    #[test]
    fn a_document_has_exactly_its_four_keys() {
        assert_eq!(read(document("{}").as_bytes()), Ok((Entity::Pane, Where::default())));
        for (from, to) in [
            (r#""version":1"#, r#""version":2"#),
            (r#""version":1"#, r#""version":1.0"#),
            (r#""version":1"#, r#""version":1e0"#),
            (r#""version":1"#, r#""version":"1""#),
            (r#""version":1,"#, ""),
            (r#""version":1"#, r#""version":1,"more":1"#),
            ("libtmux-ruby.where", "other"),
            (r#""pane""#, r#""panes""#),
            (r#""where":{}"#, r#""where":null"#),
            (r#""where":{}"#, r#""where":[]"#),
        ] {
            let text = document("{}").replace(from, to);
            assert_ne!(text, document("{}"));
            assert!(matches!(refused(&text), CriteriaError::Shape { .. }), "{text}");
        }
        assert!(matches!(refused("[]"), CriteriaError::Shape { .. }));
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_however_it_is_spelled() {
        for filter in [
            r#"{"dead":true,"dead":true}"#,
            r#"{"dead":true,"\u0064ead":false}"#,
            r#"{"pid":{"lt":1,"\u006ct":2}}"#,
        ] {
            let error = CriteriaError::Json { reason: "a key stands twice" };
            assert_eq!(refused(&document(filter)), error);
        }
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for filter in
            ["{", "{}}", "{'a':1}", r#"{"pid":NaN}"#, r#"{"pid":01}"#, r#"{"title":"\ud800"}"#]
        {
            assert!(matches!(refused(&document(filter)), CriteriaError::Json { .. }), "{filter}");
        }
        let invalid = [document("{}").as_bytes(), b"\xff"].concat();
        assert!(matches!(read(&invalid), Err(CriteriaError::Json { .. })));
    }

    #[test]
    fn numbers_are_integers_by_their_spelling() {
        for number in ["1.0", "1e3", "1e-0", "-0.0", "-0e0", "-0E-0", "9223372036854775808", "0.5"]
        {
            let text = document(&format!(r#"{{"pid":{number}}}"#));
            assert!(matches!(refused(&text), CriteriaError::Shape { .. }), "{number}");
        }
        for (spelled, number) in [("-1", -1i64), ("0", 0), ("-0", 0), ("-0 ", 0)] {
            let (_, filter) =
                read(document(&format!(r#"{{"pid":{spelled}}}"#)).as_bytes()).unwrap();
            assert_eq!(filter, Where::field("pid", Test::equals(number)), "{spelled}");
        }
        for spelled in ["--0", "1-0", "-00", "-0-0", "- 0"] {
            let text = document(&format!(r#"{{"pid":{spelled}}}"#));
            assert!(matches!(refused(&text), CriteriaError::Json { .. }), "{spelled}");
        }
        // In a text it is no number, whatever stands before it.
        let (_, filter) = read(document(r#"{"title":"\"-0\\","pid":-0}"#).as_bytes()).unwrap();
        let title = Where::field("title", Test::equals("\"-0\\")).clauses;
        let pid = Where::field("pid", Test::equals(0i64)).clauses;
        assert_eq!(filter.clauses, [title, pid].concat());
    }

    #[test]
    fn nesting_of_68_is_read_and_of_69_refused() {
        // The document and its `where` are two levels.
        let nested = |levels: usize| {
            document(&format!("{}{{}}{}", r#"{"not":"#.repeat(levels - 2), "}".repeat(levels - 2)))
        };
        assert!(read(nested(68).as_bytes()).is_ok());
        let bound = CriteriaError::Bound { what: "levels of nesting", limit: MAX_NESTING };
        assert_eq!(refused(&nested(69)), bound);
    }

    #[test]
    fn a_document_of_262_144_bytes_is_read_and_a_longer_one_refused() {
        let short = document("{}");
        let longest = short.clone() + &" ".repeat(MAX_DOCUMENT - short.len());
        assert!(read(longest.as_bytes()).is_ok());
        let bound = CriteriaError::Bound { what: "bytes", limit: MAX_DOCUMENT };
        assert_eq!(refused(&(longest + " ")), bound);
    }

    #[test]
    fn operators_are_read_as_they_are_built_in_rust() {
        let text = document(
            r#"{"pid":{"gte":1,"lt":9,"not":{"in":[3,4]}},"title":{"not":"x"},
                "window":{"isNot":null,"is":{"panes":{"none":{"dead":true}}}},"or":[{"dead":false}]}"#,
        );
        let pid =
            Test::at_least(1).and(Test::less_than(9)).and(Test::negated(Test::one_of([3i64, 4])));
        let window = Test {
            operators: vec![
                Operator::One { negated: true, filter: None },
                Operator::One {
                    negated: false,
                    filter: Some(Where::none("panes", Where::field("dead", Test::equals(true)))),
                },
            ],
        };
        let expected = Where {
            clauses: [
                Where::field("pid", pid),
                Where::field("title", Test::negated(Test::equals("x"))),
                Where::field("window", window),
                Where::any([Where::field("dead", Test::equals(false))]),
            ]
            .into_iter()
            .flat_map(|filter| filter.clauses)
            .collect(),
        };
        assert_eq!(read(text.as_bytes()).unwrap().1, expected);
    }

    #[test]
    fn an_operator_object_needs_an_operator_that_exists() {
        for filter in [
            r#"{"pid":{}}"#,
            r#"{"pid":{"between":1}}"#,
            r#"{"pid":[1]}"#,
            r#"{"pid":{"equals":{}}}"#,
            r#"{"pid":{"in":1}}"#,
            r#"{"and":{}}"#,
            r#"{"or":[1]}"#,
            r#"{"not":[]}"#,
        ] {
            assert!(matches!(refused(&document(filter)), CriteriaError::Shape { .. }), "{filter}");
        }
    }
}
