//! Layer 6: what panes show.
//!
//! [`Tmux::capture`](crate::Tmux::capture) reads a pane as a [`Screen`]: its rows as joined
//! logical lines and the pane's state, of one instant and in one round trip.
//!
//! # Wire
//!
//! `protocol-notes/07-captures.md`

mod cursor;
mod screen;

pub use cursor::{Cursor, CursorError};
pub use screen::{CaptureOptions, PaneState, Screen};
