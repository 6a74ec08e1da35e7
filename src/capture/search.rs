//! Text found in many panes.

use std::time::Instant;

use regex::bytes::{Regex, RegexBuilder};
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};

use super::CaptureOptions;
use super::ask::{Ask, Reply};
use super::glance::{Glance, Scope, at_once, glance};
use super::screen::take_banner;
use super::text::drop_blanks;
use crate::client::{Delivery, Error, ErrorKind, Server, Tmux};
use crate::model::{PaneId, SessionId, Text, WindowId};

/// Longest pattern, in bytes.
pub const MAX_PATTERN: usize = 4_096;
/// Largest compiled pattern, in bytes.
const MAX_COMPILED: usize = 1024 * 1024;

/// Turns to search: what waits for one holds no text, and no more threads than these match.
static TURNS: Semaphore = Semaphore::const_new(4);

/// What is searched for.
///
/// Time is linear in the text, whatever the pattern.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

/// The pattern is none; says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError(String);

impl std::fmt::Display for PatternError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PatternError {}

impl Pattern {
    /// Text as it stands.
    ///
    /// # Errors
    ///
    /// [`PatternError`] for an empty pattern and one of more than 4 096 bytes.
    pub fn literal(text: &str, match_case: bool) -> Result<Self, PatternError> {
        Self::new(text, &regex::escape(text), match_case)
    }

    /// A regular expression, in the syntax of the crate `regex`; `^` and `$` are the ends of a line.
    ///
    /// ```
    /// use muxwire::capture::Pattern;
    ///
    /// assert!(Pattern::regex(r"error\[E\d+\]", false).is_ok());
    /// assert!(Pattern::regex("(", false).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// [`PatternError`] for what is no expression, and for one that is too long or too large: 4 096
    /// bytes, 1 MiB when compiled.
    pub fn regex(text: &str, match_case: bool) -> Result<Self, PatternError> {
        Self::new(text, text, match_case)
    }

    fn new(given: &str, expression: &str, match_case: bool) -> Result<Self, PatternError> {
        if given.is_empty() || given.len() > MAX_PATTERN {
            let message = format!("a pattern has 1 to {MAX_PATTERN} bytes");
            return Err(PatternError(message));
        }
        let mut builder = RegexBuilder::new(expression);
        builder.case_insensitive(!match_case).size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED);
        builder.build().map(Self).map_err(|error| {
            PatternError(match error {
                regex::Error::CompiledTooBig(limit) => {
                    format!("the pattern takes more than {limit} bytes when compiled")
                }
                // Its own words span lines and draw the pattern.
                error => {
                    let words = error.to_string();
                    let last = words.lines().last().unwrap_or_default();
                    format!("no regular expression: {}", last.trim_start_matches("error: "))
                }
            })
        })
    }
}

/// Where it is searched for, and how much is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchOptions {
    /// Which panes. Default: all.
    pub scope: Scope,
    /// In the whole history too. Default: on the screen.
    pub history: bool,
    /// Stop after so many matches. Default: 10 000.
    pub most: usize,
    /// Give at most so many bytes of a line, around what was found. Default: 1 000.
    pub max_line: usize,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self { scope: Scope::Server, history: false, most: 10_000, max_line: 1_000 }
    }
}

/// A line in which something was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Match {
    /// The pane.
    pub pane: PaneId,
    /// The window that it is in.
    pub window: WindowId,
    /// The session that it was seen in.
    pub session: SessionId,
    /// The name of that session.
    pub session_name: Text,
    /// Which of the pane's lines, counted from 1: of the screen, or of the whole history and the
    /// screen, as [`Tmux::capture`] gives them.
    pub line_number: usize,
    /// The line, invalid UTF-8 replaced.
    pub line: String,
    /// How many bytes of the line were left out.
    pub cut_bytes: usize,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Matches {
    /// The server that was seen.
    pub server: Server,
    /// By pane id and line.
    pub matches: Vec<Match>,
    /// How many panes were searched to their end.
    pub panes_searched: usize,
    /// There is more: the search stopped at the limit.
    pub truncated: bool,
}

impl Tmux {
    /// Searches lines of many panes, wrapped lines joined. One round trip to list the panes, and
    /// one for every two dozen, fewer where they are large. Each pane is of one instant. What was
    /// read is matched on a thread of its own; at most four searches of a process are at work,
    /// others wait.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when there is no such session or window,
    /// [`ErrorKind::Deadline`] also when the matching takes that long,
    /// and the errors of [`run`](Tmux::run); a pane that ends meanwhile is left out.
    ///
    /// # Cancel safety
    ///
    /// Changes nothing; dropped, the connection is closed, and the matching ends with its line.
    pub async fn search(
        &self,
        pattern: &Pattern,
        options: &SearchOptions,
    ) -> Result<Matches, Error> {
        let due = self.due();
        let turn = in_time(due, Delivery::NotSent, TURNS.acquire()).await?;
        let turn = turn.map_err(|_| late(Delivery::NotSent))?;
        let (server, mut panes) = glance(&self.until(due), options.scope).await?;
        let content = CaptureOptions { history: options.history, ..CaptureOptions::default() };
        let found = Matches { server, matches: Vec::new(), panes_searched: 0, truncated: false };
        let mut search = Search { pattern: pattern.clone(), options: *options, found, _turn: turn };
        while !panes.is_empty() && !search.found.truncated {
            let above = |pane: &Glance| if options.history { pane.history_size } else { 0 };
            let sizes = panes.iter().map(|pane| pane.bytes(above(pane)));
            let rest = panes.split_off(at_once(sizes));
            let batch = std::mem::replace(&mut panes, rest);
            let asks: Vec<Ask<'static>> =
                batch.iter().map(|pane| Ask::content(pane.id, content)).collect();
            let replies = Ask::run_all(&self.until(due), &asks).await?;
            let (tell, told) = oneshot::channel();
            tokio::task::spawn_blocking(move || {
                for ((ask, pane), reply) in asks.iter().zip(&batch).zip(&replies) {
                    let Some(reply) = reply.as_ref().filter(|_| !search.found.truncated) else {
                        continue;
                    };
                    if let Err(error) = search.look(ask, pane, reply, || tell.is_closed()) {
                        let _ = tell.send(Err(error));
                        return;
                    }
                }
                let _ = tell.send(Ok(search));
            });
            let told = in_time(due, Delivery::Observed, told).await?;
            search = told.map_err(|_| late(Delivery::Observed))??;
        }
        Ok(search.found)
    }
}

/// A search at work.
#[derive(Debug)]
struct Search {
    pattern: Pattern,
    options: SearchOptions,
    found: Matches,
    _turn: SemaphorePermit<'static>,
}

impl Search {
    /// Looks through what was read of a pane, until nobody waits for it.
    fn look(
        &mut self,
        ask: &Ask<'_>,
        pane: &Glance,
        reply: &Reply,
        given_up: impl Fn() -> bool,
    ) -> Result<(), Error> {
        let Self { pattern, options, found, .. } = self;
        if reply.server.identity != found.server.identity {
            return Err(Error::server_changed());
        }
        let mut lines = ask.take(reply).and_then(|it| it.content).unwrap_or_default();
        take_banner(&reply.pane, &mut lines);
        drop_blanks(&mut lines);
        for (index, line) in lines.iter().enumerate() {
            if given_up() {
                return Ok(());
            }
            let Some(place) = pattern.0.find(line) else { continue };
            if found.matches.len() >= options.most {
                found.truncated = true;
                return Ok(());
            }
            let shown = around(line, place.start(), options.max_line);
            found.matches.push(Match {
                pane: pane.id,
                window: pane.window_id,
                session: pane.session_id,
                session_name: pane.session_name.clone(),
                line_number: index + 1,
                line: String::from_utf8_lossy(shown).into_owned(),
                cut_bytes: line.len() - shown.len(),
            });
        }
        found.panes_searched += 1;
        Ok(())
    }
}

/// What comes of something, unless the deadline passes first.
async fn in_time<T>(
    due: Option<Instant>,
    delivery: Delivery,
    what: impl Future<Output = T>,
) -> Result<T, Error> {
    match due {
        None => Ok(what.await),
        Some(due) => tokio::time::timeout_at(due.into(), what).await.map_err(|_| late(delivery)),
    }
}

fn late(delivery: Delivery) -> Error {
    let message = "the search took too long; search fewer panes, without their history, or for \
                   a simpler pattern";
    Error::new(ErrorKind::Deadline, delivery, message)
}

/// At most so many bytes of a line, a quarter of them in front of a place, and no part of a
/// character at either end.
fn around(line: &[u8], place: usize, most: usize) -> &[u8] {
    if line.len() <= most {
        return line;
    }
    let is_inside = |at: usize| line.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let mut start = place.saturating_sub(most / 4).min(line.len() - most);
    let mut end = start + most;
    while is_inside(start) && start < end {
        start += 1;
    }
    while is_inside(end) && end > start {
        end -= 1;
    }
    line.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_around_what_was_found_and_never_in_a_character() {
        let line = "é".repeat(100);
        assert_eq!(around(line.as_bytes(), 0, 500), line.as_bytes());
        for place in 0..=199 {
            for most in 0..20 {
                let shown = around(line.as_bytes(), place, most);
                assert!(std::str::from_utf8(shown).is_ok() && shown.len() <= most);
                assert!(most < 3 || shown.len() + 2 >= most, "{place} {most} {}", shown.len());
            }
        }
        let line = [&b"x".repeat(1_000)[..], b"needle", &b"y".repeat(1_000)].concat();
        let shown = around(&line, 1_000, 100);
        assert_eq!((shown.len(), &shown[25..31]), (100, &b"needle"[..]));
    }

    #[test]
    fn a_pattern_that_is_none_says_why_in_one_line() {
        for (pattern, words) in
            [("(", "unclosed group"), ("", "1 to 4096"), (r"\w{500}{500}", "when compiled")]
        {
            let error = Pattern::regex(pattern, true).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains('\n'), "{error}");
        }
        assert!(Pattern::literal("(", true).is_ok());
        assert!(Pattern::literal(&"x".repeat(4_097), true).is_err());
    }
}
