//! Telling how rows changed.

use super::Input;
use crate::capture::{Differ, Difference};

/// Input: lists of rows, each a byte for how many of the rows before it keeps without the first
/// ones, a byte for how many come new, and a byte for each of these.
///
/// Applying a splice to the rows before gives the rows now, and nothing smaller does. The rows have
/// moved by the number that is told, where it is said to be the only one; it is the one that is
/// found by trying them all.
pub fn differ(data: &[u8]) {
    let mut input = Input(data);
    let mut differ = Differ::default();
    let mut older: Vec<Vec<u8>> = Vec::new();
    while !input.is_empty() {
        let gone = usize::from(input.byte()).min(older.len());
        let count = input.byte();
        let came = input.bytes(count.into()).iter().map(|&byte| row(byte));
        let newer: Vec<Vec<u8>> = older[gone..].iter().cloned().chain(came).collect();
        let difference = differ.update(&newer);
        assert_eq!(difference, naive(&older, &newer));
        let Difference { splice, scrolled, ambiguous } = difference;
        let mut rows = older.clone();
        rows.splice(splice.start..splice.start + splice.delete, newer[splice.rows].to_vec());
        assert_eq!(rows, newer);
        // The last row may have been written on, so that it tells nothing.
        let is_known = gone + 1 < older.len() && !ambiguous && newer != older;
        assert!(!is_known || scrolled == Some(gone), "{older:?} {newer:?}");
        older = newer;
    }
}

/// A row of few that there are: blank, short, long, of one character or no UTF-8.
fn row(byte: u8) -> Vec<u8> {
    match byte % 8 {
        0 => Vec::new(),
        1 => b" ".to_vec(),
        2 => vec![0xff; 3],
        3 => vec![b'x'; 1_000],
        kind => vec![b'a' + kind, byte / 64],
    }
}

/// The difference as its words say.
fn naive(older: &[Vec<u8>], newer: &[Vec<u8>]) -> Difference {
    let shorter = older.len().min(newer.len());
    let Some(start) = (0..=shorter).rfind(|&count| older[..count] == newer[..count]) else {
        panic!("nothing does not begin with nothing")
    };
    let ends_alike = |count: &usize| older[older.len() - count..] == newer[newer.len() - count..];
    let end = (0..=shorter - start).rfind(ends_alike).unwrap_or_default();
    let splice = crate::capture::Splice {
        start,
        delete: older.len() - start - end,
        rows: start..newer.len() - end,
    };
    if older == newer {
        return Difference { splice, scrolled: Some(0), ambiguous: false };
    }
    let finished = &older[..older.len().saturating_sub(1)];
    let mut shifts = (0..finished.len()).filter(|&gone| newer.starts_with(&finished[gone..]));
    let scrolled = shifts.next();
    Difference { splice, scrolled, ambiguous: shifts.next().is_some() }
}
