//! What was written in a pane since it was last read.

use super::PaneState;
use super::ask::{Above, Ask, Reckoning};
use super::compare::{Missed, Newer, Verdict, after_trims, compare};
use super::cursor::Sums;
use super::differ::splice;
use super::grid::Lines;
use super::screen::take_banner;
use super::text::{decode, hash};
use super::view::{Baseline, View, now};
use crate::client::{Delivery, Error, ErrorKind, Server, Tmux};
use crate::model::PaneId;

/// How often the place of an earlier view is looked for on a server that cannot compute it, while
/// the history grows.
const GUESSES: usize = 3;

/// What of the changes is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// What was written, line by line, also what has scrolled off since.
    #[default]
    Lines,
    /// How the screen differs, row by row.
    Screen,
}

/// What is read, and how much of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SinceOptions {
    /// What of the changes is wanted. Default: lines.
    pub kind: Kind,
    /// Keep at most so many lines, the newest. Default: all.
    pub max_lines: Option<usize>,
    /// Keep at most so many bytes of lines, the newest; a line that is too long alone keeps its
    /// end. Default: all.
    pub max_bytes: Option<usize>,
}

/// How a screen differs from the earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScreenDelta {
    /// The first line of the earlier screen that goes.
    pub start: usize,
    /// How many go.
    pub delete: usize,
    /// What comes in their place.
    pub rows: Vec<String>,
    /// The earlier screen is not known, and these are all rows of this one.
    pub reset: bool,
}

/// What became of a pane since it was read before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delta {
    /// The server that was seen.
    pub server: Server,
    /// The pane's state.
    pub pane: PaneState,
    /// Lines that were written or rewritten, in the order in which they stand in the pane: each
    /// finished line once over successive calls. The last one may be unfinished; it comes again
    /// when it was written on. Without an earlier view, or where something was missed: the screen.
    pub lines: Vec<String>,
    /// Why it cannot be told what was written, if it cannot.
    pub missed: Option<Missed>,
    /// How many older lines the limits cut off.
    pub truncated_lines: usize,
    /// How many bytes the limits cut off, those of whole lines among them.
    pub truncated_bytes: usize,
    /// How many bytes were not UTF-8 and are U+FFFD in the text.
    pub replaced_bytes: usize,
    /// How the screen differs, for [`Kind::Screen`].
    pub screen: Option<ScreenDelta>,
    /// Where the next call reads on.
    pub view: View,
}

impl Tmux {
    /// Reads what was written in a pane since `earlier`, exactly or saying why not; without an
    /// earlier view the screen. As a rule one round trip; where the earlier place is not found at
    /// once, a second one reads the whole history.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), muxwire::Error> {
    /// let tmux = muxwire::Tmux::builder().build()?;
    /// let pane = "%1".parse().expect("an id");
    /// let mut earlier = None;
    /// loop {
    ///     let delta = tmux.since(pane, earlier.as_ref(), &Default::default()).await?;
    ///     for line in &delta.lines {
    ///         println!("{line}");
    ///     }
    ///     earlier = Some(delta.view.into());
    ///     tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when there is no such pane; [`ErrorKind::StaleCursor`] when another
    /// program was started in it; [`ErrorKind::ServerChanged`] when another server answers than
    /// `earlier` is of; [`ErrorKind::InvalidInput`] when `earlier` is of another pane; and the
    /// errors of [`run`](Tmux::run).
    ///
    /// # Cancel safety
    ///
    /// Changes nothing; dropped, the connection is closed and `earlier` is as good as before.
    ///
    /// # Wire
    ///
    /// `protocol-notes/07-captures.md`, notes 7.3 to 7.8.
    pub async fn since(
        &self,
        pane: PaneId,
        earlier: Option<&Baseline>,
        options: &SinceOptions,
    ) -> Result<Delta, Error> {
        if earlier.is_some_and(|earlier| earlier.pane() != pane) {
            return Err(Error::invalid_input("the cursor is one of another pane"));
        }
        let due = self.due();
        let server = match (earlier, self.last_seen()) {
            (None, _) => None,
            (Some(_), Some(server)) => Some(server),
            (Some(_), None) => Some(self.until(due).server().await?),
        };
        // The place of a view of an alternate screen is the one before it.
        let base = earlier.and_then(Baseline::normal);
        let place = base.as_ref().map(Baseline::place);
        let mut reckoning = match (&server, place) {
            (Some(server), Some(place)) => Reckoning::of(server, place.history_size),
            _ => Reckoning::Guess(0),
        };
        let mut above = match place {
            Some(place) if options.kind == Kind::Lines => Above::Row(place.row()),
            _ => Above::Nothing,
        };
        let mut guesses = 0;
        let mut unless = earlier.and_then(Baseline::unless);
        loop {
            let probes = match place {
                Some(place) if matches!(above, Above::Row(_)) && place.may_be_trimmed() => {
                    after_trims(place.row(), place.history_limit).collect()
                }
                _ => Vec::new(),
            };
            let ask = Ask { pane, place: Some((above, reckoning)), probes, unless, content: None };
            let asked = now();
            let reply = ask.run(&self.until(due)).await?;
            if let Some(earlier) = earlier {
                check(earlier, &reply.server, &reply.pane)?;
            }
            let (captures, view) = match (ask.take(&reply), earlier) {
                (Some(captures), _) => (captures, None),
                (None, Some(Baseline::View(view))) => (Default::default(), Some(view.clone())),
                (None, _) => return Err(Error::no_proof()),
            };
            if let Some(view) = view {
                return Ok(Delta::unchanged(reply.server, reply.pane, view, options.kind));
            }
            let mut parts = captures.parts.unwrap_or_default();
            take_banner(&reply.pane, &mut parts.screen);
            let lines = Lines::assemble(&reply.pane, parts);
            let newer = Newer {
                pane: &reply.pane,
                lines: &lines,
                probes: &captures.probes,
                whole: above == Above::Everything,
            };
            let verdict = judge(earlier, base.as_ref(), &newer, options.kind);
            let Some(verdict) = verdict else {
                unless = None;
                let grown = match reckoning {
                    Reckoning::Guess(size) => reply.pane.history_size != size,
                    Reckoning::Format => false,
                };
                guesses += 1;
                if grown && guesses < GUESSES {
                    reckoning = Reckoning::Guess(reply.pane.history_size);
                } else {
                    above = Above::Everything;
                }
                continue;
            };
            let normal = if reply.pane.alternate_on { base.clone() } else { None };
            let view = View::new(&reply.server, &reply.pane, &lines, normal, asked);
            let splice = (options.kind == Kind::Screen).then(|| screen(earlier, &lines));
            let mut delta = Delta::new(reply.server.clone(), reply.pane.clone(), view);
            match verdict {
                _ if splice.is_some() => {}
                Outcome::Screen(missed) => {
                    delta.missed = missed;
                    delta.keep_newest(lines.screen.iter().copied(), options);
                }
                Outcome::Rows(rows) => {
                    let rows = rows.iter().filter_map(|at| lines.screen.get(*at));
                    delta.keep_newest(rows.copied(), options);
                }
                Outcome::Lines(written) => {
                    let lines = written.iter().filter_map(|at| lines.lines.get(*at));
                    delta.keep_newest(lines.map(|line| line.as_ref()), options);
                }
            }
            if let Some((screen, replaced_bytes)) = splice {
                delta.screen = Some(screen);
                delta.replaced_bytes = replaced_bytes;
            }
            return Ok(delta);
        }
    }
}

/// What is to be told.
#[derive(Debug)]
enum Outcome {
    /// The whole screen, and why if there was an earlier view.
    Screen(Option<Missed>),
    /// These rows of the screen.
    Rows(Vec<usize>),
    /// These lines.
    Lines(Vec<usize>),
}

/// What is to be told; `None` if the whole history is needed to tell.
fn judge(
    earlier: Option<&Baseline>,
    base: Option<&Baseline>,
    newer: &Newer<'_>,
    kind: Kind,
) -> Option<Outcome> {
    let (Some(earlier), Kind::Lines) = (earlier, kind) else { return Some(Outcome::Screen(None)) };
    if newer.pane.alternate_on {
        return Some(on_alternate(earlier, newer.lines));
    }
    let Some(base) = base else { return Some(Outcome::Screen(Some(Missed::AlternateScreen))) };
    match compare(base, newer) {
        Verdict::Written(lines) => Some(Outcome::Lines(lines)),
        Verdict::Missed(missed) => Some(Outcome::Screen(Some(missed))),
        Verdict::Further => None,
    }
}

/// The rows of an alternate screen that differ.
fn on_alternate(earlier: &Baseline, lines: &Lines<'_>) -> Outcome {
    if !earlier.is_alternate() {
        return Outcome::Screen(None);
    }
    match earlier.alternate_rows() {
        Ok(rows) => {
            let is_new =
                |at: &usize| lines.screen.get(*at).map(|row| hash(row)) != rows.get(*at).copied();
            Outcome::Rows((0..lines.screen.len()).filter(is_new).collect())
        }
        Err(sum) => {
            let hashes: Vec<u64> = lines.screen.iter().map(|row| hash(row)).collect();
            if Some(Sums::fold(&hashes)) == sum {
                Outcome::Rows(Vec::new())
            } else {
                Outcome::Screen(Some(Missed::AlternateScreen))
            }
        }
    }
}

/// How the screen differs from the earlier one, and how many bytes of it were not UTF-8.
fn screen(earlier: Option<&Baseline>, lines: &Lines<'_>) -> (ScreenDelta, usize) {
    let rows: Vec<u64> = lines.screen.iter().map(|row| hash(row)).collect();
    let known = match earlier {
        Some(Baseline::View(view)) => Some(&view.0.screen),
        _ => None,
    };
    let splice = splice(known.map_or(&[], Vec::as_slice), &rows);
    let changed = lines.screen.get(splice.rows.clone()).unwrap_or_default();
    let (rows, replaced_bytes) = decode(changed.iter().copied());
    let reset = known.is_none();
    (ScreenDelta { start: splice.start, delete: splice.delete, rows, reset }, replaced_bytes)
}

/// Refuses an earlier view of another server or another program.
fn check(earlier: &Baseline, server: &Server, pane: &PaneState) -> Result<(), Error> {
    let place = earlier.place();
    let identity = server.identity;
    if (place.server_pid, place.server_start) != (identity.pid, identity.start_time) {
        let message = "the server was restarted since the cursor was given: its panes are others; \
                       list them and read without a cursor";
        return Err(Error::new(ErrorKind::ServerChanged, Delivery::Observed, message));
    }
    // From 3.8 on a dead pane has no process id.
    let has_none = pane.dead && pane.pid == 0;
    if place.pid != pane.pid && !has_none {
        let message = "another program was started in the pane since the cursor was given; read \
                       the pane without a cursor";
        return Err(Error::new(ErrorKind::StaleCursor, Delivery::Observed, message));
    }
    Ok(())
}

impl Delta {
    fn new(server: Server, pane: PaneState, view: View) -> Self {
        Self {
            server,
            pane,
            lines: Vec::new(),
            missed: None,
            truncated_lines: 0,
            truncated_bytes: 0,
            replaced_bytes: 0,
            screen: None,
            view,
        }
    }

    fn unchanged(server: Server, pane: PaneState, view: View, kind: Kind) -> Self {
        let rows = view.0.screen.len();
        let screen = ScreenDelta { start: rows, delete: 0, rows: Vec::new(), reset: false };
        let screen = (kind == Kind::Screen).then_some(screen);
        Self { screen, ..Self::new(server, pane, view) }
    }

    /// Takes the newest lines that the limits allow.
    fn keep_newest<'a>(
        &mut self,
        lines: impl DoubleEndedIterator<Item = &'a [u8]> + Clone,
        options: &SinceOptions,
    ) {
        let mut room = options.max_bytes.unwrap_or(usize::MAX);
        let mut kept: Vec<&[u8]> = Vec::new();
        for line in lines.rev() {
            let is_full = options.max_lines.is_some_and(|most| kept.len() >= most);
            if is_full || room == 0 && !line.is_empty() || self.truncated_lines > 0 {
                self.truncated_lines += 1;
                self.truncated_bytes += line.len();
                continue;
            }
            let line = match line.len().checked_sub(room) {
                Some(over) if over > 0 && kept.is_empty() => {
                    let end = tail(line, over);
                    self.truncated_bytes += line.len() - end.len();
                    end
                }
                Some(over) if over > 0 => {
                    self.truncated_lines += 1;
                    self.truncated_bytes += line.len();
                    continue;
                }
                _ => line,
            };
            room -= line.len().min(room);
            kept.push(line);
        }
        (self.lines, self.replaced_bytes) = decode(kept.into_iter().rev());
    }
}

/// The line without at least `over` bytes at its front, and without the rest of a character there.
fn tail(line: &[u8], over: usize) -> &[u8] {
    let end = line.get(over..).unwrap_or_default();
    let is_inside = |byte: &&u8| **byte & 0xc0 == 0x80;
    let inside = end.iter().take(3).take_while(is_inside).count();
    end.get(inside..).unwrap_or_default()
}
