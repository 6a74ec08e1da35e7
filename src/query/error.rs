//! Why criteria are refused.

/// Why criteria are refused. Names come from the document's own vocabulary; values are not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CriteriaError {
    /// The document is not JSON, or ambiguous JSON.
    Json {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A bound is passed.
    Bound {
        /// What is bounded.
        what: &'static str,
        /// The bound.
        limit: usize,
    },
    /// The document is of another shape.
    Shape {
        /// Where: a key of the document.
        at: Box<str>,
        /// What belongs there.
        expected: &'static str,
    },
    /// The entity has no field or relation of this name.
    Name {
        /// The name.
        name: Box<str>,
        /// The entity.
        entity: &'static str,
    },
    /// A test does not fit the field or relation.
    Test {
        /// The field or relation.
        name: Box<str>,
        /// What fits.
        expected: &'static str,
    },
    /// Something that was asked about has a text that is not UTF-8 in a field that is named.
    Undecodable {
        /// The field.
        name: &'static str,
        /// The entity.
        entity: &'static str,
    },
    /// To answer takes more steps than one question may.
    Effort {
        /// The most steps.
        limit: usize,
    },
    /// A number is outside the field's range.
    Range {
        /// The field.
        name: Box<str>,
        /// The least and the greatest that fit.
        range: (i64, i64),
    },
}

impl std::fmt::Display for CriteriaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Json { reason } => write!(f, "the criteria are not usable JSON: {reason}"),
            Self::Bound { what, limit } => write!(f, "the criteria have more than {limit} {what}"),
            Self::Shape { at, expected } => write!(f, "{at:?} must be {expected}"),
            Self::Name { name, entity } => {
                write!(
                    f,
                    "a {entity} has no field or relation {name:?}; the criteria schema lists them"
                )
            }
            Self::Test { name, expected } => write!(f, "{name:?} takes {expected}"),
            Self::Undecodable { name, entity } => {
                write!(f, "{name} of a {entity} is not UTF-8 and cannot be compared; leave it out")
            }
            Self::Effort { limit } => {
                write!(
                    f,
                    "on this server they take more than {limit} steps; ask for less at a time"
                )
            }
            Self::Range { name, range: (least, greatest) } => {
                write!(f, "{name:?} takes numbers from {least} to {greatest}")
            }
        }
    }
}

impl std::error::Error for CriteriaError {}

/// A key of the document, fit for a message.
pub(super) fn shown(key: &str) -> Box<str> {
    const LONGEST: usize = 64;
    key.chars().take(LONGEST).collect()
}
