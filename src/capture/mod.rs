//! Layer 6: what panes show.
//!
//! [`Tmux::capture`](crate::Tmux::capture) reads a pane as a [`Screen`]: its rows as joined
//! logical lines and the pane's state, of one instant and in one round trip.
//! [`Tmux::since`](crate::Tmux::since) reads what was written since, as a [`Delta`].
//!
//! # Wire
//!
//! `protocol-notes/07-captures.md`

mod ask;
mod compare;
mod cursor;
mod differ;
mod grid;
mod screen;
mod since;
mod text;
mod view;

pub use compare::Missed;
pub use cursor::{Cursor, CursorError};
pub use differ::{Differ, Difference, Splice};
pub use screen::{CaptureOptions, PaneState, Screen};
pub use since::{Delta, Kind, ScreenDelta, SinceOptions};
pub use view::{Baseline, View};
