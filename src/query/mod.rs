//! Layer 6: asking a snapshot for what matches.
//!
//! [`Criteria`] is a question about one kind of entity: conditions on its fields, combined, and on
//! what it is related to. It comes from JSON ([`Criteria::from_json`], profile
//! `libtmux-ruby.where`, version 1) or is built in Rust ([`Where`]), is checked whole before
//! anything is asked, and then runs over a [`Snapshot`](crate::model::Snapshot) without I/O.
//!
//! ```
//! use muxwire::query::{Criteria, Entity, Test, Where};
//!
//! let json = br#"{
//!   "profile": "libtmux-ruby.where", "version": 1, "entity": "session",
//!   "where": {"name": {"startsWith": "build"}, "windows": {"some": {"panes": {"some": {"dead": true}}}}}
//! }"#;
//! let from_json = Criteria::from_json(json)?;
//!
//! let dead = Where::field("dead", Test::equals(true));
//! let with_dead_pane = Where::some("windows", Where::some("panes", dead));
//! let named = Where::field("name", Test::starts_with("build"));
//! let in_rust = Criteria::new(Entity::Session, Where::all([named, with_dead_pane]))?;
//! assert_eq!(from_json.entity(), in_rust.entity());
//! # Ok::<(), muxwire::query::CriteriaError>(())
//! ```
//!
//! ```no_run
//! # use muxwire::query::{Criteria, Item};
//! # async fn example(criteria: Criteria) -> Result<(), Box<dyn std::error::Error>> {
//! let snapshot = muxwire::Tmux::builder().build()?.snapshot().await?;
//! for item in criteria.select(&snapshot)? {
//!     if let Item::Session(session) = item {
//!         println!("{} {}", session.id, session.name);
//!     }
//!     println!("{}", serde_json::to_string(&item)?); // {"id":"$1","name":"build",…}
//! }
//! # Ok(())
//! # }
//! ```

mod check;
mod document;
mod entity;
mod error;
mod evaluate;
mod item;
mod json_schema;
#[cfg(test)]
mod tests;
mod tree;

pub use check::{MAX_DEPTH, MAX_NODES, MAX_TEXT, MAX_TEXTS};
pub use document::{MAX_DOCUMENT, MAX_NESTING};
pub use entity::Entity;
pub use error::CriteriaError;
pub use evaluate::MAX_STEPS;
pub use item::Item;
pub use json_schema::json_schema;
pub use tree::{Literal, Test, Where};

use check::Checked;

/// The profile that a document names.
pub const PROFILE: &str = "libtmux-ruby.where";
/// The version of the profile.
pub const VERSION: i64 = 1;

/// A question about one kind of entity, checked and ready to be asked.
#[derive(Clone, Debug)]
pub struct Criteria {
    entity: Entity,
    checked: Checked,
}

impl Criteria {
    /// Checks `filter` as a question about `entity`.
    ///
    /// # Errors
    ///
    /// [`CriteriaError`]: a name that `entity` does not have, a test that does not fit its type, a
    /// number out of range, or more than the bounds allow.
    pub fn new(entity: Entity, filter: Where) -> Result<Self, CriteriaError> {
        Ok(Self { entity, checked: check::check(entity, &filter)? })
    }

    /// Reads a document: `{"profile", "version", "entity", "where"}`, at most 262 144 bytes.
    ///
    /// # Errors
    ///
    /// [`CriteriaError`]: the errors of [`new`](Self::new), and whatever makes the document
    /// ambiguous: a key twice, a key more, another profile, a number that is not an integer.
    pub fn from_json(document: &[u8]) -> Result<Self, CriteriaError> {
        let (entity, filter) = document::read(document)?;
        Self::new(entity, filter)
    }

    /// What is asked for.
    #[must_use]
    pub fn entity(&self) -> Entity {
        self.entity
    }
}
