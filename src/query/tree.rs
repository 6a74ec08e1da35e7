//! Filters as they are written, before they are checked.

/// A filter on one entity; without conditions it is true.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Where {
    pub(super) clauses: Vec<Clause>,
}

/// One condition of a filter; all of a filter's hold together.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Clause {
    And(Vec<Where>),
    Or(Vec<Where>),
    Not(Where),
    /// A field or relation and what it is to be.
    Named(Box<str>, Test),
}

/// What a field or relation is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    pub(super) operators: Vec<Operator>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operator {
    Equals(Literal),
    Not(Test),
    In(Vec<Literal>),
    Order(Order, Literal),
    Match(Match, Literal),
    Many(Quantifier, Where),
    One { negated: bool, filter: Option<Where> },
}

/// A comparison of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Lt,
    Lte,
    Gt,
    Gte,
}

/// A comparison of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    Contains,
    StartsWith,
    EndsWith,
}

/// How many of the related things a filter is to hold for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    Some,
    Every,
    None,
}

/// A value to compare with.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// Nothing, for fields that may be null.
    Null,
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A text; ids are texts too.
    Text(String),
}

macro_rules! literal_from {
    ($($from:ty => $variant:ident),*) => {$(
        impl From<$from> for Literal {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}
literal_from!(bool => Bool, i64 => Int, u32 => Int, i32 => Int, &str => Text, String => Text);

impl Where {
    /// Holds when a field passes a test.
    #[must_use]
    pub fn field(name: &str, test: Test) -> Self {
        Clause::Named(name.into(), test).into()
    }

    /// Holds when all of these hold; with none of them it does.
    #[must_use]
    pub fn all(filters: impl IntoIterator<Item = Self>) -> Self {
        Clause::And(filters.into_iter().collect()).into()
    }

    /// Holds when one of these holds; with none of them it does not.
    #[must_use]
    pub fn any(filters: impl IntoIterator<Item = Self>) -> Self {
        Clause::Or(filters.into_iter().collect()).into()
    }

    /// Holds when the other does not.
    #[must_use]
    pub fn negated(filter: Self) -> Self {
        Clause::Not(filter).into()
    }

    /// Holds when a filter holds for some of what a relation leads to.
    #[must_use]
    pub fn some(relation: &str, filter: Self) -> Self {
        Self::field(relation, Operator::Many(Quantifier::Some, filter).into())
    }

    /// Holds when a filter holds for all of what a relation leads to, and when it leads to nothing.
    #[must_use]
    pub fn every(relation: &str, filter: Self) -> Self {
        Self::field(relation, Operator::Many(Quantifier::Every, filter).into())
    }

    /// Holds when a filter holds for none of what a relation leads to.
    #[must_use]
    pub fn none(relation: &str, filter: Self) -> Self {
        Self::field(relation, Operator::Many(Quantifier::None, filter).into())
    }

    /// Holds when a filter holds for the one thing that a relation leads to; `None` asks that it
    /// leads to nothing.
    #[must_use]
    pub fn is(relation: &str, filter: Option<Self>) -> Self {
        Self::field(relation, Operator::One { negated: false, filter }.into())
    }

    /// Holds when [`is`](Self::is) does not.
    #[must_use]
    pub fn is_not(relation: &str, filter: Option<Self>) -> Self {
        Self::field(relation, Operator::One { negated: true, filter }.into())
    }
}

impl From<Clause> for Where {
    fn from(clause: Clause) -> Self {
        Self { clauses: vec![clause] }
    }
}

impl From<Operator> for Test {
    fn from(operator: Operator) -> Self {
        Self { operators: vec![operator] }
    }
}

impl Test {
    /// Passed by this value.
    #[must_use]
    pub fn equals(value: impl Into<Literal>) -> Self {
        Operator::Equals(value.into()).into()
    }

    /// Passed by what does not pass the other.
    #[must_use]
    pub fn negated(test: Self) -> Self {
        Operator::Not(test).into()
    }

    /// Passed by one of these values.
    #[must_use]
    pub fn one_of(values: impl IntoIterator<Item = impl Into<Literal>>) -> Self {
        Operator::In(values.into_iter().map(Into::into).collect()).into()
    }

    /// Passed by integers under this one.
    #[must_use]
    pub fn less_than(value: i64) -> Self {
        Operator::Order(Order::Lt, value.into()).into()
    }

    /// Passed by integers up to this one.
    #[must_use]
    pub fn at_most(value: i64) -> Self {
        Operator::Order(Order::Lte, value.into()).into()
    }

    /// Passed by integers over this one.
    #[must_use]
    pub fn greater_than(value: i64) -> Self {
        Operator::Order(Order::Gt, value.into()).into()
    }

    /// Passed by this integer and those over it.
    #[must_use]
    pub fn at_least(value: i64) -> Self {
        Operator::Order(Order::Gte, value.into()).into()
    }

    /// Passed by texts that hold this one, byte for byte.
    #[must_use]
    pub fn contains(text: &str) -> Self {
        Operator::Match(Match::Contains, text.into()).into()
    }

    /// Passed by texts that start with this one, byte for byte.
    #[must_use]
    pub fn starts_with(text: &str) -> Self {
        Operator::Match(Match::StartsWith, text.into()).into()
    }

    /// Passed by texts that end with this one, byte for byte.
    #[must_use]
    pub fn ends_with(text: &str) -> Self {
        Operator::Match(Match::EndsWith, text.into()).into()
    }

    /// Passed by what passes both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.operators.extend(other.operators);
        self
    }
}
