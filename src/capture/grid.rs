//! Rows of a pane's grid, and how captures of some of them fit together to lines.

use std::borrow::Cow;

use super::glance::Glance;
use super::text::{drop_blanks, hash, trim};

/// How many rows of the history are read above a screen, by which its place is known again.
pub(super) const ANCHOR_ROWS: u32 = 16;

/// The lowest row that tmux takes as a number, counted from the top of the screen.
const LOWEST_ROW: i64 = 32_767;

/// Rows of a grid, 0 being the oldest of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Rows {
    /// The rows that `capture-pane -S start -E end` prints, both counted from the top of the
    /// screen. It takes them the other way round too, and for a start that it takes for no number
    /// the top of the screen.
    pub(super) fn printed(start: i64, end: i64, pane: &Glance) -> Self {
        let bottom = i64::from(pane.history_size) + i64::from(pane.height) - 1;
        let row = |from_top: i64| {
            let row = from_top.saturating_add(pane.history_size.into()).clamp(0, bottom.max(0));
            u32::try_from(row).unwrap_or(u32::MAX)
        };
        let start = if start > LOWEST_ROW { 0 } else { start };
        let (first, last) = (row(start.min(end)), row(end.max(start)));
        Self { first, last }
    }
}

/// The row that a view of a pane with so much history begins at.
pub(super) fn anchor_row(history_size: u32) -> u32 {
    history_size.saturating_sub(ANCHOR_ROWS)
}

/// The lines of one capture, wrapped rows joined.
pub(super) type Part<'a> = Vec<&'a [u8]>;

/// Captures of one instant that follow each other: what is above the anchor, if that was asked
/// for, the anchor, the screen. A seam is the two rows on both sides of a border, captured
/// together: one line if a line crosses it.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    /// What is above the tail, and their seam.
    pub(super) head: Option<((Rows, Part<'a>), Part<'a>)>,
    pub(super) tail: Option<(Rows, Part<'a>)>,
    pub(super) upper_seam: Part<'a>,
    pub(super) anchor: Part<'a>,
    pub(super) lower_seam: Part<'a>,
    pub(super) screen: Part<'a>,
}

/// A row and the line that it is in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) row: u32,
    /// By its place among the lines.
    pub(super) line: usize,
    /// The hash of that line from the row on.
    pub(super) rest: u64,
}

/// The lines of a pane from some row to the bottom of its screen.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    /// The row that the first line is read from. The line may begin above it.
    pub(super) first_row: u32,
    /// A row whose line is known.
    pub(super) known: Known,
    /// Another one below the anchor, and its line.
    below: Option<(u32, usize)>,
    /// Lines without blanks at their end; blank lines at the end of the screen are left out.
    pub(super) lines: Vec<Cow<'a, [u8]>>,
    /// How many blanks were at their ends.
    pub(super) blanks: Vec<usize>,
    /// Their hashes.
    pub(super) hashes: Vec<u64>,
    /// How many of them are wholly in the history.
    pub(super) history: usize,
    /// The line that holds the anchor's first row.
    pub(super) anchor: usize,
    /// That line begins above the anchor.
    pub(super) cut: bool,
    /// The anchor's part of that line.
    pub(super) anchor_part: Cow<'a, [u8]>,
    /// A line takes more than one row.
    pub(super) wrapped: bool,
    /// How many blank rows there are at the bottom of the screen.
    pub(super) blank_rows: u32,
    /// The lines of the screen alone: the first may be the rest of one that begins in the history.
    pub(super) screen: Part<'a>,
}

impl<'a> Lines<'a> {
    /// Puts parts together.
    pub(super) fn assemble(pane: &Glance, parts: Parts<'a>) -> Self {
        let Parts { head, tail, upper_seam, mut anchor, lower_seam, mut screen } = parts;
        let anchor_row = anchor_row(pane.history_size);
        if pane.history_size == 0 {
            anchor.clear();
        }
        let mut lines = Vec::with_capacity(anchor.len() + screen.len());
        let mut first_row = anchor_row;
        let follows = |rows: Rows, row: u32| rows.last.checked_add(1) == Some(row);
        let cut = anchor_row > 0 && upper_seam.len() == 1;
        let mut below = None;
        match tail {
            Some((rows, tail)) if follows(rows, anchor_row) => {
                first_row = rows.first;
                append(&mut lines, &tail, false);
            }
            // It goes from the row above the anchor down to the row that was asked for.
            Some((rows, tail)) if rows.first <= anchor_row && rows.last > anchor_row => {
                let above = usize::from(rows.first < anchor_row && !cut);
                below = Some((rows.last, tail.len() - 1 - above));
            }
            _ => {}
        }
        let continues = cut && !lines.is_empty();
        let mut at = lines.len() - usize::from(continues);
        append(&mut lines, &anchor, continues);
        let crosses = !anchor.is_empty() && lower_seam.len() == 1;
        let mut history = lines.len() - usize::from(crosses);
        append(&mut lines, &screen, crosses);
        let mut known = Known { row: first_row, line: 0, rest: 0 };
        if let Some(line) = lines.first() {
            known.rest = hash(line.trim_ascii_end());
        }
        if let Some(((rows, head), seam)) = head
            && follows(rows, first_row)
        {
            first_row = rows.first;
            let rest = std::mem::take(&mut lines);
            append(&mut lines, &head, false);
            known.line = lines.len() - usize::from(seam.len() == 1);
            (at, history) = (at + known.line, history + known.line);
            join(&mut lines, rest, seam.len() == 1);
        }

        let mut part = Vec::new();
        append(&mut part, anchor.get(..1).unwrap_or_default(), false);
        if anchor.len() <= 1 {
            append(&mut part, screen.get(..1).unwrap_or_default(), crosses);
        }
        let mut anchor_part = part.into_iter().next().unwrap_or_default();
        let blanks = lines.iter_mut().map(trim).collect();
        trim(&mut anchor_part);
        let rows = pane.history_size.saturating_add(pane.height).saturating_sub(first_row);
        let wrapped = u32::try_from(lines.len()) != Ok(rows);
        let blank = lines.iter().rev().take_while(|line| line.is_empty()).count();
        lines.truncate((lines.len() - blank).max(history));
        let hashes = lines.iter().map(|line| hash(line)).collect();
        let before = screen.len();
        drop_blanks(&mut screen);
        let blank_rows = u32::try_from(before - screen.len()).unwrap_or(u32::MAX);
        Self {
            first_row,
            known,
            below,
            lines,
            blanks,
            hashes,
            history,
            anchor: at,
            cut,
            anchor_part,
            wrapped,
            blank_rows,
            screen,
        }
    }

    /// Whether the cursor stands on the last row that is not blank.
    pub(super) fn ends_at_cursor(&self, pane: &Glance) -> bool {
        let row = pane.height.checked_sub(self.blank_rows.saturating_add(1));
        !pane.dead && !self.screen.is_empty() && row == Some(pane.cursor_y)
    }

    /// A line and the one below as one, as they were before tmux split them.
    pub(super) fn unsplit(&self, at: usize) -> Vec<u8> {
        let line = |at: usize| self.lines.get(at).map(|line| line.as_ref()).unwrap_or_default();
        let mut joined = line(at).to_vec();
        joined.resize(joined.len() + self.blanks.get(at).copied().unwrap_or_default(), b' ');
        joined.extend_from_slice(line(at + 1));
        joined
    }

    /// Where the line stands that holds the first row of a view that began at `row`, in the middle
    /// of a line if it was `cut`; `None` if what was read begins elsewhere.
    pub(super) fn line_at(&self, row: u32, cut: bool) -> Option<usize> {
        let mut known = std::iter::once((self.known.row, self.known.line)).chain(self.below);
        known.find_map(|(known, line)| match row.checked_sub(known)? {
            0 => Some(line),
            1 => Some(line + usize::from(!cut)),
            _ => None,
        })
    }
}

/// Adds lines, the first of them to the last one there if a line `continues`.
fn append<'a>(lines: &mut Vec<Cow<'a, [u8]>>, part: &[&'a [u8]], continues: bool) {
    join(lines, part.iter().map(|line| Cow::Borrowed(*line)), continues);
}

fn join<'a>(
    lines: &mut Vec<Cow<'a, [u8]>>,
    part: impl IntoIterator<Item = Cow<'a, [u8]>>,
    continues: bool,
) {
    let mut part = part.into_iter();
    if continues
        && let Some(last) = lines.last_mut()
        && let Some(rest) = part.next()
    {
        last.to_mut().extend_from_slice(&rest);
    }
    lines.extend(part);
}
