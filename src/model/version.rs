//! Versions of tmux.

/// What a server or binary calls its version.
///
/// ```
/// use muxwire::model::Version;
///
/// assert!(Version::parse("3.3a").at_least(3, 2));
/// assert!(Version::parse("next-3.8").at_least(3, 8));
/// assert_eq!(Version::parse("openbsd-7.6").release(), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    text: Box<str>,
    release: Option<(u32, u32)>,
    next: bool,
}

impl Version {
    /// Reads `3.3a`, `next-3.8` or `tmux 3.3a`. Every text is a version; of some the release is
    /// not known, such as `openbsd-7.6`, which counts OpenBSD's releases.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let text = text.strip_prefix("tmux ").unwrap_or(text);
        let (number, next) = match text.strip_prefix("next-") {
            Some(number) => (number, true),
            None => (text, false),
        };
        Self { text: text.into(), release: release(number), next }
    }

    /// The version as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Major and minor number, letters left out; `None` if they are not known.
    #[must_use]
    pub fn release(&self) -> Option<(u32, u32)> {
        self.release
    }

    /// Whether this is a development build on the way to its release.
    #[must_use]
    pub fn is_next(&self) -> bool {
        self.next
    }

    /// Whether this is known to be that release or a later one.
    #[must_use]
    pub fn at_least(&self, major: u32, minor: u32) -> bool {
        self.release.is_some_and(|release| release >= (major, minor))
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// `3.3a` → (3, 3); a letter or `-rc2` may follow.
fn release(number: &str) -> Option<(u32, u32)> {
    let (major, rest) = number.split_once('.')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (minor, suffix) = rest.split_at(end);
    let mut letters = suffix.chars();
    let is_known = match letters.next() {
        None => true,
        Some('a'..='z') => letters.next().is_none(),
        Some('-') => suffix.starts_with("-rc"),
        Some(_) => false,
    };
    if !is_known || !major.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_and_ordered() {
        for (text, release) in [
            ("3.1c", Some((3, 1))),
            ("3.10", Some((3, 10))),
            ("tmux 3.3a\n", Some((3, 3))),
            ("3.5-rc2", Some((3, 5))),
            ("next-3.8", Some((3, 8))),
            ("openbsd-7.6", None),
            ("master", None),
            ("", None),
            ("3", None),
            ("3.", None),
            ("x.1", None),
            ("+3.1", None),
            ("3.1.2", None),
            ("99999999999.1", None),
        ] {
            assert_eq!(Version::parse(text).release(), release, "{text:?}");
        }
        assert!(Version::parse("3.10").at_least(3, 9));
        assert!(!Version::parse("3.3a").at_least(3, 4));
        assert!(!Version::parse("openbsd-7.6").at_least(3, 1));
        assert!(Version::parse("next-3.8").is_next());
    }
}
