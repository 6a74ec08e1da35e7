//! Where a reader stands in a pane, as text.

use data_encoding::BASE64URL_NOPAD;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::grid::ANCHOR_ROWS;
use super::view::Place;
use crate::model::PaneId;

/// What a cursor's text starts with: its form, so that a later one can be told from it.
const FORM: &str = "m1.";
/// Greatest width and height of a pane.
const LARGEST: u32 = 10_000;
/// Greatest length of the text.
const LONGEST: usize = 120;

/// A place in what a pane has shown, for reading on from there: it names the pane, the process in
/// it and the server, and knows the text around the place by sums, so that it is found again
/// without anything having been remembered.
///
/// Its text is printable ASCII of at most 120 characters and ends in a checksum.
///
/// ```
/// use muxwire::capture::Cursor;
///
/// assert!("m1.AAAA".parse::<Cursor>().is_err()); // damaged
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// Of the screen that is no alternate one, where that is known.
    pub(super) place: Place,
    /// What was there; `None` if only an alternate screen was seen.
    pub(super) sums: Option<Sums>,
    /// The alternate screen, if that was shown.
    pub(super) alternate: Option<u32>,
}

/// What lines there were, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sums {
    /// The whole lines of the history.
    pub(super) above: u64,
    /// The others but the last, which are finished.
    pub(super) finished: u64,
    /// The last, which may be written on.
    pub(super) last: u32,
}

/// The text is no cursor, or a damaged one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CursorError;

impl std::fmt::Display for CursorError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not a cursor; pass on what an answer gave, unchanged")
    }
}

impl std::error::Error for CursorError {}

impl Sums {
    /// Of the lines that a view has at its place.
    pub(super) fn of(place: &Place, hashes: &[u64]) -> Self {
        let screen = hashes.get(place.history..).unwrap_or_default();
        let (last, finished) = screen.split_last().map_or((0, &[][..]), |(last, it)| (*last, it));
        let whole = hashes.get(place.partial()..place.history).unwrap_or_default();
        Self { above: sum(whole), finished: sum(finished), last: low(last) }
    }

    /// Lines in few bytes.
    pub(super) fn fold(hashes: &[u64]) -> u32 {
        low(sum(hashes))
    }
}

/// One number for all of these, in this order.
pub(super) fn sum(hashes: &[u64]) -> u64 {
    hashes.iter().fold(0, |sum, hash| xxh3_64_with_seed(&hash.to_le_bytes(), sum))
}

/// The lower half.
pub(super) fn low(hash: u64) -> u32 {
    u32::try_from(hash & u64::from(u32::MAX)).unwrap_or_default()
}

impl Cursor {
    /// The pane.
    #[must_use]
    pub fn pane(&self) -> PaneId {
        self.place.pane
    }

    /// The server that it is of: process id, and when it started, in seconds since the epoch.
    #[must_use]
    pub fn server(&self) -> (u32, u64) {
        (self.place.server_pid, self.place.server_start)
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { place, sums, alternate } = self;
        let mut bytes = Vec::with_capacity(80);
        let flags = u64::from(place.cut)
            | u64::from(sums.is_some()) << 1
            | u64::from(alternate.is_some()) << 2;
        for number in [
            flags,
            place.pane.number().into(),
            place.pid.into(),
            place.server_pid.into(),
            place.server_start,
            place.width.into(),
            place.height.into(),
            place.history_size.into(),
            place.history_limit.into(),
            place.history as u64,
            place.count as u64,
        ] {
            put(&mut bytes, number);
        }
        if let Some(Sums { above, finished, last }) = sums {
            bytes.extend(above.to_le_bytes());
            bytes.extend(finished.to_le_bytes());
            bytes.extend(last.to_le_bytes());
        }
        if let Some(alternate) = alternate {
            bytes.extend(alternate.to_le_bytes());
        }
        let check = low(xxh3_64_with_seed(&bytes, 0));
        bytes.extend(check.to_le_bytes());
        write!(f, "{FORM}{}", BASE64URL_NOPAD.encode(&bytes))
    }
}

impl std::str::FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        if text.len() > LONGEST {
            return Err(CursorError);
        }
        let encoded = text.strip_prefix(FORM).ok_or(CursorError)?;
        let bytes = BASE64URL_NOPAD.decode(encoded.as_bytes()).map_err(|_| CursorError)?;
        let (body, check) = bytes.split_last_chunk::<4>().ok_or(CursorError)?;
        if low(xxh3_64_with_seed(body, 0)).to_le_bytes() != *check {
            return Err(CursorError);
        }
        let cursor = read(body).ok_or(CursorError)?;
        // Only what is written exactly so is one.
        if cursor.to_string() == text { Ok(cursor) } else { Err(CursorError) }
    }
}

fn read(mut bytes: &[u8]) -> Option<Cursor> {
    let mut number = || take(&mut bytes);
    let small = |number: Option<u64>| u32::try_from(number?).ok();
    let flags = number().filter(|flags| *flags < 8)?;
    let place = Place {
        cut: flags & 1 != 0,
        pane: PaneId::new(small(number())?),
        pid: small(number())?,
        server_pid: small(number())?,
        server_start: number()?,
        width: small(number())?,
        height: small(number())?,
        history_size: small(number())?,
        history_limit: small(number())?,
        history: usize::try_from(number()?).ok()?,
        count: usize::try_from(number()?).ok()?,
    };
    let in_anchor = place.history <= ANCHOR_ROWS as usize;
    let on_screen = place.count.checked_sub(place.history)? <= place.height as usize;
    let mut rest = bytes;
    let mut chunk = |length: usize| {
        let (chunk, after) = rest.split_at_checked(length)?;
        rest = after;
        let mut all = [0; 8];
        all.get_mut(..length)?.copy_from_slice(chunk);
        Some(u64::from_le_bytes(all))
    };
    let sums = match flags & 2 {
        0 => None,
        _ => Some(Sums { above: chunk(8)?, finished: chunk(8)?, last: low(chunk(4)?) }),
    };
    let alternate = if flags & 4 == 0 { None } else { Some(low(chunk(4)?)) };
    let is_sized = place.width <= LARGEST && place.height <= LARGEST;
    let is_whole = is_sized && rest.is_empty() && (sums.is_some() || alternate.is_some());
    (in_anchor && on_screen && is_whole).then_some(Cursor { place, sums, alternate })
}

/// Seven bits in each byte, the lowest first; the highest bit says that more follow.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push((number & 0x7f) as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(number: u32) -> Cursor {
        let place = Place {
            pane: PaneId::new(number),
            pid: number,
            server_pid: number,
            server_start: number.into(),
            width: number.min(10_000),
            height: number.min(10_000),
            history_size: number,
            history_limit: number,
            cut: number > 0,
            history: number.min(16) as usize,
            count: number.min(10_016) as usize,
        };
        let sums = Sums { above: u64::MAX, finished: 5, last: number };
        Cursor { place, sums: Some(sums), alternate: (number > 0).then_some(number) }
    }

    #[test]
    fn a_cursor_comes_back_from_its_short_text() {
        for number in [0, 1, 7, 127, 128, 20_000, u32::MAX] {
            let cursor = cursor(number);
            let text = cursor.to_string();
            assert!(text.len() <= LONGEST, "{}: {text}", text.len());
            assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text}");
            assert_eq!(text.parse(), Ok(cursor));
        }
    }

    #[test]
    fn damage_in_any_one_place_is_seen() {
        let text = cursor(1_234).to_string();
        for at in 0..text.len() {
            for other in "0Aa_-.+ \n".chars() {
                let mut changed = text.clone();
                changed.replace_range(at..=at, &other.to_string());
                if changed != text {
                    assert_eq!(changed.parse::<Cursor>(), Err(CursorError), "{changed}");
                }
            }
            assert_eq!(text[..at].parse::<Cursor>(), Err(CursorError));
        }
        for other in ["", "m0.7.1234.ff.6553f100", "m1.", "m1.AAAA", "s0.0.0.0", "é"] {
            assert_eq!(other.parse::<Cursor>(), Err(CursorError), "{other}");
        }
        assert_eq!((text + "A").parse::<Cursor>(), Err(CursorError));
    }

    #[test]
    fn a_cursor_of_a_pane_larger_than_any_is_none() {
        for (width, height) in [(10_001, 1), (1, 10_001), (u32::MAX, u32::MAX)] {
            let mut cursor = cursor(1);
            (cursor.place.width, cursor.place.height) = (width, height);
            assert_eq!(cursor.to_string().parse::<Cursor>(), Err(CursorError));
        }
    }
}
