//! What was written between two looks at a pane. No I/O and no clock.
//!
//! Rows of the grid keep their number, counted from the oldest of the history, as long as the
//! width stays and nothing of the history goes: output rewrites rows of the screen and adds rows
//! below, resizing the height moves the border between history and screen, and clearing the screen
//! moves its rows into the history. So lines are compared in their places, never guessed, and
//! identical lines are as good as any.
//!
//! A full history loses its oldest tenth at one stroke, after which every row has another number.
//! The lines of the history above the earlier view, which nothing rewrites, tell whether they still
//! stand where they stood; where they might stand as well after a trim, the answer says so.

use super::cursor::{low, sum};
use super::glance::Glance;
use super::grid::{Lines, Part};
use super::text::hash;
use super::view::{Baseline, Inner, Place, View};

/// Why a read cannot tell what was written since the earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Missed {
    /// The history was cleared.
    HistoryCleared,
    /// More was written than the history holds, or its limit was changed.
    HistoryTrimmed,
    /// The screen was cleared in place: what stood on it is not in the history.
    ScreenCleared,
    /// The width was changed, and the earlier lines are not found again.
    Resized,
    /// What was on the screen before the alternate one is not known.
    AlternateScreen,
    /// The earlier lines may stand in several places: they repeat themselves.
    Ambiguous,
}

impl Missed {
    /// `history_cleared`, `history_trimmed` and so on.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HistoryCleared => "history_cleared",
            Self::HistoryTrimmed => "history_trimmed",
            Self::ScreenCleared => "screen_cleared",
            Self::Resized => "resized",
            Self::AlternateScreen => "alternate_screen",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// What a comparison gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// These lines were written, by their place among the newer ones; whether what was the last
    /// line is among them.
    Written(Vec<usize>, bool),
    /// It cannot be told.
    Missed(Missed),
    /// It can only be told from the whole history.
    Further,
}

/// The newer look.
#[derive(Debug)]
pub(super) struct Newer<'a> {
    pub(super) pane: &'a Glance,
    pub(super) lines: &'a Lines<'a>,
    /// What stands where the earlier view would begin after so many trims.
    pub(super) probes: &'a [Part<'a>],
    /// The lines are all that there are.
    pub(super) whole: bool,
    /// The row of the earlier view was among what was read for this look before.
    pub(super) looked: bool,
}

impl Newer<'_> {
    /// Whether nothing is there, in the history either.
    fn is_blank(&self) -> bool {
        self.pane.history_size == 0 && self.lines.lines.is_empty()
    }

    fn may_be_trimmed(&self) -> bool {
        let Glance { history_size, height, history_limit, .. } = *self.pane;
        may_be_trimmed(history_size, height, history_limit)
    }

    /// The hash of the line that is all there was at a place and begins above it, from there on.
    fn rest_at(&self, place: &Place) -> Option<u64> {
        let known = self.lines.known;
        (known.row == place.row()).then_some(known.rest)
    }
}

/// So many lines are enough to know a place by if they do not repeat themselves: of the history, or
/// different ones with all of the screen.
const MANY: usize = 8;

/// How many rows a full history loses at one stroke.
fn trimmed_at_once(history_limit: u32) -> u32 {
    (history_limit / 10).max(1)
}

/// Whether the history may have been trimmed: once it was, it stays this large unless it is
/// cleared, but for rows that a taller screen takes back.
pub(super) fn may_be_trimmed(size: u32, height: u32, limit: u32) -> bool {
    size.saturating_add(height) >= limit.saturating_sub(trimmed_at_once(limit))
}

/// How many such rows are looked at: as a rule there are no more than nine, and where there are, the
/// whole history tells.
pub(super) const MOST_TRIMS: usize = 10;

/// The rows at which a view from `row` on would begin if the history had been trimmed once, twice
/// and so on.
pub(super) fn after_trims(row: u32, history_limit: u32) -> impl Iterator<Item = u32> + Clone {
    let step = trimmed_at_once(history_limit);
    std::iter::successors(row.checked_sub(step), move |row| row.checked_sub(step))
}

/// What was written since `older`, on the screen that is no alternate one.
pub(super) fn compare(older: &Baseline, newer: &Newer<'_>) -> Verdict {
    let (place, lines) = (older.place(), newer.lines);
    let same_rows =
        place.width == newer.pane.width && place.history_limit == newer.pane.history_limit;
    if place.count == 0 && place.history_size == 0 && newer.is_blank() {
        return Verdict::Written(Vec::new(), false);
    }
    let expected = lines.line_at(place.row(), place.cut).filter(|_| same_rows);
    let stands = expected.filter(|at| older.history_is_at(lines, *at));
    if let Some(at) = stands.filter(|at| is_only_place(older, newer, *at)) {
        return older.written(newer, at);
    }
    if !newer.whole {
        return Verdict::Further;
    }
    let rows = newer.pane.history_size.saturating_add(newer.pane.height);
    let looked = expected.is_some() || newer.looked || place.row() >= rows;
    if same_rows && !newer.may_be_trimmed() && looked {
        // Whatever is like it elsewhere: rows keep their numbers.
        return Verdict::Missed(Missed::HistoryCleared);
    }
    // Where no line is wrapped a line is a row, and those go by whole strokes.
    let fits = |at: usize| {
        let above = (place.row() as usize).checked_sub(at);
        let step = trimmed_at_once(place.history_limit) as usize;
        !same_rows || lines.wrapped || above.is_some_and(|rows| rows.is_multiple_of(step))
    };
    match *older.places(lines) {
        [at] if newer.may_be_trimmed() && !older.vouches_for(lines, at) && fits(at) => {
            Verdict::Missed(Missed::Ambiguous)
        }
        [at] if fits(at) => match older.written(newer, at) {
            // Lines like them may have come to stand there, if those below are others.
            Verdict::Written(written, _)
                if written.first().is_some_and(|line| *line < at + older.finished().end) =>
            {
                Verdict::Missed(Missed::Ambiguous)
            }
            verdict => verdict,
        },
        // None is sure, though one alone may fit: the text itself may be gone.
        [_, _, ..] => Verdict::Missed(Missed::Ambiguous),
        _ if place.width != newer.pane.width => Verdict::Missed(Missed::Resized),
        _ if !newer.may_be_trimmed() && same_rows => Verdict::Missed(Missed::HistoryCleared),
        _ => Verdict::Missed(Missed::HistoryTrimmed),
    }
}

/// Whether the lines of `older` that stand at `at` are those lines, and not ones like them that
/// came to stand there by trims.
fn is_only_place(older: &Baseline, newer: &Newer<'_>, at: usize) -> bool {
    if !newer.may_be_trimmed() {
        return true;
    }
    let Baseline::View(view) = older else { return false };
    let (place, hashes) = (&view.0.place, &view.0.hashes);
    let rows = after_trims(place.row(), place.history_limit);
    if newer.probes.len() != rows.clone().take(MOST_TRIMS + 1).count()
        || !older.vouches_for(newer.lines, at)
    {
        return false;
    }
    let stands_at = |(probe, row): (&Part<'_>, u32)| {
        // Like the text of the view, a probe begins one row above; its last line may be cut.
        let from = usize::from(row > 0 && !place.cut) + place.partial();
        let probe = probe.split_last().map_or(&[][..], |(_, lines)| lines);
        let known = hashes.get(place.partial()..).unwrap_or_default();
        probe
            .iter()
            .skip(from)
            .zip(known)
            .all(|(line, known)| hash(line.trim_ascii_end()) == *known)
    };
    !newer.probes.iter().zip(rows).any(stands_at)
        && older.places(newer.lines).into_iter().all(|place| place == at)
}

/// Whether lines are a block and that block again, or most of it.
fn repeats_itself(lines: &[u64]) -> bool {
    let repeats = |period: usize| lines.get(period..).is_some_and(|it| lines.starts_with(it));
    (1..=lines.len() * 3 / 4).any(repeats)
}

impl Baseline {
    /// Whether the lines of the history stand there.
    fn history_is_at(&self, lines: &Lines<'_>, at: usize) -> bool {
        let place = self.place();
        let range = at + place.partial().min(place.history)..at + place.history;
        let Some(found) = lines.hashes.get(range) else { return false };
        match self {
            Self::View(view) => {
                view.0.hashes.get(place.partial().min(place.history)..place.history) == Some(found)
            }
            Self::Cursor(cursor) => cursor.sums.is_some_and(|sums| sums.above == sum(found)),
        }
    }

    /// The lines of the screen that were finished.
    fn finished(&self) -> std::ops::Range<usize> {
        let place = self.place();
        place.history..place.count.saturating_sub(1).max(place.history)
    }

    /// Whether all finished lines of the screen stand there.
    fn finished_is_at(&self, lines: &Lines<'_>, at: usize) -> bool {
        let finished = self.finished();
        let Some(found) = lines.hashes.get(at + finished.start..at + finished.end) else {
            return false;
        };
        match self {
            Self::View(view) => view.0.hashes.get(finished) == Some(found),
            Self::Cursor(cursor) => cursor.sums.is_some_and(|sums| sums.finished == sum(found)),
        }
    }

    /// Whether so many lines stand there that others are not likely to be like them, and none that
    /// repeat themselves: those of the history, or with all finished ones of the screen.
    fn vouches_for(&self, lines: &Lines<'_>, at: usize) -> bool {
        let place = self.place();
        let from = place.partial().min(place.history);
        let found = |end: usize| lines.hashes.get(at + from..at + end).unwrap_or_default();
        let (history, all) = (found(place.history), found(self.finished().end));
        let others = all.iter().enumerate().filter(|(at, it)| {
            let before = all.get(..*at).unwrap_or_default();
            **it != 0 && !before.contains(it)
        });
        history.len() >= MANY && !repeats_itself(history)
            || self.finished_is_at(lines, at)
                && !repeats_itself(all)
                && others.take(MANY).count() == MANY
    }

    /// Every place at which the lines of the view stand, as far as they are known to be there
    /// still: those of the history, or where these are none or blank, or stand in several places,
    /// the finished ones of the screen too.
    fn places(&self, lines: &Lines<'_>) -> Vec<usize> {
        let place = self.place();
        let whole = place.partial().min(place.history)..place.history;
        let blank = vec![0; whole.len()];
        let is_blank = match self {
            Self::View(view) => view.0.hashes.get(whole) == Some(&*blank),
            Self::Cursor(cursor) => cursor.sums.is_some_and(|sums| sums.above == sum(&blank)),
        };
        let all = 0..lines.lines.len().saturating_add(1);
        let mut places: Vec<usize> = all.filter(|at| self.history_is_at(lines, *at)).collect();
        if is_blank || places.len() > 1 {
            let by_screen = places.iter().filter(|at| self.finished_is_at(lines, **at));
            let by_screen: Vec<usize> = by_screen.copied().collect();
            let screen_is_blank = self.finished_is_blank();
            if is_blank && screen_is_blank {
                return Vec::new();
            }
            if is_blank || !by_screen.is_empty() && !screen_is_blank {
                places = by_screen;
            }
        }
        places
    }

    fn finished_is_blank(&self) -> bool {
        let finished = self.finished();
        let blank = vec![0; finished.len()];
        match self {
            Self::View(view) => view.0.hashes.get(finished) == Some(&*blank),
            Self::Cursor(cursor) => cursor.sums.is_some_and(|sums| sums.finished == sum(&blank)),
        }
    }

    /// The lines that are not as they were, the view's first standing at `at`.
    fn written(&self, newer: &Newer<'_>, at: usize) -> Verdict {
        let (place, lines) = (self.place(), newer.lines);
        let (written, end) = match self {
            Self::View(view) => match view.rewritten(newer, at) {
                Ok(written) => written,
                Err(missed) => return Verdict::Missed(missed),
            },
            Self::Cursor(cursor) => {
                if !self.finished_is_at(lines, at) {
                    return Verdict::Missed(Missed::Ambiguous);
                }
                let end = at + place.count;
                let last = place.count > place.history;
                let last = last.then(|| end.saturating_sub(1)).filter(|last| {
                    let now = if place.is_rest() {
                        newer.rest_at(place)
                    } else {
                        lines.hashes.get(*last).copied()
                    };
                    cursor.sums.is_some_and(|sums| now.map(low).unwrap_or_default() != sums.last)
                });
                (last.into_iter().collect(), end)
            }
        };
        let mut written = written;
        let last = place.count > place.history && written.last() == Some(&end.saturating_sub(1));
        written.retain(|at| *at < lines.lines.len());
        written.extend(end..lines.lines.len());
        // The beginning of the first line may be above what was read.
        if !newer.whole && lines.first_row > 0 && written.first() == Some(&0) {
            return Verdict::Further;
        }
        Verdict::Written(written, last)
    }
}

impl View {
    /// Which of the lines that the view had on its screen are not as they were, by their place
    /// among the newer ones, and where those below begin.
    fn rewritten(&self, newer: &Newer<'_>, at: usize) -> Result<(Vec<usize>, usize), Missed> {
        let Inner { place, hashes, .. } = &*self.0;
        let lines = newer.lines;
        let text = |at: usize| lines.lines.get(at).map(|line| line.as_ref()).unwrap_or_default();
        let (mut rewritten, mut at) = (Vec::new(), at + place.history);
        let (mut finished, mut changed, mut gone, mut first_changed) = (0, 0, false, false);
        for (index, was) in hashes.iter().enumerate().skip(place.history) {
            let is_same = match index {
                // Only its end was seen, and only the last line may be written on.
                0 if place.cut => !place.is_rest() || newer.rest_at(place) == Some(*was),
                _ => lines.hashes.get(at).copied().unwrap_or_default() == *was,
            };
            // Showing an alternate screen splits for good a line that begins in the history.
            let is_split = !is_same && hash(&lines.unsplit(at)) == *was;
            let is_changed = !is_same && !is_split;
            if is_changed {
                rewritten.push(at);
            }
            if *was != 0 && index + 1 < place.count {
                first_changed |= finished == 0 && is_changed;
                finished += 1;
                changed += usize::from(is_changed);
                gone |= is_changed && text(at).is_empty();
            }
            at += 1 + usize::from(is_split);
        }
        let is_cleared = if place.partial() < place.history {
            finished > 0 && changed == finished && gone
        } else {
            // Without a history nothing else vouches for the place.
            first_changed || changed * 2 > finished
        };
        if is_cleared { Err(Missed::ScreenCleared) } else { Ok((rewritten, at)) }
    }
}
