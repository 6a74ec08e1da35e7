//! What the fuzz targets run, and what must hold for every input.
//!
//! Not for use: it comes with the feature `fuzzing` and changes nothing else. A target in `fuzz/`
//! is one call of a function here; `fuzz/seeds/` holds an input or two for each way through it,
//! which the tests of this module replay. Each function panics when what it says does not hold.

mod criteria;
mod differ;
mod exchange;
mod frames;
mod messages;
#[cfg(feature = "mcp")]
mod names;
mod rows;

pub use criteria::criteria;
pub use differ::differ;
pub use exchange::exchange;
pub use frames::frame_decode;
pub use messages::message_decode;
#[cfg(feature = "mcp")]
pub use names::{cursors, uris};
pub use rows::rows;

/// An input, read from front to back. At its end every reading gives zeros or nothing.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or_default()
    }

    fn bytes(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// One of `choices`.
    fn choice<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.byte()) % choices.len()]
    }

    /// A text: a byte for its length, and its bytes, of which none is NUL.
    fn text(&mut self) -> Vec<u8> {
        let length = self.byte();
        let text = self.bytes(length.into());
        text.iter().map(|&byte| if byte == 0 { b'0' } else { byte }).collect()
    }

    /// Lengths of pieces: a byte for how many, and one for each; none means one piece.
    fn cuts(&mut self) -> Vec<usize> {
        let count = usize::from(self.byte() % 8);
        self.bytes(count).iter().map(|&length| usize::from(length) + 1).collect()
    }
}

/// Cuts `stream` into pieces of these lengths, over and over.
fn cut<'a>(stream: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let mut input = Input(stream);
    let mut lengths = lengths.iter().cycle();
    let mut pieces = Vec::new();
    while !input.is_empty() {
        pieces.push(match lengths.next() {
            Some(&length) => input.bytes(length),
            None => input.rest(),
        });
    }
    pieces
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    fn replay(target: &str, body: fn(&[u8])) {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
        let mut count = 0;
        for entry in seeds.read_dir().unwrap() {
            let path = entry.unwrap().path();
            let seed = std::fs::read(&path).unwrap();
            eprintln!("{}", path.display());
            body(&seed);
            // What a fuzzer tries first.
            for end in 0..seed.len().min(512) {
                body(&seed[..end]);
                let mut flipped = seed.clone();
                flipped[end] ^= 1 << (end % 8);
                body(&flipped);
            }
            count += 1;
        }
        assert!(count > 0, "no seeds in {}", seeds.display());
    }

    #[test]
    fn the_seeds_of_frame_decode_hold() {
        replay("frame_decode", super::frame_decode);
    }

    #[test]
    fn the_seeds_of_message_decode_hold() {
        replay("message_decode", super::message_decode);
    }

    #[test]
    fn the_seeds_of_exchange_hold() {
        replay("exchange", super::exchange);
    }

    #[test]
    fn the_seeds_of_rows_hold() {
        replay("rows", super::rows);
    }

    #[test]
    fn the_seeds_of_criteria_hold() {
        replay("criteria", super::criteria);
    }

    #[test]
    fn the_seeds_of_differ_hold() {
        replay("differ", super::differ);
    }

    #[test]
    #[cfg(feature = "mcp")]
    fn the_seeds_of_cursors_and_uris_hold() {
        replay("cursors", super::cursors);
        replay("uris", super::uris);
    }
}
