//! One pane read once.

use bytes::Bytes;
use memchr::memmem::Finder;

use crate::client::{Delivery, Error, ErrorKind, Server, Tmux};
use crate::model::{DecodeError, PaneId, Plan, Row, SessionId, Text, Token, WindowId, entity};
use crate::protocol::{Command, CommandList};

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
}

impl Tmux {
    /// Reads a pane: content and state of one instant, in one round trip.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when there is no such pane, [`ErrorKind::InvalidInput`] for rows out
    /// of range, and the errors of [`run`](Tmux::run).
    ///
    /// # Cancel safety
    ///
    /// Changes nothing; dropped, the connection is closed.
    ///
    /// # Wire
    ///
    /// `protocol-notes/07-captures.md`, notes 7.1 and 7.2.
    pub async fn capture(&self, pane: PaneId, options: &CaptureOptions) -> Result<Screen, Error> {
        if [options.start, options.end].iter().flatten().any(|row| !ROWS.contains(row)) {
            let message = format!("start and end are rows of at most {}", ROWS.end());
            return Err(Error::invalid_input(message));
        }
        let token = Token::new()?;
        let output = self.run(commands(pane, options, &token)).await?;
        if output.status != 0 && output.complaint().starts_with("no current") {
            // What tmux says of any target on a server without sessions.
            let message = format!("can't find pane {pane}: the server has no sessions");
            return Err(Error::new(ErrorKind::NotFound, Delivery::Observed, message));
        }
        let mut output = output.ok()?;
        let server = output.server.take().ok_or_else(Error::no_proof)?;
        read(&output.stdout, &token, server, options.max_lines)
            .map_err(|error| Error::new(ErrorKind::Decode, Delivery::Observed, error.to_string()))
    }
}

/// State first, then content: if the pane is not there, one of the two says so.
fn commands(pane: PaneId, options: &CaptureOptions, token: &Token) -> CommandList {
    let target = pane.to_string();
    let state =
        Command::new("display-message").args(["-p", "-t", &target]).arg(PaneState::format(token));
    let mut content = Command::new("capture-pane").args(["-p", "-J", "-t", &target]);
    if options.styles {
        content = content.arg("-e");
    }
    match options.start {
        Some(row) => content = content.arg("-S").arg(row.to_string()),
        None if options.history => content = content.args(["-S", "-"]),
        None => {}
    }
    if let Some(row) = options.end {
        content = content.arg("-E").arg(row.to_string());
    }
    [state, content].into_iter().collect()
}

fn read(
    stdout: &Bytes,
    token: &Token,
    server: Server,
    max_lines: Option<usize>,
) -> Result<Screen, DecodeError> {
    let finder = Finder::new(token.as_str());
    let mut row = Row::new(stdout, &finder, server.encoding);
    let pane = row.row()?;
    let (lines, lines_dropped, replaced_bytes) = newest(row.rest(), max_lines);
    Ok(Screen { server, pane, lines, lines_dropped, replaced_bytes })
}

/// The last `max_lines` lines of `content`, how many were before them, and how many bytes of them
/// were not UTF-8.
fn newest(content: &[u8], max_lines: Option<usize>) -> (Vec<String>, usize, usize) {
    // Without blank rows at the end; blanks at the end of the other rows go below.
    let content = content.trim_ascii_end();
    let newlines = memchr::memchr_iter(b'\n', content).count();
    let count = if content.is_empty() { 0 } else { newlines + 1 };
    let kept = max_lines.map_or(count, |most| most.min(count));
    let mut line_ends = memchr::memrchr_iter(b'\n', content);
    let start = line_ends.nth(kept.saturating_sub(1)).map_or(0, |end| end + 1);
    let mut replaced_bytes = 0;
    let newest = content.get(start..).unwrap_or_default().split(|&byte| byte == b'\n');
    let lines = newest.take(kept).map(|line| {
        let line = line.trim_ascii_end();
        replaced_bytes += invalid_bytes(line);
        String::from_utf8_lossy(line).into_owned()
    });
    (lines.collect(), count - kept, replaced_bytes)
}

/// How many bytes of `line` are not part of a UTF-8 character.
fn invalid_bytes(line: &[u8]) -> usize {
    line.utf8_chunks().map(|chunk| chunk.invalid().len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_bytes_are_counted_and_characters_are_not() {
        assert_eq!(invalid_bytes("é☃ plain".as_bytes()), 0);
        assert_eq!(invalid_bytes(b"a\xffb\xe2\x98c\xfe"), 4);
    }

    #[test]
    fn the_newest_lines_are_kept_and_the_others_counted() {
        let content = b"\none \xff\n\n  two\xff  \n   \n\n";
        let lines = |max_lines| newest(content, max_lines);
        let all = ["", "one \u{fffd}", "", "  two\u{fffd}"].map(str::to_owned);
        assert_eq!(lines(None), (all.to_vec(), 0, 2));
        for (most, bytes) in [(0, 0), (1, 1), (2, 1), (3, 2), (4, 2)] {
            assert_eq!(lines(Some(most)), (all[4 - most..].to_vec(), 4 - most, bytes), "{most}");
        }
        assert_eq!(lines(Some(5)), (all.to_vec(), 0, 2));
        for blank in [&b""[..], b"\n", b"  \n\n  \n"] {
            assert_eq!(newest(blank, Some(9)), (Vec::new(), 0, 0));
        }
    }
}
