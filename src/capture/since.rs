//! What was written in a pane since it was last read.

use super::ask::{Above, Ask, Reckoning, Reply};
use super::compare::{MOST_TRIMS, Missed, Newer, Verdict, after_trims, compare};
use super::cursor::Sums;
use super::differ::splice;
use super::glance::Glance;
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
    /// The pane.
    pub pane: Glance,
    /// Lines that were written or rewritten, in the order in which they stand in the pane: each
    /// finished line once over successive calls. The last one may be unfinished; it comes again
    /// when it was written on. Without an earlier view, or where something was missed: the screen.
    pub lines: Vec<String>,
    /// The pane's last line is the last of the lines.
    pub ends_with_last: bool,
    /// The cursor stands on the pane's last line, which may be written on.
    pub unfinished: bool,
    /// The line that was the last one before was written on: it is among the lines again.
    pub last_rewritten: bool,
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
    /// What leaves the pane as it would have been is not seen: text written over by the same text,
    /// or a history that was cleared when at most one line had been seen, or before
    /// the same lines were written again.
    ///
    /// A pane is known to be unchanged by the time of its last output, for which server and caller
    /// must have one clock: over a socket forwarded from a host whose clock is behind, text that is
    /// rewritten within a second and leaves the cursor where it was may not be told before more is
    /// written.
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
        let due = self.due();
        let server = match (earlier, self.last_seen()) {
            (None, _) => None,
            (Some(_), Some(server)) => Some(server),
            (Some(_), None) => Some(self.until(due).server().await?),
        };
        let mut reading = Reading::new(pane, earlier, options, server.as_ref())?;
        loop {
            let (ask, asked) = (reading.ask(), now());
            let reply = ask.run(&self.until(due)).await?;
            if let Some(delta) = reading.take(&ask, &reply, asked)? {
                return Ok(delta);
            }
        }
    }
}

/// One pane being read on: what to ask next, until it can be told what was written. No I/O.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    pane: PaneId,
    earlier: Option<&'a Baseline>,
    /// What is known of the screen that is no alternate one.
    base: Option<Baseline>,
    options: &'a SinceOptions,
    above: Above,
    reckoning: Reckoning,
    guesses: usize,
    /// The earlier place's row has been among what was read.
    looked: bool,
}

impl<'a> Reading<'a> {
    /// `server` is the one that is read, as far as it is known.
    pub(super) fn new(
        pane: PaneId,
        earlier: Option<&'a Baseline>,
        options: &'a SinceOptions,
        server: Option<&Server>,
    ) -> Result<Self, Error> {
        if earlier.is_some_and(|earlier| earlier.pane() != pane) {
            return Err(Error::invalid_input("the cursor is one of another pane"));
        }
        let base = earlier.and_then(Baseline::normal);
        let place = base.as_ref().map(Baseline::place);
        let reckoning = match (server, place) {
            (Some(server), Some(place)) => Reckoning::of(server, place.history_size),
            (None, Some(place)) => Reckoning::Guess(place.history_size),
            _ => Reckoning::Guess(0),
        };
        let above = match place {
            Some(place) if options.kind == Kind::Lines => Above::Row(place.row_to_read()),
            _ => Above::Nothing,
        };
        Ok(Self { pane, earlier, base, options, above, reckoning, guesses: 0, looked: false })
    }

    /// Whether there is an earlier view.
    pub(super) fn reads_on(&self) -> bool {
        self.earlier.is_some()
    }

    /// What to ask next.
    pub(super) fn ask(&self) -> Ask<'a> {
        let place = self.base.as_ref().map(Baseline::place);
        let mut probes: Vec<u32> = match place {
            Some(place) if self.above != Above::Everything && place.may_be_trimmed() => {
                let rows = after_trims(place.row(), place.history_limit);
                rows.take(MOST_TRIMS + 1).collect()
            }
            _ => Vec::new(),
        };
        if probes.len() > MOST_TRIMS {
            probes.clear();
        }
        let is_first = self.guesses == 0;
        Ask {
            pane: self.pane,
            place: Some((self.above, self.reckoning)),
            probes,
            full: false,
            unless: self.earlier.and_then(Baseline::signs).filter(|_| is_first),
            content: None,
        }
    }

    /// Chooses what to ask next when what was read does not tell.
    fn look_further(&mut self, history_size: u32) {
        self.guesses += 1;
        let grown = match &mut self.reckoning {
            Reckoning::Guess(size) => std::mem::replace(size, history_size) != history_size,
            Reckoning::Format => false,
        };
        self.above = match self.above {
            Above::Row(row) if grown && self.guesses < GUESSES => Above::Row(row),
            Above::Row(row) => Above::Around(row),
            _ => Above::Everything,
        };
    }

    /// What was written, from the reply to what was asked at that time; `None` if more must be
    /// asked to tell.
    pub(super) fn take(
        &mut self,
        ask: &Ask<'_>,
        reply: &Reply,
        asked: i64,
    ) -> Result<Option<Delta>, Error> {
        let kind = self.options.kind;
        if let Some(earlier) = self.earlier {
            check(earlier, &reply.server, &reply.pane)?;
        }
        let Some(captures) = ask.take(reply) else {
            let Some(Baseline::View(view)) = self.earlier else { return Err(Error::no_proof()) };
            let start = view.0.screen.len();
            let same = ScreenDelta { start, delete: 0, rows: Vec::new(), reset: false };
            let screen = (kind == Kind::Screen).then_some(same);
            let unfinished = view.0.unfinished;
            return Ok(Some(Delta { screen, unfinished, ..Delta::new(reply, view.clone()) }));
        };
        let mut parts = captures.parts.unwrap_or_default();
        take_banner(&reply.pane, &mut parts.screen);
        let lines = Lines::assemble(&reply.pane, parts);
        let newer = Newer {
            pane: &reply.pane,
            lines: &lines,
            probes: &captures.probes,
            whole: self.above != Above::Nothing && lines.first_row == 0,
            looked: self.looked,
        };
        let Some(outcome) = judge(self.earlier, self.base.as_ref(), &newer, kind) else {
            let place = self.base.as_ref().map(Baseline::place);
            self.looked |= place.is_some_and(|it| lines.line_at(it.row(), it.cut).is_some());
            self.look_further(reply.pane.history_size);
            return Ok(None);
        };
        let normal = if reply.pane.alternate_on { self.base.clone() } else { None };
        let view = View::new(&reply.server, &reply.pane, &lines, normal, asked);
        let unfinished = view.0.unfinished;
        let mut delta = Delta { unfinished, ..Delta::new(reply, view) };
        match outcome {
            Outcome::Screen(_) if kind == Kind::Screen => {
                let (screen, replaced_bytes) = screen(self.earlier, &lines);
                (delta.screen, delta.replaced_bytes) = (Some(screen), replaced_bytes);
            }
            Outcome::Screen(missed) => {
                delta.missed = missed;
                delta.ends_with_last = !lines.screen.is_empty();
                delta.keep_newest(lines.screen.iter().copied(), self.options);
            }
            Outcome::Rows(rows) => {
                let rows = rows.iter().filter_map(|at| lines.screen.get(*at));
                delta.keep_newest(rows.copied(), self.options);
            }
            Outcome::Lines(written, last) => {
                delta.last_rewritten = last;
                delta.ends_with_last = written.last().is_some_and(|at| at + 1 == lines.lines.len());
                let lines = written.iter().filter_map(|at| lines.lines.get(*at));
                delta.keep_newest(lines.map(|line| line.as_ref()), self.options);
            }
        }
        Ok(Some(delta))
    }
}

/// What is to be told.
#[derive(Debug)]
enum Outcome {
    /// The whole screen, and why if there was an earlier view.
    Screen(Option<Missed>),
    /// These rows of the screen.
    Rows(Vec<usize>),
    /// These lines, and whether what was the last one is among them.
    Lines(Vec<usize>, bool),
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
        Verdict::Written(lines, last) => Some(Outcome::Lines(lines, last)),
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
fn check(earlier: &Baseline, server: &Server, pane: &Glance) -> Result<(), Error> {
    let place = earlier.place();
    let identity = server.identity;
    if (place.server_pid, place.server_start) != (identity.pid, identity.start_time) {
        return Err(Error::server_changed());
    }
    if !earlier.is_of(pane.pid, pane.dead) {
        let message = "another program was started in the pane since the cursor was given; read \
                       the pane without a cursor";
        return Err(Error::new(ErrorKind::StaleCursor, Delivery::Observed, message));
    }
    Ok(())
}

impl Delta {
    fn new(reply: &Reply, view: View) -> Self {
        Self {
            server: reply.server.clone(),
            pane: reply.pane.clone(),
            lines: Vec::new(),
            ends_with_last: false,
            unfinished: false,
            last_rewritten: false,
            missed: None,
            truncated_lines: 0,
            truncated_bytes: 0,
            replaced_bytes: 0,
            screen: None,
            view,
        }
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

#[cfg(test)]
mod tests {
    use super::super::cursor::Cursor;
    use super::super::view::Place;
    use super::*;

    #[test]
    fn a_cursor_that_claims_a_boundless_history_asks_for_no_more_than_any_other() {
        for (history_size, history_limit) in [(u32::MAX, 0), (100_000_000, 1), (4_000, 20)] {
            let place = Place {
                pane: PaneId::new(1),
                pid: 1,
                server_pid: 1,
                server_start: 1,
                width: 80,
                height: 24,
                history_size,
                history_limit,
                cut: false,
                history: 16,
                count: 40,
            };
            let sums = Some(Sums { above: 1, finished: 2, last: 3 });
            let text = Cursor { place, sums, alternate: None }.to_string();
            let earlier = Baseline::Cursor(text.parse().expect("a cursor"));
            let options = SinceOptions::default();
            let reading = Reading::new(place.pane, Some(&earlier), &options, None);
            assert_eq!(reading.expect("a reading").ask().probes, [0; 0], "{history_size}");
        }
    }
}
