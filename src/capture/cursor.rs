//! Where a reader stands in a pane.

use super::Screen;
use crate::model::PaneId;

/// What a cursor's text starts with: its form, so that a later one can be told from it.
const FORM: &str = "m0";

/// A place in what a pane has shown, for reading on from there.
///
/// Its text is printable ASCII of at most 48 bytes. This form names the pane, the process in it and
/// the server, and no place within the text yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// The pane.
    pub pane: PaneId,
    /// Process id of what was started in it.
    pub pid: u32,
    /// Process id of the server.
    pub server_pid: u32,
    /// When the server started, in seconds since the epoch.
    pub server_start: u64,
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

impl Screen {
    /// Where a reader of this screen stands.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        let server = self.server.identity;
        Cursor {
            pane: self.pane.id,
            pid: self.pane.pid,
            server_pid: server.pid,
            server_start: server.start_time,
        }
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { pane, pid, server_pid, server_start } = self;
        write!(f, "{FORM}.{:x}.{pid:x}.{server_pid:x}.{server_start:x}", pane.number())
    }
}

impl std::str::FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let mut fields = text.split('.');
        if fields.next() != Some(FORM) {
            return Err(CursorError);
        }
        let mut number = || u64::from_str_radix(fields.next()?, 16).ok();
        let mut small = || u32::try_from(number()?).ok();
        let (pane, pid, server_pid) = (small(), small(), small());
        let cursor = match (pane, pid, server_pid, number()) {
            (Some(pane), Some(pid), Some(server_pid), Some(server_start)) => {
                Self { pane: PaneId::new(pane), pid, server_pid, server_start }
            }
            _ => return Err(CursorError),
        };
        // Only what is written exactly so is one: no sign, no zero in front, nothing behind.
        if cursor.to_string() == text { Ok(cursor) } else { Err(CursorError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_from_its_short_text() {
        let cursor = Cursor {
            pane: PaneId::new(7),
            pid: 4660,
            server_pid: 255,
            server_start: 1_700_000_000,
        };
        assert_eq!(cursor.to_string(), "m0.7.1234.ff.6553f100");
        for (number, start) in [(0, 0), (u32::MAX, u64::MAX)] {
            let cursor = Cursor {
                pane: PaneId::new(number),
                pid: number,
                server_pid: number,
                server_start: start,
            };
            let text = cursor.to_string();
            assert!(text.len() <= 48, "{text}");
            assert_eq!(text.parse(), Ok(cursor));
        }
    }

    #[test]
    fn a_damaged_cursor_is_refused() {
        for text in [
            "",
            "m0",
            "m0.1.2.3",
            "m0.1.2.3.4.5",
            "m0.1.2.3.4 ",
            "m1.1.2.3.4",
            "m0.01.2.3.4",
            "m0.+1.2.3.4",
            "m0.A.2.3.4",
            "m0.100000000.2.3.4",
            "m0.1.2.3.",
        ] {
            assert_eq!(text.parse::<Cursor>(), Err(CursorError), "{text:?}");
        }
    }
}
