//! What is asked of a pane in one command list, and the reply taken apart.

use bytes::Bytes;
use memchr::memchr_iter;
use memchr::memmem::Finder;

use super::glance::Glance;
use super::grid::{ANCHOR_ROWS, Part, Parts, Rows};
use super::view::Signs;
use super::{CaptureOptions, PaneState};
use crate::client::{Delivery, Error, ErrorKind, Output, Server, Tmux};
use crate::model::{DecodeError, PaneId, Plan, Row, Token, Version};
use crate::protocol::{Command, CommandList};

/// How many rows a probe reads: the last of them may be cut, and so is the line that ends there.
const PROBE_ROWS: u32 = 6;

/// How many bytes of command lists are sent in one round trip.
const BURST: usize = 24_000;
/// About how many bytes a list takes beside its commands: frames, proof and mark.
const AROUND_LIST: usize = 400;
/// Up to this size the texts of a state share the reply that they came in: of a larger one they
/// would keep all that was captured, and what it was received into, twice as large perhaps.
const SHARED: usize = 1 << 16;

/// What of the history is read above the anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Above {
    /// Nothing.
    Nothing,
    /// From the row before this one on.
    Row(u32),
    /// All, in two parts: what is above that, and the same as for [`Row`](Self::Row).
    Around(u32),
    /// All.
    Everything,
}

/// How the server is told a row that is counted from the oldest, where it counts from the top of
/// the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reckoning {
    /// It computes the difference itself (3.4).
    Format,
    /// It is computed from how large the history was, and is wrong if it has grown since.
    Guess(u32),
}

impl Reckoning {
    /// The best that this server has.
    pub(super) fn of(server: &Server, history_size: u32) -> Self {
        let computes = Version::parse(&server.version()).at_least(3, 4);
        if computes { Self::Format } else { Self::Guess(history_size) }
    }

    /// What stands for this row.
    fn row(self, row: u32) -> String {
        match self {
            Self::Format => format!("#{{e|-:{row},#{{history_size}}}}"),
            Self::Guess(size) => (i64::from(row) - i64::from(size)).to_string(),
        }
    }
}

/// What is read of a pane.
#[derive(Clone, Debug)]
pub(super) struct Ask<'a> {
    pub(super) pane: PaneId,
    /// Whether the place is read too (anchor and screen), and what above it.
    pub(super) place: Option<(Above, Reckoning)>,
    /// Rows at which the text of an earlier view would stand if the history had been trimmed.
    pub(super) probes: Vec<u32>,
    /// Whether the whole state is read, or no more than a glance.
    pub(super) full: bool,
    /// Nothing but the state is read if these signs are still there.
    pub(super) unless: Option<&'a Signs>,
    /// Content of its own beside the screen of the place.
    pub(super) content: Option<CaptureOptions>,
}

/// A pane's reply: its state, and the captures behind it.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) server: Server,
    pub(super) pane: Glance,
    /// The whole state, if that was asked for.
    pub(super) state: Option<PaneState>,
    captures: Bytes,
    token: Token,
}

/// The captures of a reply.
#[derive(Debug, Default)]
pub(super) struct Captures<'a> {
    pub(super) parts: Option<Parts<'a>>,
    pub(super) probes: Vec<Part<'a>>,
    pub(super) content: Option<Part<'a>>,
}

impl Ask<'_> {
    /// Content alone.
    pub(super) fn content(pane: PaneId, options: CaptureOptions) -> Self {
        Self {
            pane,
            place: None,
            probes: Vec::new(),
            full: false,
            unless: None,
            content: Some(options),
        }
    }

    /// Asks it, in one round trip.
    pub(super) async fn run(&self, tmux: &Tmux) -> Result<Reply, Error> {
        let token = Token::new()?;
        let output = tmux.request(self.commands(&token)).starts_nothing().run().await?;
        if output.status != 0 && output.complaint().starts_with("no current") {
            // What tmux says of any target on a server without sessions.
            let message = format!("can't find pane {}: the server has no sessions", self.pane);
            return Err(Error::new(ErrorKind::NotFound, Delivery::Observed, message));
        }
        Reply::read(output, token, self.full)
    }

    /// Asks several panes, as many in each round trip as fit; `None` for those that are not there.
    pub(super) async fn run_all(tmux: &Tmux, asks: &[Self]) -> Result<Vec<Option<Reply>>, Error> {
        let (due, token) = (tmux.due(), Token::new()?);
        let mut replies = Vec::with_capacity(asks.len());
        let lists: Vec<CommandList> = asks.iter().map(|ask| ask.commands(&token)).collect();
        while let Some(rest) = lists.get(replies.len()..).filter(|rest| !rest.is_empty()) {
            let mut size = 0;
            let fits = |list: &&CommandList| {
                size += list.packed_len() + AROUND_LIST;
                size <= BURST
            };
            let count = rest.iter().take_while(fits).count().max(1);
            let burst = rest.iter().take(count).cloned().collect();
            let outputs = tmux.until(due).requests(burst).starts_nothing().run_all().await?;
            for output in outputs {
                let full = asks.get(replies.len()).is_some_and(|ask| ask.full);
                replies.push(match Reply::read(output, token.clone(), full) {
                    Ok(reply) => Some(reply),
                    Err(error) if error.kind() == ErrorKind::NotFound => None,
                    Err(error) => return Err(error),
                });
            }
        }
        Ok(replies)
    }

    /// State first, then content: if the pane is not there, one of the two says so.
    fn commands(&self, token: &Token) -> CommandList {
        let target = self.pane.to_string();
        let state = Command::new("display-message").args(["-p", "-t", &target]);
        let format = if self.full { PaneState::format(token) } else { Glance::format(token) };
        let state = CommandList::from(state.arg(format));
        let captures = self.captures(&target);
        let mark = ["display-message", "-p", "-t", &target, token.as_str()].map(str::to_owned);
        let all = captures.into_iter().enumerate().flat_map(|(index, capture)| {
            let mark = (index > 0).then(|| mark.to_vec());
            mark.into_iter().chain([capture])
        });
        match self.unless {
            None => all.fold(state, |list, arguments| list.then(command(&arguments))),
            Some(signs) => {
                let line: Vec<String> = all.map(|arguments| quoted(&arguments)).collect();
                let changed = Command::new("if-shell").args(["-F", "-t", &target]);
                let changed = changed.arg(signs.have_changed());
                state.then(changed.arg(line.join(" ; ")))
            }
        }
    }

    /// The captures in the order in which they are printed.
    fn captures(&self, target: &str) -> Vec<Vec<String>> {
        let capture = |start: &str, end: &str| {
            let mut arguments = vec!["capture-pane", "-p", "-J", "-t", target];
            if !start.is_empty() {
                arguments.extend(["-S", start]);
            }
            if !end.is_empty() {
                arguments.extend(["-E", end]);
            }
            arguments.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let mut captures = Vec::new();
        if let Some((above, reckoning)) = self.place {
            let anchor = -i64::from(ANCHOR_ROWS);
            let before_anchor = (anchor - 1).to_string();
            match above {
                Above::Nothing => {}
                Above::Row(row) | Above::Around(row) => {
                    let tail = reckoning.row(row.saturating_sub(1));
                    if let Above::Around(_) = above {
                        let head = reckoning.row(row.saturating_sub(2));
                        captures.push(capture("-", &head));
                        captures.push(capture(&head, &tail));
                    }
                    captures.push(capture(&tail, &before_anchor));
                }
                Above::Everything => captures.push(capture("-", &before_anchor)),
            }
            for row in &self.probes {
                let start = row.saturating_sub(1);
                captures.push(capture(&reckoning.row(start), &reckoning.row(start + PROBE_ROWS)));
            }
            captures.push(capture(&before_anchor, &anchor.to_string()));
            captures.push(capture(&anchor.to_string(), "-1"));
            captures.push(capture("-1", "0"));
            captures.push(capture("", ""));
        }
        if let Some(options) = &self.content {
            let row = |row: Option<i32>| row.map(|row| row.to_string()).unwrap_or_default();
            let start = match options.start {
                None if options.history => "-".to_owned(),
                start => row(start),
            };
            let mut arguments = capture(&start, &row(options.end));
            arguments.extend(options.styles.then(|| "-e".to_owned()));
            captures.push(arguments);
        }
        captures
    }

    /// The captures of the reply; `None` if nothing but the state was read.
    pub(super) fn take<'r>(&self, reply: &'r Reply) -> Option<Captures<'r>> {
        if reply.captures.is_empty() {
            return None;
        }
        let finder = Finder::new(reply.token.as_str());
        let mut rest: &[u8] = &reply.captures;
        let mut next = move || match finder.find(rest) {
            Some(end) => {
                let (capture, after) = rest.split_at_checked(end).unwrap_or_default();
                let after = after.get(finder.needle().len()..).unwrap_or_default();
                rest = after.strip_prefix(b"\n").unwrap_or(after);
                capture
            }
            None => std::mem::take(&mut rest),
        };
        let mut captures = Captures { parts: None, probes: Vec::new(), content: None };
        if let Some((above, reckoning)) = self.place {
            let pane = &reply.pane;
            let end = -i64::from(ANCHOR_ROWS) - 1;
            let size = match reckoning {
                Reckoning::Guess(size) => size,
                Reckoning::Format => pane.history_size,
            };
            let from_top = |row: u32| i64::from(row) - i64::from(size);
            let mut printed = |start, end| (Rows::printed(start, end, pane), lines(next()));
            let (mut head, mut tail) = (None, None);
            match above {
                Above::Nothing => {}
                Above::Row(row) => tail = Some(printed(from_top(row.saturating_sub(1)), end)),
                Above::Around(row) => {
                    let (last, first) =
                        (from_top(row.saturating_sub(2)), from_top(row.saturating_sub(1)));
                    head = Some((printed(i64::MIN, last), printed(last, first).1));
                    tail = Some(printed(first, end));
                }
                Above::Everything => tail = Some(printed(i64::MIN, end)),
            }
            captures.probes = self.probes.iter().map(|_| lines(next())).collect();
            captures.parts = Some(Parts {
                head,
                tail,
                upper_seam: lines(next()),
                anchor: lines(next()),
                lower_seam: lines(next()),
                screen: lines(next()),
            });
        }
        captures.content = self.content.map(|_| lines(next()));
        Some(captures)
    }
}

impl Reply {
    fn read(output: Output, token: Token, full: bool) -> Result<Self, Error> {
        let mut output = output.ok()?;
        let server = output.server.take().ok_or_else(Error::no_proof)?;
        let (stdout, finder) = (output.stdout, Finder::new(token.as_str()));
        let mut row = Row::new(&stdout, &finder, server.encoding);
        let (mut pane, mut state) = state(&mut row, full).map_err(undecodable)?;
        let captures = if stdout.len() <= SHARED {
            stdout.slice_ref(row.rest())
        } else {
            let own = stdout.len() - row.rest().len();
            let own = Bytes::copy_from_slice(stdout.get(..own).unwrap_or_default());
            let mut row_of_own = Row::new(&own, &finder, server.encoding);
            (pane, state) = self::state(&mut row_of_own, full).map_err(undecodable)?;
            Bytes::copy_from_slice(row.rest())
        };
        Ok(Self { server, pane, state, captures, token })
    }
}

/// The state in front of the captures, as it was asked for.
fn state(row: &mut Row<'_>, full: bool) -> Result<(Glance, Option<PaneState>), DecodeError> {
    if !full {
        return Ok((row.row()?, None));
    }
    let state: PaneState = row.row()?;
    Ok((Glance::from(&state), Some(state)))
}

pub(super) fn undecodable(error: DecodeError) -> Error {
    Error::new(ErrorKind::Decode, Delivery::Observed, error.to_string())
}

/// The lines of a capture. 3.1 prints no newline behind a line that goes on below.
fn lines(capture: &[u8]) -> Part<'_> {
    let capture = capture.strip_suffix(b"\n").unwrap_or(capture);
    let mut lines = Vec::with_capacity(memchr_iter(b'\n', capture).count() + 1);
    let mut start = 0;
    for end in memchr_iter(b'\n', capture).chain([capture.len()]) {
        lines.push(capture.get(start..end).unwrap_or_default());
        start = end + 1;
    }
    lines
}

fn command(arguments: &[String]) -> Command {
    let (name, rest) = arguments.split_first().map_or(("", &[][..]), |(name, rest)| (name, rest));
    Command::new(name).args(rest)
}

/// A command as part of a line that the server parses. No argument of ours holds a quote.
fn quoted(arguments: &[String]) -> String {
    let quoted: Vec<String> = arguments.iter().map(|it| format!("'{it}'")).collect();
    quoted.join(" ")
}
