//! The URIs of resources: `tmux://{endpoint}/{generation}/…`.
//!
//! Each component has exactly one spelling: letters, digits and `-._~` stand for themselves, every other byte is `%` and
//! two upper-case hex digits, and the bytes are UTF-8. So `%1` is `%251`, and `%31` is refused because `1` needs no
//! encoding. There is no query and no fragment.

use super::binding::Generation;
use crate::model::PaneId;
use crate::query::Entity;

/// The longest URI in bytes.
pub(crate) const MAX_URI: usize = 1_024;
/// What each starts with.
const SCHEME: &str = "tmux://";

/// A URI of ours, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Uri {
    /// The alias of the endpoint.
    pub(crate) endpoint: String,
    /// The server instance.
    pub(crate) generation: Generation,
    /// What of it.
    pub(crate) subject: Subject,
}

/// What a URI names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// All things of a kind.
    Snapshot(Entity),
    /// A further page of a capture, by its cursor.
    Page(String),
    /// What a pane shows.
    Screen(PaneId),
}

impl Uri {
    /// Takes a URI apart; none if it is not one of ours.
    pub(crate) fn read(uri: &str) -> Option<Self> {
        let path = uri.strip_prefix(SCHEME).filter(|_| uri.len() <= MAX_URI)?;
        let parts: Vec<String> = path.split('/').map(decode).collect::<Option<_>>()?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (endpoint, generation, subject) = match *parts.as_slice() {
            [endpoint, generation, "snapshots", entity] => {
                (endpoint, generation, Subject::Snapshot(Entity::named(entity)?))
            }
            [endpoint, generation, "pages", cursor] => {
                (endpoint, generation, Subject::Page(cursor.to_owned()))
            }
            [endpoint, generation, "panes", pane, "screen"] => {
                (endpoint, generation, Subject::Screen(pane.parse().ok()?))
            }
            _ => return None,
        };
        let generation = Generation::read(generation)?;
        Some(Self { endpoint: endpoint.to_owned(), generation, subject })
    }
}

/// A component as the text that it stands for; none if it is empty or spelt in another way than the one.
pub(crate) fn decode(component: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(component.len());
    let mut rest = component.as_bytes();
    loop {
        rest = match rest {
            [] => break,
            [b'%', high, low, rest @ ..] => {
                let byte = (digit(*high)? << 4) | digit(*low)?;
                if is_plain(byte) {
                    return None;
                }
                bytes.push(byte);
                rest
            }
            [byte, rest @ ..] if is_plain(*byte) => {
                bytes.push(*byte);
                rest
            }
            _ => return None,
        };
    }
    String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}

/// Whether a byte stands for itself.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GENERATION: &str = "0123456789abcdef0123456789abcdef";

    /// The one spelling of a component.
    fn encode(text: &str) -> String {
        let encode = |byte: u8| match is_plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        };
        text.bytes().map(encode).collect()
    }

    fn read(rest: &str) -> Option<Subject> {
        let uri = Uri::read(&format!("tmux://default/{GENERATION}/{rest}"))?;
        assert_eq!((&*uri.endpoint, &*uri.generation.to_string()), ("default", GENERATION));
        Some(uri.subject)
    }

    #[test]
    fn every_text_has_one_spelling_that_comes_back() {
        for text in ["a", "%1", "a/b", "é☃", "~-._", " ", "\0", "%25", "?#", "\u{10ffff}"] {
            assert_eq!(decode(&encode(text)).as_deref(), Some(text), "{text:?}");
        }
        assert_eq!(encode("%1"), "%251");
        for bad in [
            "",
            "%",
            "%2",
            "%1",
            "%31",
            "%41",
            "%7E",
            "%2e",
            "%c3%a9",
            "%C3",
            "%C0%AF",
            "%E2%98",
            "%ED%A0%80",
            "a b",
            "a+b",
            "a%",
            "a%2",
            "%%",
            "%+5",
            "é",
            "a?b",
            "a#b",
            "a:b",
            "a$",
        ] {
            assert_eq!(decode(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn each_kind_of_uri_is_told_from_the_others() {
        for entity in Entity::ALL {
            assert_eq!(
                read(&format!("snapshots/{}", entity.name())),
                Some(Subject::Snapshot(entity))
            );
        }
        assert_eq!(read("pages/s0.1.2"), Some(Subject::Page("s0.1.2".into())));
        assert_eq!(read("panes/%2510/screen"), Some(Subject::Screen(PaneId::new(10))));
        for bad in [
            "",
            "snapshots",
            "snapshots/",
            "snapshots/panes",
            "snapshots/Pane",
            "snapshots/pane/",
            "snapshots//pane",
            "snapshots/pane?x=1",
            "snapshots/pane#x",
            "snapshots/p%61ne",
            "pages",
            "pages/",
            "pages/a/b",
            "panes/%251",
            "panes/%251/",
            "panes/%1/screen",
            "panes/1/screen",
            "panes/%2501/screen",
            "panes/%25%31/screen",
            "panes/@1/screen",
            "panes/%251/screen/",
            "pan%65s/%251/screen",
            "sessions/x",
            "../snapshots/pane",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn scheme_generation_and_length_are_strict() {
        let good = format!("tmux://e/{GENERATION}/pages/x");
        assert!(Uri::read(&good).is_some());
        for bad in [
            good.replace("tmux:", "TMUX:"),
            good.replace("tmux://", "tmux:/"),
            good.replace("tmux://", ""),
            good.replace("/e/", "//"),
            good.replace("abcdef", "ABCDEF"),
            good.replace("0123456789abcdef0123", ""),
            good.clone() + " ",
            format!(" {good}"),
        ] {
            assert_eq!(Uri::read(&bad), None, "{bad}");
        }
        let longest = good.clone() + &"x".repeat(MAX_URI - good.len());
        assert!(Uri::read(&longest).is_some());
        assert_eq!(Uri::read(&(longest + "x")), None);
    }
}
