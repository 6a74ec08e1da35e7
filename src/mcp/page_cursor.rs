//! Where something that is kept is read on.

/// What is read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Metadata, at an item.
    Metadata,
    /// Matches of a search, at one of them.
    Matches,
    /// Panes that are observed, after so many looks.
    Observation,
}

impl Form {
    const ALL: [Self; 3] = [Self::Metadata, Self::Matches, Self::Observation];

    /// What a cursor's text starts with, so that one form can be told from another and from later ones.
    fn prefix(self) -> &'static str {
        match self {
            Self::Metadata => "s0",
            Self::Matches => "q0",
            Self::Observation => "o0",
        }
    }
}

/// The place of a page. Its text is at most 53 characters, which need no encoding in a URI, and ends in a checksum, so
/// that a damaged one is known as such rather than taken for an old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageCursor {
    /// What it is a cursor of.
    pub(crate) form: Form,
    /// The id of what is kept.
    pub(crate) capture: u128,
    /// How many items come before the page.
    pub(crate) position: u32,
}

/// The text is no cursor of a page, or a damaged one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotACursor;

impl std::fmt::Display for PageCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plain = format!("{}.{:032x}.{:x}", self.form.prefix(), self.capture, self.position);
        write!(f, "{plain}.{:08x}", checksum(plain.as_bytes()))
    }
}

impl std::str::FromStr for PageCursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let mut parts = text.split('.');
        let prefix = parts.next().unwrap_or_default();
        let form = Form::ALL.into_iter().find(|form| form.prefix() == prefix).ok_or(NotACursor)?;
        let mut number = || u128::from_str_radix(parts.next()?, 16).ok();
        let (capture, position) = (number(), number().and_then(|it| u32::try_from(it).ok()));
        let (Some(capture), Some(position)) = (capture, position) else { return Err(NotACursor) };
        let cursor = Self { form, capture, position };
        // Only what is written exactly so is one.
        if cursor.to_string() == text { Ok(cursor) } else { Err(NotACursor) }
    }
}

/// FNV-1a: another byte in any one place gives another sum.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_from_its_short_text() {
        for (capture, position) in [(0, 0), (1, 50), (u128::MAX, u32::MAX)] {
            let cursor = PageCursor { form: Form::Metadata, capture, position };
            let text = cursor.to_string();
            assert!(text.len() <= 53, "{text}");
            assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.'), "{text}");
            assert_eq!(text.parse(), Ok(cursor));
        }
        let cursor = PageCursor { form: Form::Metadata, capture: 0xab, position: 200 };
        assert_eq!(cursor.to_string(), "s0.000000000000000000000000000000ab.c8.69c79b04");
    }

    #[test]
    fn damage_in_any_one_place_is_seen() {
        let text = PageCursor { form: Form::Matches, capture: 0x0123_4567_89ab_cdef, position: 50 }
            .to_string();
        let damaged =
            |text: &str| assert_eq!(text.parse::<PageCursor>(), Err(NotACursor), "{text}");
        for at in 0..text.len() {
            for other in "0123456789abcdefABCDEF.sx%+ \n".chars() {
                let mut changed = text.clone();
                changed.replace_range(at..=at, &other.to_string());
                if changed != text {
                    damaged(&changed);
                }
            }
            damaged(&text[..at]);
            damaged(&format!("{}{}", &text[..at], &text[at + 1..]));
            damaged(&format!("{}0{}", &text[..at], &text[at..]));
        }
        for other in ["", "s0", "m0.7.1234.ff.6553f100", "s1.0.0.0", "s0.....", "\u{661}"] {
            damaged(other);
        }
        damaged(&(text + "0"));
    }
}
