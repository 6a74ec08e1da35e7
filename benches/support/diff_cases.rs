//! Rows before and after a change, for measuring what it costs to tell the change.

// Each bench uses a part of this.
#![allow(dead_code)]

use muxwire::capture::{Differ, Difference};

/// Rows, and what became of them.
#[allow(dead_code, reason = "counting instructions takes no time")]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// What telling the difference may take, where design.md says so.
    pub(crate) reach_micros: Option<f64>,
    pub(crate) older: Vec<String>,
    pub(crate) newer: Vec<String>,
    /// What must be told: where the change begins, and by how many rows the others moved.
    start: usize,
    scrolled: Option<usize>,
}

/// A row that no other one is like, as wide as it can be.
fn full(number: usize) -> String {
    row(number, 200)
}

/// A row of `width` bytes that no other one is like.
fn row(number: usize, width: usize) -> String {
    let word = number.wrapping_mul(0x9e37_79b9) % 1_000_000;
    let mut text = format!("{number:07} compiled module_{word:06} in {:03} ms ", word % 997);
    while text.len() < width {
        text.push_str("and went on to the next one ");
    }
    text.truncate(width);
    text
}

/// A row as long as one of a build's output: 24 to 119 bytes.
fn line(number: usize) -> String {
    row(number, 24 + number.wrapping_mul(37) % 96)
}

fn rows(numbers: std::ops::Range<usize>, row: impl Fn(usize) -> String) -> Vec<String> {
    numbers.map(row).collect()
}

/// Every case, small ones first.
pub(crate) fn cases() -> Vec<Case> {
    let screen = || rows(0..50, full);
    let with = |at: usize, row: String| {
        let mut rows = screen();
        rows[at] = row;
        rows
    };
    let case = |name, reach, (older, newer), start, scrolled| Case {
        name,
        reach_micros: reach,
        older,
        newer,
        start,
        scrolled,
    };
    let log = |first: usize| rows(first..first + 2_000, line);
    vec![
        case("50x200 unchanged", Some(2.0), (screen(), screen()), 50, Some(0)),
        case("50x200 last row written on", None, (with(49, full(7)), screen()), 49, Some(0)),
        case("50x200 one row rewritten", None, (screen(), with(25, full(1_000))), 25, None),
        case("50x200 10 lines below", Some(10.0), (rows(0..40, full), screen()), 40, Some(0)),
        case("50x200 10 lines scrolled", Some(10.0), (screen(), rows(10..60, full)), 0, Some(10)),
        case("50x200 rewritten", Some(50.0), (screen(), rows(1_000..1_050, full)), 0, None),
        case(
            "50x200 identical rows and 10 more",
            None,
            (vec![full(0); 40], vec![full(0); 50]),
            40,
            Some(0),
        ),
        case("2000 lines unchanged", None, (log(0), log(0)), 2_000, Some(0)),
        case("2000 lines and 50 more", Some(100.0), (log(0), rows(0..2_050, line)), 2_000, Some(0)),
        case("2000 lines scrolled by 50", Some(100.0), (log(0), log(50)), 0, Some(50)),
        case(
            // What a shift looked for row by row is quadratic on: all rows alike but for the last.
            "2000 rows alike, the last aside",
            None,
            (vec![line(0); 2_000], [vec![line(0); 1_999], vec![line(1)]].concat()),
            1_999,
            Some(0),
        ),
        case(
            "100000 lines and 50 more",
            None,
            (rows(0..100_000, line), rows(0..100_050, line)),
            100_000,
            Some(0),
        ),
    ]
}

impl Case {
    /// Knows the older rows, and has room for the newer ones, as one that has been in use for long.
    pub(crate) fn differ(&self) -> Differ {
        let mut differ = Differ::default();
        differ.update(&self.newer);
        differ.update(&self.older);
        differ
    }

    /// Panics unless the difference is told right.
    pub(crate) fn check(&self, difference: &Difference) {
        assert_eq!(difference.splice.start, self.start, "{}", self.name);
        assert_eq!(difference.scrolled, self.scrolled, "{}", self.name);
        let mut rows = self.older.clone();
        let gone = self.start..self.start + difference.splice.delete;
        rows.splice(gone, self.newer[difference.splice.rows.clone()].iter().cloned());
        assert_eq!(rows, self.newer, "{}", self.name);
    }
}
