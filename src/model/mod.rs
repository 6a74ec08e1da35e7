//! Layer 5: what a server holds, typed.
//!
//! [`Tmux::snapshot`](crate::Tmux::snapshot) takes a whole server at one instant as a
//! [`Snapshot`]: sessions, windows, the links between them, panes and clients, joined and checked.
//! Ids are types of their own ([`SessionId`], [`WindowId`], [`PaneId`]) and parsed strictly;
//! names, titles and paths are [`Text`], which may hold any byte.
//!
//! # Wire
//!
//! `protocol-notes/06-formats.md`

mod entities;
mod id;
mod listing;
mod plan;
mod row;
mod snapshot;
mod text;
mod version;

pub use entities::{ClientInfo, Pane, Session, Window, WindowLink};
pub use id::{IdError, PaneId, SessionId, WindowId};
pub use listing::{ListedPane, PaneListing, PanePlace};
pub(crate) use plan::{Field, FieldKind, Plan, entity};
pub use row::DecodeError;
pub(crate) use row::{Row, Token};
pub use snapshot::{Snapshot, SnapshotQuery};
pub use text::{Text, unescape};
pub use version::Version;
