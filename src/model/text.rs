//! Text that may hold any byte.

use std::borrow::Cow;

use bytes::Bytes;

use crate::exchange::TextEncoding;

/// A name, title or path as the server holds it: as a rule UTF-8, and any other byte is possible.
///
/// Shares the memory of the reply that it came in, so that it costs no allocation: one that is
/// kept for long keeps that reply. [`Display`](std::fmt::Display) and JSON replace invalid UTF-8
/// with U+FFFD; the JSON of a row counts it in `replaced_bytes`, if there is any.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Bytes);

impl Text {
    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text, invalid UTF-8 replaced.
    #[must_use]
    pub fn to_str_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// How many bytes are not UTF-8, which are replaced where it is shown.
    #[must_use]
    pub fn replaced_bytes(&self) -> usize {
        self.0.utf8_chunks().map(|chunk| chunk.invalid().len()).sum()
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Bytes> for Text {
    fn from(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

impl From<&'static str> for Text {
    fn from(text: &'static str) -> Self {
        Self(Bytes::from_static(text.as_bytes()))
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.to_str_lossy(), f)
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl serde::Serialize for Text {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_str_lossy())
    }
}

/// Gives back the bytes that the server holds, from what `#{q:…}` printed.
///
/// `q:` puts a backslash before what a shell would read, a backslash among it. So the escapes that
/// 3.4 and 3.5 put in place of control and invalid bytes can be told from text that looks like
/// them, and every byte comes back on every release.
///
/// # Wire
///
/// `protocol-notes/06-formats.md`, note 6.2.
#[must_use]
pub fn unescape(raw: &Bytes, encoding: TextEncoding) -> Bytes {
    if memchr::memchr(b'\\', raw).is_none() {
        return raw.clone();
    }
    let undollared;
    let mut rest: &[u8] = match encoding {
        TextEncoding::EscapedDollar => {
            undollared = without_dollar_escapes(raw);
            &undollared
        }
        TextEncoding::Raw | TextEncoding::Escaped => raw,
    };
    let escapes = encoding != TextEncoding::Raw;
    let mut text = Vec::with_capacity(raw.len());
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (before, escape) = rest.split_at(at);
        text.extend_from_slice(before);
        let (byte, length) = match escape {
            [_, a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] if escapes => {
                (((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'), 4)
            }
            [_, letter, ..] => {
                let control = if escapes { control_byte(*letter) } else { None };
                (control.unwrap_or(*letter), 2)
            }
            _ => (b'\\', 1),
        };
        text.push(byte);
        rest = escape.get(length..).unwrap_or_default();
    }
    text.extend_from_slice(rest);
    text.into()
}

/// The control byte that a C-style escape stands for.
fn control_byte(letter: u8) -> Option<u8> {
    Some(match letter {
        b'a' => 0x07,
        b'b' => 0x08,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 0x0b,
        b'f' => 0x0c,
        b'r' => b'\r',
        _ => return None,
    })
}

/// Takes out the one backslash that 3.4 puts before each `$` that a name could follow.
fn without_dollar_escapes(raw: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(raw.len());
    for (at, &byte) in raw.iter().enumerate() {
        let inserted = matches!(
            raw.get(at..),
            Some([b'\\', b'$', next, ..]) if next.is_ascii_alphabetic() || matches!(next, b'_' | b'{')
        );
        if !inserted {
            text.push(byte);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(raw: &'static [u8], encoding: TextEncoding) -> Vec<u8> {
        unescape(&Bytes::from_static(raw), encoding).to_vec()
    }

    #[test]
    fn text_without_backslashes_is_not_copied() {
        let raw = Bytes::from_static(b"plain \xff text");
        assert_eq!(unescape(&raw, TextEncoding::Escaped).as_ptr(), raw.as_ptr());
    }

    #[test]
    fn an_escape_and_a_text_that_looks_like_one_are_told_apart() {
        use TextEncoding::{Escaped, EscapedDollar, Raw};
        for (raw, encoding, expected) in [
            (&b"\\037\\\\037"[..], Escaped, &b"\x1f\\037"[..]),
            (b"\\a\\\\a\\r\\b\\f\\v", Escaped, b"\x07\\a\r\x08\x0c\x0b"),
            (b"\\377\\ \\;\\'", Escaped, b"\xff ;'"),
            (b"\\\\037\x1f", Raw, b"\\037\x1f"),
            (b"\\$HOME", Raw, b"$HOME"),
            (b"\\\\$HOME \\$1", EscapedDollar, b"$HOME $1"),
            (b"\\\\\\\\$a", EscapedDollar, b"\\$a"),
            (b"\\\\\\$a", Raw, b"\\$a"),
            (b"end\\", Raw, b"end\\"),
            (b"\\4", Escaped, b"4"),
        ] {
            let shown = raw.escape_ascii();
            assert_eq!(text(raw, encoding), expected, "{shown} {encoding:?}");
        }
    }
}
