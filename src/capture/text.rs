//! Lines as bytes: blanks at their end, their hash, their text.

use std::borrow::Cow;

/// Cuts blanks off the end of a line; gives how many.
pub(super) fn trim(line: &mut Cow<'_, [u8]>) -> usize {
    let before = line.len();
    match line {
        Cow::Borrowed(line) => *line = line.trim_ascii_end(),
        Cow::Owned(line) => line.truncate(line.trim_ascii_end().len()),
    }
    before - line.len()
}

/// Cuts blanks off the ends of lines, and blank lines off the end of all.
pub(super) fn drop_blanks(lines: &mut Vec<&[u8]>) {
    for line in &mut *lines {
        *line = line.trim_ascii_end();
    }
    let blank = lines.iter().rev().take_while(|line| line.is_empty()).count();
    lines.truncate(lines.len() - blank);
}

/// The hash of a line: 0 for a blank one. The same in every run, for cursors outlive theirs.
pub(super) fn hash(line: &[u8]) -> u64 {
    if line.is_empty() { 0 } else { xxhash_rust::xxh3::xxh3_64(line) }
}

/// Lines as text, invalid UTF-8 replaced, and how many bytes that was.
pub(super) fn decode<'a>(lines: impl Iterator<Item = &'a [u8]>) -> (Vec<String>, usize) {
    let mut replaced = 0;
    let lines = lines.map(|line| match std::str::from_utf8(line) {
        // Nearly always, and many times as fast as looking for the places where it is not.
        Ok(text) => text.to_owned(),
        Err(_) => {
            replaced += invalid_bytes(line);
            String::from_utf8_lossy(line).into_owned()
        }
    });
    (lines.collect(), replaced)
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
    fn blanks_go_at_the_ends_and_nowhere_else() {
        let mut lines: Vec<&[u8]> = vec![b"", b" one \t", b"  ", b"two", b" ", b""];
        drop_blanks(&mut lines);
        assert_eq!(lines, [&b""[..], b" one", b"", b"two"]);
        let mut owned = Cow::<[u8]>::Owned(b"one  ".to_vec());
        assert_eq!(trim(&mut owned), 2);
        assert_eq!(owned, &b"one"[..]);
    }
}
