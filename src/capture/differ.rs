//! Two lists of rows, and what became of the first. No I/O and no clock.

use std::ops::Range;

use super::text::hash;

/// The rows between two places are to be replaced: `rows[start..start + delete]` of the older list
/// by rows of the newer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// The first row that differs.
    pub start: usize,
    /// How many rows of the older list go.
    pub delete: usize,
    /// The rows of the newer list that come in their place.
    pub rows: Range<usize>,
}

/// How the rows of one list went over into another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What makes the newer list of the older.
    pub splice: Splice,
    /// By how many rows the older ones moved up: the least number that fits. `None` if none does
    /// and the rows have nothing to do with each other.
    pub scrolled: Option<usize>,
    /// Another number would fit as well, since rows repeat themselves. Rows that are all as they
    /// were are taken not to have moved.
    pub ambiguous: bool,
}

/// Remembers rows by their hashes and tells how the next ones differ: for what shows rows and
/// knows no more of them, such as a screen that was read by other means.
///
/// [`Tmux::since`](crate::Tmux::since) knows more, and so is exact where this can be ambiguous.
/// Time and memory are linear in the rows; nothing is allocated for rows that are all the same.
///
/// ```
/// use muxwire::capture::Differ;
///
/// let mut differ = Differ::default();
/// differ.update(["$ make", "cc a.c", "cc b.c"]);
/// let difference = differ.update(["cc a.c", "cc b.c", "done"]);
/// assert_eq!(difference.scrolled, Some(1));
/// assert_eq!((difference.splice.start, difference.splice.delete), (0, 3));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Differ {
    hashes: Vec<u64>,
    newer: Vec<u64>,
}

impl Differ {
    /// How `rows` differ from those of the call before; remembers them. At first there are none.
    pub fn update<R: AsRef<[u8]>>(&mut self, rows: impl IntoIterator<Item = R>) -> Difference {
        self.newer.clear();
        self.newer.extend(rows.into_iter().map(|row| hash(row.as_ref())));
        let splice = splice(&self.hashes, &self.newer);
        let is_same = splice.delete == 0 && splice.rows.is_empty();
        let mut shifts =
            if is_same { vec![] } else { shifts(&self.hashes, &self.newer) }.into_iter();
        let scrolled = if is_same { Some(0) } else { shifts.next() };
        let ambiguous = shifts.next().is_some();
        std::mem::swap(&mut self.hashes, &mut self.newer);
        Difference { splice, scrolled, ambiguous }
    }
}

/// What makes `newer` of `older`: all but what they have in common at both ends.
pub(super) fn splice(older: &[u64], newer: &[u64]) -> Splice {
    let start = older.iter().zip(newer).take_while(|(older, newer)| older == newer).count();
    let (older_rest, newer_rest) = (older.get(start..), newer.get(start..));
    let (older_rest, newer_rest) = (older_rest.unwrap_or_default(), newer_rest.unwrap_or_default());
    let both = older_rest.iter().rev().zip(newer_rest.iter().rev());
    let end = both.take_while(|(older, newer)| older == newer).count();
    Splice { start, delete: older_rest.len() - end, rows: start..newer.len() - end }
}

/// The shifts, least first, at which all that is left of `older` (its last row aside, which may be
/// written on) begins `newer`, and something is left. At most two.
pub(super) fn shifts(older: &[u64], newer: &[u64]) -> Vec<usize> {
    let finished = older.split_last().map_or(older, |(_, finished)| finished);
    let prefix = newer.get(..finished.len().min(newer.len())).unwrap_or_default();
    // Borders of the prefix, a divider and the finished rows: the longest is the least shift.
    let text: Vec<Option<u64>> = prefix
        .iter()
        .copied()
        .map(Some)
        .chain([None])
        .chain(finished.iter().copied().map(Some))
        .collect();
    let mut borders: Vec<usize> = Vec::with_capacity(text.len());
    for (at, row) in text.iter().enumerate() {
        let mut border = if at == 0 { 0 } else { borders.get(at - 1).copied().unwrap_or_default() };
        while border > 0 && text.get(border) != Some(row) {
            border = borders.get(border - 1).copied().unwrap_or_default();
        }
        borders.push(border + usize::from(at > 0 && text.get(border) == Some(row)));
    }
    let mut shifts = Vec::with_capacity(2);
    let mut border =
        if finished.is_empty() { 0 } else { borders.last().copied().unwrap_or_default() };
    while border > 0 && shifts.len() < 2 {
        shifts.push(finished.len() - border);
        border = borders.get(border - 1).copied().unwrap_or_default();
    }
    shifts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_splice_holds_what_differs_and_no_more() {
        let of = |older: &[u64], newer: &[u64]| splice(older, newer);
        assert_eq!(of(&[1, 2, 3], &[1, 2, 3]), Splice { start: 3, delete: 0, rows: 3..3 });
        assert_eq!(of(&[1, 2, 3], &[1, 9, 3]), Splice { start: 1, delete: 1, rows: 1..2 });
        assert_eq!(of(&[1, 1], &[1, 1, 1]), Splice { start: 2, delete: 0, rows: 2..3 });
        assert_eq!(of(&[1, 1, 1], &[1]), Splice { start: 1, delete: 2, rows: 1..1 });
        assert_eq!(of(&[], &[7]), Splice { start: 0, delete: 0, rows: 0..1 });
        assert_eq!(of(&[7], &[]), Splice { start: 0, delete: 1, rows: 0..0 });
    }

    #[test]
    fn the_least_shift_is_found_and_others_that_fit_are_told() {
        assert_eq!(shifts(&[1, 2, 3, 0], &[1, 2, 3, 4]), [0]);
        assert_eq!(shifts(&[1, 2, 3, 0], &[2, 3, 4, 5]), [1]);
        assert_eq!(shifts(&[1, 2, 3, 0], &[3]), [2]);
        assert_eq!(shifts(&[1, 2, 3, 0], &[4, 5]), Vec::<usize>::new());
        assert_eq!(shifts(&[7, 7, 7, 0], &[7, 7, 7, 8]), [0, 1]);
        assert_eq!(shifts(&[5], &[6]), Vec::<usize>::new());
        assert_eq!(shifts(&[], &[6]), Vec::<usize>::new());
        // A short newer list cannot hold all that is left.
        assert_eq!(shifts(&[1, 2, 3, 4, 0], &[3, 4]), [2]);
    }

    #[test]
    fn a_differ_remembers_the_rows_before() {
        let mut differ = Differ::default();
        let first = differ.update(["a", "b"]);
        assert_eq!((first.splice.rows, first.scrolled), (0..2, None));
        assert_eq!(differ.update(["a", "b"]).scrolled, Some(0));
        let next = differ.update(["a", "b", "c"]);
        assert_eq!(
            (next.splice, next.scrolled),
            (Splice { start: 2, delete: 0, rows: 2..3 }, Some(0))
        );
    }
}
