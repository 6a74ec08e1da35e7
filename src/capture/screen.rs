//! One pane read once.

use super::ask::{Above, Ask, Reckoning};
use super::glance::Glance;
use super::grid::{Lines, Part};
use super::text::{decode, drop_blanks};
use super::view::{View, now};
use crate::client::{Error, Server, Tmux};
use crate::model::{PaneId, SessionId, Text, WindowId, entity};

/// Rows that tmux takes as a number: from this far up in the history to this far down.
const ROWS: std::ops::RangeInclusive<i32> = i32::MIN..=32_767;

/// What of a pane is read, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureOptions {
    /// Read the whole history too. Default: the visible screen.
    pub history: bool,
    /// First row: 0 is the top of the screen, negative ones are in the history, at most 32 767.
    /// Default: 0, or the oldest row with `history`.
    pub start: Option<i32>,
    /// Last row, counted like `start`. Default: the last of the screen.
    pub end: Option<i32>,
    /// Keep colours and attributes as escape sequences. Default: plain text.
    pub styles: bool,
    /// Keep at most so many lines, the newest. Default: all.
    pub max_lines: Option<usize>,
    /// Remember the place too, for reading on with [`Tmux::since`]: [`Screen::view`]. It costs the
    /// server a few short captures more. Default: no.
    pub view: bool,
}

entity! {
    /// A pane as it stood when it was read.
    pub struct PaneState {
        /// Its id.
        id: PaneId = id("pane_id"),
        /// Where it stands in the window.
        index: u32 = number("pane_index"),
        /// The window that it is in.
        window_id: WindowId = id("window_id"),
        /// The session that it was seen in: that used last, if there are several.
        session_id: SessionId = id("session_id"),
        /// It is the window's active pane.
        active: bool = flag("pane_active"),
        /// Width in cells.
        width: u32 = number("pane_width"),
        /// Height in cells.
        height: u32 = number("pane_height"),
        /// Process id of what was started in it; 0 for a pane without a program, and from 3.8 on
        /// for a dead one.
        pid: u32 = number_or_0("pane_pid"),
        /// What was started in it has ended.
        dead: bool = flag("pane_dead"),
        /// The exit status of a dead pane that ended by itself.
        dead_status: Option<u8> = optional_number("pane_dead_status"),
        /// It is in copy mode or another mode, which keys go to.
        in_mode: bool = flag("pane_in_mode"),
        /// It shows the alternate screen of a full-screen program.
        alternate_on: bool = flag("alternate_on"),
        /// Column of the cursor, 0 at the left.
        cursor_x: u32 = number("cursor_x"),
        /// Row of the cursor, 0 at the top of the screen.
        cursor_y: u32 = number("cursor_y"),
        /// How many lines its history holds.
        history_size: u32 = number("history_size"),
        /// How many lines its history may hold.
        history_limit: u32 = number("history_limit"),
        /// When something was last written in its window, in seconds since the epoch.
        activity: i64 = number("window_activity"),
        /// Name of the mode that it is in, if any.
        mode: Option<Text> = optional_text("pane_mode"),
        /// Name of the session.
        session_name: Text = text("session_name"),
        /// Name of the window.
        window_name: Text = text("window_name"),
        /// Name of the program in the foreground.
        command: Text = text("pane_current_command"),
        /// Working directory of that program, if it can be told.
        path: Option<Text> = optional_text("pane_current_path"),
        /// Its title.
        title: Text = text("pane_title"),
    }
}

/// What a pane showed, and its state at that instant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Screen {
    /// The server that was seen.
    pub server: Server,
    /// The pane's state.
    pub pane: PaneState,
    /// Logical lines from top to bottom: a line that the width wrapped is one. Blanks at the end
    /// of lines and blank lines at the end are left out.
    pub lines: Vec<String>,
    /// How many older lines `max_lines` cut off.
    pub lines_dropped: usize,
    /// How many bytes were not UTF-8 and are U+FFFD in `lines`.
    pub replaced_bytes: usize,
    /// What tmux wrote on the screen when the pane's program ended ("Pane is dead"), which is not
    /// among the lines.
    pub banner: Option<String>,
    /// Where a reader of this screen stands, if [`CaptureOptions::view`] asked for it.
    pub view: Option<View>,
}

impl Tmux {
    /// Reads a pane: content and state of one instant, in one round trip.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) when there is no such pane,
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for rows out of range, and the
    /// errors of [`run`](Tmux::run).
    ///
    /// # Cancel safety
    ///
    /// Changes nothing; dropped, the connection is closed.
    ///
    /// # Wire
    ///
    /// `protocol-notes/07-captures.md`, notes 7.1 to 7.4.
    pub async fn capture(&self, pane: PaneId, options: &CaptureOptions) -> Result<Screen, Error> {
        if [options.start, options.end].iter().flatten().any(|row| !ROWS.contains(row)) {
            let message = format!("start and end are rows of at most {}", ROWS.end());
            return Err(Error::invalid_input(message));
        }
        let of_screen =
            !options.history && !options.styles && (options.start, options.end) == (None, None);
        let ask = Ask {
            pane,
            place: options.view.then_some((Above::Nothing, Reckoning::Guess(0))),
            probes: Vec::new(),
            full: true,
            unless: None,
            content: (!options.view || !of_screen).then_some(*options),
        };
        let asked = now();
        let reply = ask.run(self).await?;
        let captures = ask.take(&reply).unwrap_or_default();
        let mut content = captures.content;
        let mut banner = None;
        if let (Some(content), None) = (&mut content, options.end) {
            banner = take_banner(&reply.pane, content);
        }
        let mut view = None;
        if let Some(mut parts) = captures.parts {
            banner = take_banner(&reply.pane, &mut parts.screen).or(banner);
            let lines = Lines::assemble(&reply.pane, parts);
            view = Some(View::new(&reply.server, &reply.pane, &lines, None, asked));
            content.get_or_insert(lines.screen);
        }
        let mut lines = content.unwrap_or_default();
        drop_blanks(&mut lines);
        let lines_dropped = options.max_lines.map_or(0, |most| lines.len().saturating_sub(most));
        let (lines, replaced_bytes) = decode(lines.into_iter().skip(lines_dropped));
        let (server, pane) = (reply.server, reply.state.ok_or_else(Error::no_proof)?);
        Ok(Screen { server, pane, lines, lines_dropped, replaced_bytes, banner, view })
    }
}

/// Takes the banner of a dead pane off the end of lines that go down to the bottom of its screen.
///
/// tmux writes it into the last row when the program's status is known. What it says can be
/// configured (3.3), so that it is known by its place; after the screen was resized only by what
/// it says by default.
pub(super) fn take_banner(pane: &Glance, lines: &mut Part<'_>) -> Option<String> {
    if !pane.dead {
        return None;
    }
    let at = lines.iter().rposition(|line| !line.trim_ascii_end().is_empty())?;
    let line = lines.get(at)?.trim_ascii_end();
    let is_at_bottom = at + 1 == lines.len() && pane.dead_status.is_some();
    if !is_at_bottom && !line.starts_with(b"Pane is dead") {
        return None;
    }
    let banner = String::from_utf8_lossy(line).into_owned();
    lines.truncate(at);
    Some(banner)
}
