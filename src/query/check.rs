//! Filters checked against what an entity has.

use super::entity::{Arity, Field, Kind, Relation};
use super::error::shown;
use super::tree::{Clause, Literal, Match, Operator, Order, Quantifier, Test, Where};
use super::{CriteriaError, Entity};

/// Greatest depth of filters and tests in each other; the outermost filter has depth 0.
pub const MAX_DEPTH: usize = 32;
/// Most filters, tests, operators and literals together.
pub const MAX_NODES: usize = 2_048;
/// Most members of an `and` or `or`.
const MAX_MEMBERS: usize = 2_048;
/// Most members of an `in`.
const MAX_IN: usize = 1_024;
/// Greatest length of a text in bytes.
pub const MAX_TEXT: usize = 65_536;
/// Greatest length of all texts together.
pub const MAX_TEXTS: usize = 262_144;

/// A filter that fits its entity, and what it reads.
#[derive(Clone, Debug)]
pub(super) struct Checked {
    pub(super) node: Node,
    /// The text fields that it names, in branches that are never taken too.
    pub(super) texts: Vec<(Entity, &'static Field)>,
    /// How many filters there are on what relations lead to.
    pub(super) related: usize,
}

/// A filter on what a relation leads to. Relations lead to the same things again and again, so
/// that its outcome is remembered for each thing, under this number.
#[derive(Clone, Debug)]
pub(super) struct Related {
    pub(super) number: usize,
    pub(super) node: Node,
}

/// A filter that fits its entity.
#[derive(Clone, Debug)]
pub(super) enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Field(&'static Field, Condition),
    Many(&'static Relation, Quantifier, Box<Related>),
    /// `None` asks for absence.
    One(&'static Relation, Option<Box<Related>>),
}

/// A test that fits its field.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    All(Vec<Condition>),
    Not(Box<Condition>),
    Equals(Constant),
    In(Vec<Constant>),
    Order(Order, i64),
    Match(Match, Box<[u8]>),
}

/// A literal as a field of its kind holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Constant {
    Null,
    Bool(bool),
    Int(i64),
    Id(u32),
    /// A text that no id is.
    NoId,
    Text(Box<[u8]>),
}

/// Checks `filter` as a filter on `entity`.
pub(super) fn check(entity: Entity, filter: &Where) -> Result<Checked, CriteriaError> {
    let mut checker = Checker::default();
    let node = checker.filter(entity, filter, 0)?;
    Ok(Checked { node, texts: checker.texts, related: checker.related })
}

/// Counts what is bounded.
#[derive(Default)]
struct Checker {
    nodes: usize,
    text: usize,
    texts: Vec<(Entity, &'static Field)>,
    related: usize,
}

impl Checker {
    fn filter(
        &mut self,
        entity: Entity,
        filter: &Where,
        depth: usize,
    ) -> Result<Node, CriteriaError> {
        self.node(depth)?;
        let mut all = Vec::with_capacity(filter.clauses.len());
        for clause in &filter.clauses {
            all.push(match clause {
                Clause::And(filters) => Node::All(self.filters(entity, filters, depth)?),
                Clause::Or(filters) => Node::Any(self.filters(entity, filters, depth)?),
                Clause::Not(filter) => {
                    Node::Not(Box::new(self.filter(entity, filter, depth + 1)?))
                }
                Clause::Named(name, test) => self.named(entity, name, test, depth)?,
            });
        }
        Ok(Node::All(all))
    }

    fn filters(
        &mut self,
        entity: Entity,
        filters: &[Where],
        depth: usize,
    ) -> Result<Vec<Node>, CriteriaError> {
        if filters.len() > MAX_MEMBERS {
            return Err(CriteriaError::Bound { what: "members of and or or", limit: MAX_MEMBERS });
        }
        filters.iter().map(|filter| self.filter(entity, filter, depth + 1)).collect()
    }

    fn named(
        &mut self,
        entity: Entity,
        name: &str,
        test: &Test,
        depth: usize,
    ) -> Result<Node, CriteriaError> {
        if let Some(field) = entity.fields().iter().find(|field| field.name == name) {
            let known = |(of, other): &(Entity, &Field)| *of == entity && other.name == name;
            if field.kind == Kind::Text && !self.texts.iter().any(known) {
                self.texts.push((entity, field));
            }
            return Ok(Node::Field(field, self.test(field, test, depth + 1)?));
        }
        if let Some(relation) = entity.relations().iter().find(|relation| relation.name == name) {
            return self.relation(relation, test, depth + 1);
        }
        Err(CriteriaError::Name { name: shown(name), entity: entity.name() })
    }

    fn relation(
        &mut self,
        relation: &'static Relation,
        test: &Test,
        depth: usize,
    ) -> Result<Node, CriteriaError> {
        self.node(depth)?;
        let mut all = Vec::with_capacity(test.operators.len());
        for operator in &test.operators {
            all.push(match (relation.arity, operator) {
                (Arity::Many, Operator::Many(quantifier, filter)) => {
                    let filter = self.related(relation, filter, depth + 1)?;
                    Node::Many(relation, *quantifier, filter)
                }
                (Arity::One | Arity::ZeroOrOne, Operator::One { negated, filter })
                    if filter.is_some() || relation.arity == Arity::ZeroOrOne =>
                {
                    let filter = filter.as_ref();
                    let filter = filter.map(|filter| self.related(relation, filter, depth + 1));
                    let node = Node::One(relation, filter.transpose()?);
                    if *negated { Node::Not(Box::new(node)) } else { node }
                }
                (arity, _) => {
                    let expected = match arity {
                        Arity::Many => "some, every or none with a filter",
                        Arity::One => "is or isNot with a filter",
                        Arity::ZeroOrOne => "is or isNot with a filter or null",
                    };
                    return Err(CriteriaError::Test { name: relation.name.into(), expected });
                }
            });
        }
        Ok(Node::All(all))
    }

    /// A filter on what `relation` leads to.
    fn related(
        &mut self,
        relation: &Relation,
        filter: &Where,
        depth: usize,
    ) -> Result<Box<Related>, CriteriaError> {
        let node = self.filter(relation.target, filter, depth)?;
        let number = self.related;
        self.related += 1;
        Ok(Box::new(Related { number, node }))
    }

    fn test(
        &mut self,
        field: &'static Field,
        test: &Test,
        depth: usize,
    ) -> Result<Condition, CriteriaError> {
        self.node(depth)?;
        let misfit = || CriteriaError::Test { name: field.name.into(), expected: fits(field) };
        let mut all = Vec::with_capacity(test.operators.len());
        for operator in &test.operators {
            all.push(match operator {
                Operator::Equals(literal) => Condition::Equals(self.constant(field, literal)?),
                Operator::Not(test) => {
                    Condition::Not(Box::new(self.test(field, test, depth + 1)?))
                }
                Operator::In(literals) if literals.len() > MAX_IN => {
                    return Err(CriteriaError::Bound { what: "members of in", limit: MAX_IN });
                }
                Operator::In(literals) => {
                    let constants = literals.iter().map(|literal| self.constant(field, literal));
                    Condition::In(constants.collect::<Result<_, _>>()?)
                }
                Operator::Order(order, literal) => match self.constant(field, literal)? {
                    Constant::Int(number) => Condition::Order(*order, number),
                    _ => return Err(misfit()),
                },
                Operator::Match(matching, literal) => match self.constant(field, literal)? {
                    Constant::Text(text) => Condition::Match(*matching, text),
                    _ => return Err(misfit()),
                },
                Operator::Many(..) | Operator::One { .. } => return Err(misfit()),
            });
        }
        Ok(Condition::All(all))
    }

    fn constant(&mut self, field: &Field, literal: &Literal) -> Result<Constant, CriteriaError> {
        self.node(0)?;
        if let Literal::Text(text) = literal {
            self.text += text.len();
            if text.len() > MAX_TEXT {
                return Err(CriteriaError::Bound { what: "bytes in one text", limit: MAX_TEXT });
            }
            if self.text > MAX_TEXTS {
                return Err(CriteriaError::Bound { what: "bytes of text", limit: MAX_TEXTS });
            }
        }
        Ok(match (field.kind, literal) {
            (_, Literal::Null) if field.nullable => Constant::Null,
            (Kind::Bool, Literal::Bool(value)) => Constant::Bool(*value),
            (Kind::Int(least, greatest), Literal::Int(number)) => {
                if !(least..=greatest).contains(number) {
                    let range = (least, greatest);
                    return Err(CriteriaError::Range { name: field.name.into(), range });
                }
                Constant::Int(*number)
            }
            (Kind::Text, Literal::Text(text)) => Constant::Text(text.as_bytes().into()),
            (Kind::Id(sigil), Literal::Text(text)) => id(sigil, text),
            _ => {
                let expected = fits(field);
                return Err(CriteriaError::Test { name: field.name.into(), expected });
            }
        })
    }

    /// Counts a node at `depth`.
    fn node(&mut self, depth: usize) -> Result<(), CriteriaError> {
        self.nodes += 1;
        if depth > MAX_DEPTH {
            return Err(CriteriaError::Bound { what: "levels", limit: MAX_DEPTH });
        }
        if self.nodes > MAX_NODES {
            return Err(CriteriaError::Bound { what: "conditions and literals", limit: MAX_NODES });
        }
        Ok(())
    }
}

/// The number of an id, if the text is one as tmux writes it.
fn id(sigil: char, text: &str) -> Constant {
    // The three kinds of id differ in nothing but the sign.
    let number = text
        .strip_prefix(sigil)
        .and_then(|digits| crate::model::PaneId::parse(format!("%{digits}").as_bytes()).ok());
    number.map_or(Constant::NoId, |id| Constant::Id(id.number()))
}

/// What a field's tests and literals may be.
fn fits(field: &Field) -> &'static str {
    match (field.kind, field.nullable) {
        (Kind::Bool, _) => "true or false: as it is, or with equals, not, in",
        (Kind::Int(..), false) => "an integer: as it is, or with equals, not, in, lt, lte, gt, gte",
        (Kind::Int(..), true) => {
            "an integer or null: as it is, or with equals, not, in; integers with lt, lte, gt, gte"
        }
        (Kind::Id(_), false) => "an id as text: as it is, or with equals, not, in",
        (Kind::Id(_), true) => "an id as text or null: as it is, or with equals, not, in",
        (Kind::Text, false) => {
            "text: as it is, or with equals, not, in, contains, startsWith, endsWith"
        }
        (Kind::Text, true) => {
            "text or null: as it is, or with equals, not, in; text with contains, startsWith, endsWith"
        }
    }
}
