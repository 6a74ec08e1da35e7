//! The law of incremental reads on a simulated grid: what of `tests/law.rs` needs no tmux, and so
//! many more runs. The rules of the grid are those of `protocol-notes/07-captures.md`, notes 7.3
//! and 7.7.

#![allow(clippy::indexing_slicing)]

use proptest::prelude::*;

use super::compare::{Missed, Newer, Verdict, after_trims, compare};
use super::grid::{ANCHOR_ROWS, Lines, Part, Parts, Rows};
use super::{Baseline, Glance, View};
use crate::client::Server;
use crate::model::{PaneId, SessionId, WindowId};

#[derive(Clone, Debug)]
struct Grid {
    /// Rows, and whether each goes on in the next.
    rows: Vec<(Vec<u8>, bool)>,
    history: usize,
    width: usize,
    height: usize,
    limit: usize,
    /// The cursor's row, counted from the top of the screen; it stands at the left of it.
    cursor: usize,
}

impl Grid {
    fn new(limit: usize) -> Self {
        let rows = vec![(Vec::new(), false); 6];
        Self { rows, history: 0, width: 10, height: 6, limit, cursor: 0 }
    }

    /// The top row goes into the history.
    fn scroll(&mut self) {
        if self.history >= self.limit {
            let gone = (self.limit / 10).max(1);
            self.rows.drain(..gone);
            self.history -= gone;
        }
        self.history += 1;
        self.rows.push((Vec::new(), false));
    }

    fn next_row(&mut self) {
        if self.cursor + 1 == self.height {
            self.scroll();
        } else {
            self.cursor += 1;
        }
    }

    fn row(&mut self) -> &mut (Vec<u8>, bool) {
        &mut self.rows[self.history + self.cursor]
    }

    fn write_line(&mut self, line: &str) {
        let mut pieces = line.as_bytes().chunks(self.width).peekable();
        while let Some(piece) = pieces.next() {
            *self.row() = (piece.to_vec(), pieces.peek().is_some());
            self.next_row();
        }
        if line.is_empty() {
            self.next_row();
        }
    }

    /// Clears the screen into the history.
    fn clear(&mut self) {
        let screen = &self.rows[self.history..];
        let used = screen.iter().rposition(|(row, _)| !row.is_empty()).map_or(0, |last| last + 1);
        (0..used).for_each(|_| self.scroll());
        self.cursor = 0;
    }

    fn clear_history(&mut self) {
        self.rows.drain(..self.history);
        self.history = 0;
    }

    fn resize(&mut self, height: usize) {
        if height < self.height {
            let below = self.height - 1 - self.cursor;
            let cut = below.min(self.height - height);
            self.rows.truncate(self.rows.len() - cut);
            let pushed = self.height - height - cut;
            self.history += pushed;
            self.cursor -= pushed;
        } else {
            let back = self.history.min(height - self.height);
            self.history -= back;
            self.cursor += back;
            self.rows.resize(self.history + height, (Vec::new(), false));
        }
        self.height = height;
    }

    /// What `capture-pane -J` prints of these rows.
    fn capture(&self, first: usize, last: usize) -> Vec<Vec<u8>> {
        let last = last.min(self.rows.len() - 1);
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let mut goes_on = false;
        for (row, wraps) in &self.rows[first.min(last)..=last] {
            match lines.last_mut() {
                Some(line) if goes_on => line.extend_from_slice(row),
                _ => lines.push(row.clone()),
            }
            goes_on = *wraps;
        }
        lines
    }

    fn pane(&self) -> Glance {
        Glance {
            id: PaneId::new(1),
            window_id: WindowId::new(1),
            session_id: SessionId::new(1),
            pid: 1,
            width: number(self.width),
            height: number(self.height),
            history_size: number(self.history),
            history_limit: number(self.limit),
            cursor_x: 0,
            cursor_y: number(self.cursor),
            activity: 0,
            dead: false,
            dead_status: None,
            alternate_on: false,
            session_name: "main".into(),
        }
    }
}

/// What is read of the history.
#[derive(Clone, Copy, PartialEq)]
enum Above {
    Nothing,
    Row(usize),
    Around(usize),
    Everything,
}

/// A read as `Tmux::since` makes it.
fn read(grid: &Grid, earlier: Option<&Baseline>) -> (Result<Vec<String>, Missed>, View) {
    let mut above = earlier
        .map_or(Above::Nothing, |earlier| Above::Row(earlier.place().row_to_read() as usize));
    let mut looked = false;
    loop {
        let (anchor, screen) = (grid.history.saturating_sub(ANCHOR_ROWS as usize), grid.history);
        let printed = |first: usize, last: usize| {
            // Rows below the screen are the last of it, and rows go in their order.
            let bottom = grid.rows.len() - 1;
            let (first, last) = (first.min(bottom), last.min(bottom));
            let (first, last) = (first.min(last), last.max(first));
            let rows = Rows { first: number(first), last: number(last) };
            (rows, grid.capture(first, last))
        };
        let before_anchor = anchor.saturating_sub(1);
        let (head, tail) = match above {
            Above::Nothing => (None, None),
            Above::Row(row) => (None, Some(printed(row.saturating_sub(1), before_anchor))),
            Above::Around(row) => {
                let (last, first) = (row.saturating_sub(2), row.saturating_sub(1));
                let head = (printed(0, last), grid.capture(last, first.max(last)));
                (Some(head), Some(printed(first, before_anchor)))
            }
            Above::Everything => (None, Some(printed(0, before_anchor))),
        };
        let probes: Vec<Vec<Vec<u8>>> = match earlier.map(Baseline::place) {
            Some(place) if above != Above::Everything && place.may_be_trimmed() => {
                let rows = after_trims(place.row(), place.history_limit);
                let rows = rows.map(|row| (row as usize).saturating_sub(1));
                rows.map(|row| grid.capture(row, row + 6)).collect()
            }
            _ => Vec::new(),
        };
        let upper_seam = grid.capture(before_anchor, anchor);
        let anchor = grid.capture(anchor, screen.saturating_sub(1));
        let lower_seam = grid.capture(screen.saturating_sub(1), screen);
        let screen = grid.capture(screen, grid.rows.len() - 1);
        let parts = Parts {
            head: head.as_ref().map(|((rows, head), seam)| ((*rows, part(head)), part(seam))),
            tail: tail.as_ref().map(|(rows, tail)| (*rows, part(tail))),
            upper_seam: part(&upper_seam),
            anchor: part(&anchor),
            lower_seam: part(&lower_seam),
            screen: part(&screen),
        };
        let pane = grid.pane();
        let lines = Lines::assemble(&pane, parts);
        let probes: Vec<Part<'_>> = probes.iter().map(|probe| part(probe)).collect();
        let whole = above != Above::Nothing && lines.first_row == 0;
        let newer = Newer { pane: &pane, lines: &lines, probes: &probes, whole, looked };
        let verdict = match earlier {
            Some(earlier) => compare(earlier, &newer),
            None => Verdict::Written((0..lines.lines.len()).collect(), false),
        };
        let text = |at: &usize| String::from_utf8_lossy(&lines.lines[*at]).into_owned();
        let result = match verdict {
            Verdict::Written(lines, _) => Ok(lines.iter().map(text).collect()),
            Verdict::Missed(missed) => Err(missed),
            Verdict::Further => {
                let place = earlier.map(Baseline::place);
                looked |= place.is_some_and(|it| lines.line_at(it.row(), it.cut).is_some());
                above = match above {
                    Above::Row(row) => Above::Around(row),
                    _ => Above::Everything,
                };
                continue;
            }
        };
        return (result, View::new(&Server::for_tests(), &pane, &lines, None, 0));
    }
}

fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn part(lines: &[Vec<u8>]) -> Part<'_> {
    lines.iter().map(Vec::as_slice).collect()
}

/// What happens to a pane.
#[derive(Clone, Debug)]
enum Step {
    Line(usize),
    Block(usize, usize),
    Clear,
    ClearHistory,
    Height(usize),
    Restart,
    Read,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..60_usize).prop_map(Step::Line),
        2 => (1..5_usize, 1..40_usize).prop_map(|(length, times)| Step::Block(length, times)),
        1 => Just(Step::Clear),
        1 => Just(Step::ClearHistory),
        1 => (2..20_usize).prop_map(Step::Height),
        1 => Just(Step::Restart),
        6 => Just(Step::Read),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 1_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn lines_are_given_once_in_order_or_said_to_be_missed(
        steps in prop::collection::vec(step(), 1..80),
        limit in prop::sample::select(vec![20_usize, 40, 100, 1_000]),
    ) {
        let mut grid = Grid::new(limit);
        let mut earlier: Option<Baseline> = None;
        let (mut unread, mut number) = (Vec::new(), 0);
        let (mut disturbed, mut repeats) = (true, false);
        for step in steps.into_iter().chain([Step::Line(0), Step::Read]) {
            match step {
                Step::Line(more) => {
                    number += 1;
                    let line = format!("{number}{}.", "-".repeat(more));
                    grid.write_line(&line);
                    unread.push(line);
                }
                Step::Block(length, times) => {
                    repeats = true;
                    number += 1;
                    for line in (0..length).cycle().take(length * times) {
                        let line = format!("{number}, {line}");
                        grid.write_line(&line);
                        unread.push(line);
                    }
                }
                Step::Clear => grid.clear(),
                // The rest of a line that is cut in two looks like one that was rewritten.
                Step::ClearHistory if grid.rows[..grid.history].last().is_some_and(|row| row.1) => {}
                Step::ClearHistory => {
                    // Nobody can tell who saw nothing, or a line that may be written on, or where
                    // the same lines were written again.
                    grid.clear_history();
                    disturbed = true;
                    if repeats || earlier.as_ref().is_some_and(|earlier| earlier.place().count <= 1) {
                        (earlier, unread) = (None, Vec::new());
                    }
                }
                Step::Height(height) => grid.resize(height),
                Step::Restart => {
                    if let Some(Baseline::View(view)) = &earlier {
                        earlier = Some(view.cursor().into());
                    }
                    disturbed = true;
                }
                Step::Read => {
                    let (result, view) = read(&grid, earlier.as_ref());
                    let is_full = grid.history + grid.height + limit / 10 >= limit;
                    match result {
                        Ok(lines) => prop_assert!(earlier.is_none() || lines == unread, "{lines:?} for {unread:?}"),
                        Err(missed) => prop_assert!(disturbed || is_full, "{missed:?} for nothing"),
                    }
                    earlier = Some(view.into());
                    unread.clear();
                    disturbed = false;
                }
            }
        }
    }
}
