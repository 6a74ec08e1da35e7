//! What a reader remembers of a pane.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::compare::may_be_trimmed;
use super::cursor::{Cursor, Sums};
use super::glance::Glance;
use super::grid::{Lines, anchor_row};
use super::text::hash;
use crate::client::Server;
use crate::model::PaneId;

/// How many bytes of a last line are remembered: enough to know it again when it was written on.
const MOST_OF_LAST: usize = 256;

/// Where and when a pane was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) pane: PaneId,
    /// Process id of what was started in it.
    pub(super) pid: u32,
    pub(super) server_pid: u32,
    pub(super) server_start: u64,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) history_size: u32,
    pub(super) history_limit: u32,
    /// The row that the lines begin at is in the middle of a line.
    pub(super) cut: bool,
    /// How many of the lines are wholly in the history.
    pub(super) history: usize,
    /// How many lines there are, blank ones at the end of the screen left out.
    pub(super) count: usize,
}

impl Place {
    fn new(server: &Server, pane: &Glance, lines: &Lines<'_>) -> Self {
        Self {
            pane: pane.id,
            pid: pane.pid,
            server_pid: server.identity.pid,
            server_start: server.identity.start_time,
            width: pane.width,
            height: pane.height,
            history_size: pane.history_size,
            history_limit: pane.history_limit,
            cut: lines.cut,
            history: lines.history.saturating_sub(lines.anchor),
            count: lines.lines.len().saturating_sub(lines.anchor),
        }
    }

    /// The row that the lines begin at.
    pub(super) fn row(&self) -> u32 {
        anchor_row(self.history_size)
    }

    /// Whether all there was is the rest of a line that begins above.
    pub(super) fn is_rest(&self) -> bool {
        self.cut && self.count == 1
    }

    /// The row to read on from: the row above goes with it, but where the very end is compared.
    pub(super) fn row_to_read(&self) -> u32 {
        self.row() + u32::from(self.is_rest())
    }

    /// Whether the history may have been trimmed by the time it was seen, or nearly.
    pub(super) fn may_be_trimmed(&self) -> bool {
        may_be_trimmed(self.history_size, self.height, self.history_limit)
    }

    /// How many lines in front are not whole, and so are compared with none.
    pub(super) fn partial(&self) -> usize {
        usize::from(self.cut)
    }
}

/// What a reader remembers of a pane at one instant, for reading on from there: the hashes of what
/// it showed and of 16 rows above, 8 bytes for each line, and how its last line began. Cheap to
/// clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View(pub(super) Arc<Inner>);

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Inner {
    pub(super) place: Place,
    /// Of the lines from the place's row on.
    pub(super) hashes: Vec<u64>,
    /// How the last line, which may be written on, began.
    pub(super) last: Box<[u8]>,
    /// Of the lines of the screen alone.
    pub(super) screen: Vec<u64>,
    /// The cursor stands on the last line.
    pub(super) unfinished: bool,
    /// It showed the alternate screen.
    pub(super) alternate: bool,
    /// While it shows the alternate screen: what it showed before, if that is known.
    pub(super) normal: Option<Baseline>,
    /// Signs that change as soon as anything is written, if there are any.
    pub(super) signs: Option<Signs>,
}

/// Where reading on begins: what is remembered, or a cursor, which knows less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// What is remembered: exact wherever that is possible.
    View(View),
    /// A cursor: of the screen it only knows whether all of it, the last line aside, is as it was.
    Cursor(Cursor),
}

impl From<View> for Baseline {
    fn from(view: View) -> Self {
        Self::View(view)
    }
}

impl From<Cursor> for Baseline {
    fn from(cursor: Cursor) -> Self {
        Self::Cursor(cursor)
    }
}

impl View {
    /// `asked` is when the pane was asked for, in seconds since the epoch.
    pub(super) fn new(
        server: &Server,
        pane: &Glance,
        lines: &Lines<'_>,
        normal: Option<Baseline>,
        asked: i64,
    ) -> Self {
        let mut hashes = lines.hashes.get(lines.anchor..).unwrap_or_default().to_vec();
        if let (true, Some(first)) = (lines.cut, hashes.first_mut()) {
            *first = hash(&lines.anchor_part);
        }
        let last = lines.lines.last().map(|line| line.as_ref()).unwrap_or_default();
        let last = last.get(..last.len().min(MOST_OF_LAST)).unwrap_or_default().into();
        Self(Arc::new(Inner {
            place: Place::new(server, pane, lines),
            hashes,
            last,
            screen: lines.screen.iter().map(|line| hash(line)).collect(),
            unfinished: lines.ends_at_cursor(pane),
            alternate: pane.alternate_on,
            normal,
            signs: Signs::of(pane, asked),
        }))
    }

    /// The pane.
    #[must_use]
    pub fn pane(&self) -> PaneId {
        self.0.place.pane
    }

    /// About how many bytes it holds in memory.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let Inner { hashes, last, screen, normal, .. } = &*self.0;
        let normal = match normal {
            Some(Baseline::View(view)) => view.held_bytes(),
            _ => 0,
        };
        let hashes = (hashes.capacity() + screen.capacity()) * size_of::<u64>();
        size_of::<Inner>() + hashes + last.len() + normal
    }

    /// Its text form.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        let Inner { place, hashes, screen, alternate, normal, .. } = &*self.0;
        if !alternate {
            return Cursor { place: *place, sums: Some(Sums::of(place, hashes)), alternate: None };
        }
        let alternate = Some(Sums::fold(screen));
        match normal {
            Some(normal) => {
                let Cursor { place, sums, .. } = normal.cursor();
                Cursor { place, sums, alternate }
            }
            None => Cursor { place: *place, sums: None, alternate },
        }
    }
}

impl Baseline {
    /// The pane.
    #[must_use]
    pub fn pane(&self) -> PaneId {
        self.place().pane
    }

    fn cursor(&self) -> Cursor {
        match self {
            Self::View(view) => view.cursor(),
            Self::Cursor(cursor) => cursor.clone(),
        }
    }

    pub(super) fn place(&self) -> &Place {
        match self {
            Self::View(view) => &view.0.place,
            Self::Cursor(cursor) => &cursor.place,
        }
    }

    /// Whether it is of this program in the pane. From 3.8 on a dead pane has no process id.
    pub(super) fn is_of(&self, pid: u32, dead: bool) -> bool {
        self.place().pid == pid || dead && pid == 0
    }

    /// What is known of the screen that is no alternate one.
    pub(super) fn normal(&self) -> Option<Self> {
        match self {
            Self::View(view) if view.0.alternate => view.0.normal.clone(),
            Self::Cursor(cursor) if cursor.alternate.is_some() => {
                cursor.sums.map(|_| Self::Cursor(Cursor { alternate: None, ..cursor.clone() }))
            }
            it => Some(it.clone()),
        }
    }

    pub(super) fn is_alternate(&self) -> bool {
        match self {
            Self::View(view) => view.0.alternate,
            Self::Cursor(cursor) => cursor.alternate.is_some(),
        }
    }

    /// The rows of an alternate screen, or their sum where that is all that is known.
    pub(super) fn alternate_rows(&self) -> Result<&[u64], Option<u32>> {
        match self {
            Self::View(view) => Ok(&view.0.screen),
            Self::Cursor(cursor) => Err(cursor.alternate),
        }
    }

    /// See [`Inner::signs`].
    pub(super) fn signs(&self) -> Option<&Signs> {
        match self {
            Self::View(view) => view.0.signs.as_ref(),
            Self::Cursor(_) => None,
        }
    }
}

/// Seconds since the epoch.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// What changes as soon as anything is written in a pane, or was seen at once where nothing was.
///
/// All output to a pane sets the time of its window's last activity, in whole seconds. So a pane
/// whose window was active in a second before it was read, and not since, has had no output.
/// Without output a screen changes by a reset, which puts the cursor at the top left, and by
/// resizing, which cannot be seen afterwards on an alternate screen if the size is as before.
///
/// # Wire
///
/// `protocol-notes/07-captures.md`, note 7.8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signs(String);

impl Signs {
    /// The formats, in the order of the values.
    const FORMATS: &str = "#{window_id} #{pane_pid} #{pane_width} #{pane_height} #{history_size} \
                           #{history_limit} #{cursor_x} #{cursor_y} #{window_activity} #{pane_dead}";

    /// Of a pane that was asked for at that time, in seconds since the epoch; `None` if it may
    /// change without a sign.
    pub(super) fn of(glance: &Glance, asked: i64) -> Option<Self> {
        let may_be_reset = glance.cursor_x == 0 && glance.cursor_y == 0;
        if glance.alternate_on || may_be_reset || glance.activity >= asked {
            return None;
        }
        let Glance { window_id, pid, width, height, history_size, history_limit, .. } = glance;
        let Glance { cursor_x, cursor_y, activity, dead, .. } = glance;
        let dead = u8::from(*dead);
        Some(Self(format!(
            "{window_id} {pid} {width} {height} {history_size} {history_limit} {cursor_x} \
             {cursor_y} {activity} {dead}"
        )))
    }

    /// A format that is true as soon as there is another sign.
    pub(super) fn have_changed(&self) -> String {
        format!("#{{||:#{{alternate_on}},#{{!=:{},{}}}}}", Self::FORMATS, self.0)
    }
}
