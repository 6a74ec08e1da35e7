//! Layer 6: what panes show.
//!
//! [`Tmux::capture`](crate::Tmux::capture) reads a pane as a [`Screen`]: its rows as joined
//! logical lines and the pane's state, of one instant and in one round trip.
//! [`Tmux::since`](crate::Tmux::since) reads what was written since, as a [`Delta`],
//! [`Tmux::observe`](crate::Tmux::observe) does so for many panes, and
//! [`Tmux::search`](crate::Tmux::search) finds text in them.
//!
//! # Wire
//!
//! `protocol-notes/07-captures.md`

mod ask;
mod compare;
mod cursor;
mod differ;
mod glance;
mod grid;
mod observe;
mod screen;
mod search;
#[cfg(test)]
mod simulated;
mod since;
mod text;
mod view;

pub use compare::Missed;
pub use cursor::{Cursor, CursorError};
pub use differ::{Differ, Difference, Splice};
pub use glance::{Glance, Scope};
pub use observe::{Observation, Observed, PaneChange};
pub use screen::{CaptureOptions, PaneState, Screen};
pub use search::{MAX_PATTERN, Match, Matches, Pattern, PatternError, SearchOptions};
pub use since::{Delta, Kind, ScreenDelta, SinceOptions};
pub use view::{Baseline, View};
