//! The law of incremental reads, at random on every release: whatever happens to a pane, the lines
//! of successive calls are the lines that were written, each once and in order, or the call says
//! that it cannot tell. And it says so only where something happened that may hide lines.
//!
//! `MUXWIRE_LAW_SEEDS=100..200` runs other seeds than the fixed ones; a failure names its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use muxwire::Tmux;
use muxwire::capture::{Baseline, Cursor, Delta};
use support::{Release, Tap, block_on, on_each_release};

/// Seeds that always run.
const SEEDS: std::ops::Range<u64> = 0..6;
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
    /// Size of screen and history at the read before, and how many lines it gave.
    before: (u32, u32, u32, usize),
    calls: u32,
    missed: u32,
}

impl Reader {
    fn new(tap: &Tap) -> Self {
        let tmux = tap.server.handle();
        Self {
            tmux,
            earlier: None,
            had: Some(0),
            disturbed: false,
            before: (0, 0, 0, 0),
            calls: 0,
            missed: 0,
        }
    }

    fn read(&mut self, tap: &Tap, log: &Log) -> Result<(), String> {
        let first = self.earlier.is_none();
        let delta = block_on(self.tmux.since(tap.pane, self.earlier.as_ref(), &Default::default()))
            .map_err(|error| format!("{error}"))?;
        self.calls += 1;
        self.earlier = Some(delta.view.clone().into());
        if delta.pane.alternate_on {
            self.disturbed = true;
            return Ok(());
        }
        let disturbed = std::mem::take(&mut self.disturbed);
        match delta.missed {
            None if first => self.had = place_of(&delta.lines, &log.lines),
            None => self.take(&delta, log)?,
            Some(_) if disturbed || may_be_trimmed(&delta) => {
                self.missed += 1;
                self.had = place_of(&delta.lines, &log.lines);
            }
            Some(missed) => {
                return Err(format!("{} for nothing: {:?}", missed.as_str(), delta.lines));
            }
        }
        let pane = &delta.pane;
        self.before = (pane.width, pane.height, pane.history_size, delta.lines.len());
        Ok(())
    }

    /// Holds lines against those that were written.
    fn take(&mut self, delta: &Delta, log: &Log) -> Result<(), String> {
        let mut lines = delta.lines.as_slice();
        let had = match self.had {
            Some(had) => had,
            // Begin at the first line that tells where it is.
            None => {
                let Some(at) =
                    lines.iter().position(|line| log.lines.contains(line) && is_unique(line))
                else {
                    return Ok(());
                };
                lines = &lines[at..];
                log.lines.iter().position(|line| *line == lines[0]).unwrap_or_default()
            }
        };
        let mut had = had;
        let mut lines = lines.iter().enumerate().peekable();
        while let Some((at, line)) = lines.next() {
            while log.may_be_dropped(had) && log.lines.get(had) != Some(line) {
                had += 1;
            }
            match log.lines.get(had) {
                Some(expected) if expected == line => had += 1,
                // tmux has split the line (note 7.6).
                Some(expected)
                    if lines.peek().is_some_and(|(_, next)| is_split(expected, line, next)) =>
                {
                    let mut rest = expected[line.len()..].trim_start();
                    let goes_on =
                        |rest: &str, part: &str| !part.is_empty() && rest.starts_with(part);
                    while let Some((_, part)) = lines.next_if(|(_, part)| goes_on(rest, part)) {
                        rest = rest[part.len()..].trim_start();
                    }
                    had += 1;
                }
                // The last may be on its way.
                Some(expected) if lines.len() == 0 && is_begun(expected, line) => {}
                _ => {
                    let around = |lines: &[String], at: usize| {
                        let lines = &lines[at.saturating_sub(2)..lines.len().min(at + 3)];
                        lines
                            .iter()
                            .map(|line| line.chars().take(40).collect())
                            .collect::<Vec<String>>()
                    };
                    return Err(format!(
                        "line {had} was to be {:?}; given, {at} of {}: {:?}; {:?} to {}x{} {}/{}",
                        around(&log.lines, had),
                        delta.lines.len(),
                        around(&delta.lines, at),
                        self.before,
                        delta.pane.width,
                        delta.pane.height,
                        delta.pane.history_size,
                        delta.pane.history_limit,
                    ));
                }
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
    }
}

fn is_unique(line: &str) -> bool {
    line.starts_with(|first: char| first.is_ascii_digit())
}

/// Whether a line was split into this one and the next.
fn is_split(expected: &str, line: &str, rest: &str) -> bool {
    expected
        .strip_prefix(line)
        .is_some_and(|end| !rest.is_empty() && end.trim_start() == rest.trim_start())
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

fn run(release: &Release, seed: u64) -> Result<(u32, u32), String> {
    let random = &mut Random(seed);
    let limit = random.one_of(&[50, 200, 1_000, 2_000]);
    let mut tap = Tap::open(release, limit);
    let mut log = Log::default();
    let mut readers = [Reader::new(&tap), Reader::new(&tap)];
    let disturb = |readers: &mut [Reader; 2]| readers.iter_mut().for_each(|it| it.disturbed = true);
    for step in 0..STEPS {
        let say = |error: String| format!("seed {seed}, step {step}: {error}");
        match random.below(40) {
            0..=19 => {
                for _ in 0..=random.below(12) {
                    let bytes = log.line(random, release);
                    tap.write(bytes);
                }
            }
            20 | 21 => {
                let rows = random.below(u64::from(limit) / 4) + 1;
                for _ in 0..rows {
                    let bytes = log.line(random, release);
                    tap.write(bytes);
                }
            }
            22 if random.below(4) == 0 => {
                let rows = u64::from(limit) * (random.below(5) + 1);
                let bytes: String = (0..rows).map(|_| log.line(random, release)).collect();
                tap.show(bytes);
                disturb(&mut readers);
            }
            23 => {
                tap.sync();
                tap.set("resize-window", &["-y", &(random.below(60) + 3).to_string()]);
            }
            24 if random.below(3) == 0 => {
                // With the cursor behind text: tmux may move it to another line from a blank one,
                // and what is written next then overwrites that line.
                let bytes = log.line(random, release);
                tap.show(bytes.trim_end_matches("\r\n"));
                tap.set("resize-window", &["-x", &(random.below(120) + 20).to_string()]);
                tap.write("\r\n");
                disturb(&mut readers);
            }
            25 if random.below(2) == 0 => {
                tap.sync();
                tap.set("clear-history", &[]);
                disturb(&mut readers);
            }
            26 => {
                tap.show("\x1b[H\x1b[2J");
                log.cleared.push(log.lines.len());
            }
            27 if random.below(2) == 0 => {
                tap.show("\x1b[?1049h\x1b[Hfull screen\r\nsecond row");
                for reader in &mut readers {
                    if random.below(2) == 0 {
                        reader.read(&tap, &log).map_err(say)?;
                    }
                    reader.disturbed = true;
                }
                tap.show("\x1b[?1049l");
            }
            28 => {
                let reader = &mut readers[random.index(2)];
                reader.restart();
                // What stood on the screen is known only as a whole.
                reader.disturbed = true;
            }
            29 => tap.sync(),
            _ => {
                let reader = &mut readers[random.index(2)];
                reader.read(&tap, &log).map_err(say)?;
            }
        }
    }
    tap.write("the end\r\n");
    log.lines.push("the end".to_owned());
    tap.sync();
    for reader in &mut readers {
        reader.read(&tap, &log).map_err(|error| format!("seed {seed}, at the end: {error}"))?;
        if reader.had.is_some_and(|had| had != log.lines.len()) {
            return Err(format!("seed {seed}: {:?} of {} lines", reader.had, log.lines.len()));
        }
    }
    Ok(readers.iter().fold((0, 0), |(calls, missed), it| (calls + it.calls, missed + it.missed)))
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
                Ok((calls, missed)) => {
                    println!("{} seed {seed}: {calls} calls, {missed} missed", release.name());
                }
                Err(error) => failed.push(error),
            }
        }
        assert!(failed.is_empty(), "tmux {}:\n{}", release.name(), failed.join("\n"));
    });
}
