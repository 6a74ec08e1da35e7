//! The law of incremental reads, at random on every release: whatever happens to a pane, the lines
//! of successive calls are the lines that were written, each once and in order, or the call says
//! that it cannot tell. And it says so only where something happened that may hide lines.
//!
//! `MUXWIRE_LAW_SEEDS=100..200` runs other seeds than the fixed ones; a failure names its own.
//!
//! What nobody can see is not held against a reader: blank lines that a clear drops, and a history
//! that was cleared when at most one line had been seen (note 7.3).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::time::Duration;

use muxwire::Tmux;
use muxwire::capture::{Baseline, Cursor, Delta};
use support::{Release, Tap, block_on, on_each_release};

/// Seeds that always run.
const SEEDS: std::ops::Range<u64> = 0..30;
/// Steps of one run.
const STEPS: u32 = 120;

/// A small generator of our own: a seed means the same run in every version of every crate.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn index(&mut self, end: usize) -> usize {
        usize::try_from(self.below(end as u64)).unwrap()
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }
}

/// What was written, and how.
#[derive(Default)]
struct Log {
    lines: Vec<String>,
    numbered: u32,
    /// How many lines there were when the screen was cleared: tmux drops blank ones at its end.
    cleared: Vec<usize>,
}

impl Log {
    /// One more line that is short and like no other; without its end.
    fn short(&mut self) -> String {
        self.numbered += 1;
        self.lines.push(format!("{} short", self.numbered));
        self.lines.last().unwrap().clone()
    }

    /// The bytes that write one more line.
    fn line(&mut self, random: &mut Random, release: &Release) -> String {
        self.numbered += 1;
        let number = self.numbered;
        // 3.1 fills a gap at the edge with a blank where a wide character did not fit (note 7.5).
        let wide = if release.at_least(3, 2) { "漢字🙂é" } else { "é" };
        let (bytes, line) = match random.below(20) {
            0..=8 => plain(format!("{number} short")),
            9 | 10 => plain(format!("{number} {}", "long ".repeat(12).trim_end())),
            11 | 12 => plain(format!("{number} {}.", "wrapped ".repeat(random.index(40) + 10))),
            13 => plain(format!("{number} {}", wide.repeat(random.index(60) + 1))),
            14 | 15 => plain("again".to_owned()),
            16 => plain("$".to_owned()),
            17 => plain(String::new()),
            _ => {
                let steps: String =
                    (0..5).map(|step| format!("{number} at {}%\r", step * 20)).collect();
                (format!("{steps}{number} at 100%\r\n"), format!("{number} at 100%"))
            }
        };
        self.lines.push(line);
        bytes
    }
}

impl Log {
    /// Whether so many lines, from the last clear on, are blank but for one.
    fn is_blank(&self, count: usize) -> bool {
        let cleared = self.cleared.iter().rfind(|cleared| **cleared <= count).copied();
        let lines = &self.lines[cleared.unwrap_or_default()..count];
        lines.iter().filter(|line| !line.is_empty()).count() <= 1
    }

    /// Whether the line is one of several blank ones of which a clear has dropped some, or may have.
    fn may_be_dropped(&self, at: usize) -> bool {
        let is_blank = |line: &&String| line.is_empty();
        let (before, from) = self.lines.split_at(at.min(self.lines.len()));
        let start = at - before.iter().rev().take_while(is_blank).count();
        let end = at + from.iter().take_while(is_blank).count();
        end > at && self.cleared.iter().any(|cleared| (start + 1..=end).contains(cleared))
    }
}

fn plain(line: String) -> (String, String) {
    (format!("{line}\r\n"), line)
}

/// A reader and what it must be given next.
struct Reader {
    tmux: Tmux,
    earlier: Option<Baseline>,
    /// How many of the lines it has had; unknown after a screen that shows none of them whole.
    had: Option<usize>,
    /// Something happened since its last read that may hide lines.
    disturbed: bool,
    /// It saw next to nothing: no history, and one line, which may be written on.
    is_blind: bool,
    count: Count,
}

/// What reads came to.
#[derive(Clone, Copy, Default)]
struct Count {
    reads: u32,
    /// Reads that could not tell what was written, where something may have hidden lines.
    missed: u32,
    lines: usize,
}

impl Reader {
    fn new(tap: &Tap) -> Self {
        Self {
            tmux: tap.server.handle(),
            earlier: None,
            had: Some(0),
            disturbed: false,
            is_blind: true,
            count: Count::default(),
        }
    }

    fn read(&mut self, tap: &Tap, log: &Log) -> Result<(), String> {
        let first = self.earlier.is_none();
        let delta = block_on(self.tmux.since(tap.pane, self.earlier.as_ref(), &Default::default()))
            .map_err(|error| error.to_string())?;
        self.earlier = Some(delta.view.clone().into());
        self.count.reads += 1;
        self.count.lines += delta.lines.len();
        if delta.pane.alternate_on {
            self.disturbed = true;
            return Ok(());
        }
        let disturbed = std::mem::take(&mut self.disturbed);
        match delta.missed {
            None if first => self.had = place_of(&delta.lines, &log.lines),
            None => self.take(&delta, log)?,
            Some(_) if disturbed || may_be_trimmed(&delta) => {
                self.count.missed += 1;
                self.had = place_of(&delta.lines, &log.lines);
            }
            Some(missed) => {
                return Err(format!("{} for nothing: {:?}", missed.as_str(), delta.lines));
            }
        }
        self.is_blind =
            delta.pane.history_size == 0 && self.had.is_none_or(|had| log.is_blank(had));
        Ok(())
    }

    /// Holds lines against those that were written.
    fn take(&mut self, delta: &Delta, log: &Log) -> Result<(), String> {
        let mut lines = delta.lines.as_slice();
        let mut had = match self.had {
            Some(had) => had,
            None => {
                // Begin at the first line that tells where it is.
                let is_known = |line: &String| is_unique(line) && log.lines.contains(line);
                let Some(at) = lines.iter().position(is_known) else { return Ok(()) };
                lines = &lines[at..];
                log.lines.iter().position(|line| *line == lines[0]).unwrap_or_default()
            }
        };
        let mut lines = lines.iter().enumerate().peekable();
        while let Some((at, line)) = lines.next() {
            while log.may_be_dropped(had) && log.lines.get(had) != Some(line) {
                had += 1;
            }
            let expected = log.lines.get(had).map(String::as_str).unwrap_or_default();
            if expected == line && had < log.lines.len() {
                had += 1;
            } else if lines.peek().is_some_and(|(_, next)| is_split(expected, line, next)) {
                let mut rest = expected[line.len()..].trim_start();
                let goes_on = |part: &str, rest: &str| !part.is_empty() && rest.starts_with(part);
                while let Some((_, part)) =
                    lines.next_if(|(_, part)| goes_on(part.trim_start(), rest))
                {
                    rest = rest[part.trim_start().len()..].trim_start();
                }
                had += 1;
            } else if lines.peek().is_some() || !is_begun(expected, line) {
                return Err(format!(
                    "line {had} was to be {:?}; given, {at} of {}: {:?}",
                    around(&log.lines, had),
                    delta.lines.len(),
                    around(&delta.lines, at),
                ));
            }
        }
        self.had = Some(had);
        Ok(())
    }

    /// Forgets all but the cursor, as a restart does.
    fn restart(&mut self) {
        if let Some(Baseline::View(view)) = &self.earlier {
            let cursor: Cursor = view.cursor().to_string().parse().expect("a cursor");
            self.earlier = Some(cursor.into());
        }
        // What stood on the screen is known only as a whole.
        self.disturbed = true;
    }
}

/// The beginnings of a few lines.
fn around(lines: &[String], at: usize) -> Vec<String> {
    let lines = &lines[at.saturating_sub(2).min(lines.len())..lines.len().min(at + 3)];
    lines.iter().map(|line| line.chars().take(40).collect()).collect()
}

fn is_unique(line: &str) -> bool {
    line.starts_with(|first: char| first.is_ascii_digit())
}

/// Whether tmux split a line into this one and the next (note 7.6).
fn is_split(expected: &str, line: &str, rest: &str) -> bool {
    expected
        .strip_prefix(line)
        .is_some_and(|end| !rest.is_empty() && end.trim_start().starts_with(rest.trim_start()))
}

/// Whether `line` may be `expected` while it is being written.
fn is_begun(expected: &str, line: &str) -> bool {
    let is_progress = |text: &str| text.contains(" at ") && text.ends_with('%');
    expected.starts_with(line)
        || is_progress(expected)
            && expected.split(' ').next() == line.split(' ').next()
            && expected.len() >= line.len()
}

/// Whether the history is so full that lines may have gone from it.
fn may_be_trimmed(delta: &Delta) -> bool {
    let pane = &delta.pane;
    pane.history_size + pane.height >= pane.history_limit - pane.history_limit / 10
}

/// How many of the lines have been written when the screen shows these; `None` if they do not tell.
fn place_of(screen: &[String], lines: &[String]) -> Option<usize> {
    // Without the last, which may be on its way.
    let known = screen.split_last().map_or(screen, |(_, known)| known);
    let marker = known.iter().rposition(|line| is_unique(line) && lines.contains(line))?;
    let mut had = lines.iter().position(|line| *line == known[marker])? + 1;
    for line in &screen[marker + 1..] {
        had += usize::from(lines.get(had) == Some(line));
    }
    Some(had)
}

/// One run: a pane, what was written in it, and two readers.
struct Run<'r> {
    random: Random,
    release: &'r Release,
    limit: u64,
    tap: Tap,
    log: Log,
    readers: [Reader; 2],
}

impl<'r> Run<'r> {
    fn new(release: &'r Release, seed: u64) -> Self {
        let mut random = Random(seed);
        let limit = random.one_of(&[50, 200, 1_000, 2_000]);
        let tap = Tap::open(release, limit);
        let readers = [Reader::new(&tap), Reader::new(&tap)];
        Self { random, release, limit: limit.into(), tap, log: Log::default(), readers }
    }

    /// Something that may hide lines is about to happen.
    fn disturb(&mut self) {
        self.readers.iter_mut().for_each(|reader| reader.disturbed = true);
    }

    /// The bytes of some lines.
    fn lines(&mut self, count: u64) -> String {
        (0..count).map(|_| self.log.line(&mut self.random, self.release)).collect()
    }

    fn read(&mut self) -> Result<(), String> {
        let reader = self.random.index(2);
        self.readers[reader].read(&self.tap, &self.log)
    }

    fn step(&mut self) -> Result<(), String> {
        match self.random.below(44) {
            0..=17 => {
                let count = self.random.below(12) + 1;
                let bytes = self.lines(count);
                self.tap.write(bytes);
            }
            18 | 19 => {
                let count = self.random.below(self.limit / 4) + 1;
                let bytes = self.lines(count);
                self.tap.write(bytes);
            }
            20 | 21 => self.write_slowly()?,
            22 if self.random.below(4) == 0 => {
                let count = self.limit * (self.random.below(5) + 1);
                let bytes = self.lines(count);
                self.disturb();
                self.tap.show(bytes);
            }
            23 => self.repeat_a_block(),
            24 => {
                self.tap.sync();
                let height = self.random.below(60) + 3;
                self.tap.set("resize-window", &["-y", &height.to_string()]);
            }
            25 if self.random.below(3) == 0 => self.change_width(),
            26 if self.random.below(2) == 0 => {
                self.disturb();
                self.tap.sync();
                self.tap.set("clear-history", &[]);
                for reader in self.readers.iter_mut().filter(|reader| reader.is_blind) {
                    reader.had = None;
                }
            }
            27 => {
                self.tap.show("\x1b[H\x1b[2J");
                self.log.cleared.push(self.log.lines.len());
            }
            28 if self.random.below(2) == 0 => self.show_full_screen()?,
            29 if self.random.below(4) == 0 => {
                // Up to 3.6 it holds for new panes only.
                self.disturb();
                self.tap.sync();
                let limit = self.limit * (self.random.below(4) + 1) / 2;
                self.tap.server.set(["set-option", "-g", "history-limit", &limit.to_string()]);
            }
            30 => {
                let reader = self.random.index(2);
                self.readers[reader].restart();
            }
            31 => self.tap.sync(),
            _ => self.read()?,
        }
        Ok(())
    }

    /// Lines in pieces, with reads in the middle of them.
    fn write_slowly(&mut self) -> Result<(), String> {
        let count = self.random.below(4) + 1;
        let bytes = self.lines(count).into_bytes();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at((self.random.index(60) + 1).min(rest.len()));
            self.tap.write(piece);
            rest = after;
            std::thread::sleep(Duration::from_micros(self.random.below(1_500)));
            if self.random.below(3) == 0 {
                self.read()?;
            }
        }
        Ok(())
    }

    /// The same few lines again and again, so that what goes from a full history looks like what
    /// stays. They do not come back after others: nobody could tell (note 7.3).
    fn repeat_a_block(&mut self) {
        let length = self.random.one_of(&[1, 2, 4, 5, 10, 20]);
        let times = (self.random.below(self.limit / 2) + 1) / length + 2;
        self.log.numbered += 1;
        for _ in 0..times {
            for line in 0..length {
                let line = format!("block {}, line {line}", self.log.numbered);
                self.tap.write(format!("{line}\r\n"));
                self.log.lines.push(line);
            }
        }
        if length * times > self.limit / 4 {
            self.disturb();
        }
    }

    /// tmux may put the cursor on another line then: what is written next goes below the last, as
    /// by a program that looks where it stands.
    fn change_width(&mut self) {
        let line = self.log.short();
        self.disturb();
        self.tap.show(line);
        let width = self.random.below(120) + 20;
        self.tap.set("resize-window", &["-x", &width.to_string()]);
        let pane = self.tap.pane.to_string();
        let rows = self.tap.server.tmux(["capture-pane", "-p", "-t", &pane]).text();
        let last = rows.trim_end().lines().count().max(1);
        self.tap.write(format!("\x1b[{last}H\r\n"));
    }

    fn show_full_screen(&mut self) -> Result<(), String> {
        self.tap.show("\x1b[?1049h\x1b[Hfull screen\r\nsecond row");
        for reader in &mut self.readers {
            if self.random.below(2) == 0 {
                reader.read(&self.tap, &self.log)?;
            }
        }
        self.disturb();
        self.tap.show("\x1b[?1049l");
        Ok(())
    }

    /// The last reads: all lines must have been had.
    fn end(mut self) -> Result<Count, String> {
        self.log.lines.push("the end".to_owned());
        self.tap.lines(["the end"]);
        let mut count = Count::default();
        for reader in &mut self.readers {
            reader.read(&self.tap, &self.log)?;
            if reader.had.is_some_and(|had| had != self.log.lines.len()) {
                return Err(format!("{:?} of {} lines", reader.had, self.log.lines.len()));
            }
            let Count { reads, missed, lines } = reader.count;
            count.reads += reads;
            count.missed += missed;
            count.lines += lines;
        }
        Ok(count)
    }
}

fn run(release: &Release, seed: u64) -> Result<Count, String> {
    let mut run = Run::new(release, seed);
    for step in 0..STEPS {
        run.step().map_err(|error| format!("seed {seed}, step {step}: {error}"))?;
    }
    run.end().map_err(|error| format!("seed {seed}, at the end: {error}"))
}

fn seeds() -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("MUXWIRE_LAW_SEEDS") else { return SEEDS };
    let (from, to) = text.split_once("..").expect("a range such as 100..200");
    from.parse().expect("a number")..to.parse().expect("a number")
}

#[test]
fn every_line_is_given_once_or_said_to_be_missed() {
    on_each_release(|release| {
        let mut failed = Vec::new();
        for seed in seeds() {
            match run(release, seed) {
                Ok(Count { reads, missed, lines }) => println!(
                    "tmux {} seed {seed}: {lines} lines in {reads} reads, {missed} missed some",
                    release.name()
                ),
                Err(error) => failed.push(error),
            }
        }
        assert!(failed.is_empty(), "tmux {}:\n{}", release.name(), failed.join("\n"));
    });
}
