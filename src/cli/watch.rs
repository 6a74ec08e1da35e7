//! `muxwire watch`.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::{Failure, seconds, show};
use crate::capture::{Baseline, Cursor, Delta, SinceOptions};
use crate::client::Tmux;
use crate::model::PaneId;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The pane's id, such as %1; `muxwire snapshot` lists them.
    pane: PaneId,
    /// Begin at this cursor instead of the screen.
    #[arg(long, value_name = "CURSOR")]
    since: Option<Cursor>,
    /// Seconds between two looks.
    #[arg(long, value_name = "SECONDS", default_value = "0.02", allow_hyphen_values = true)]
    interval: String,
    /// Print what each look that has something to tell gave, as a line of JSON.
    #[arg(long)]
    json: bool,
}

/// Until the pane is gone or dead, or nobody reads what is printed.
pub(super) async fn run(tmux: Tmux, options: Options) -> Result<ExitCode, Failure> {
    let interval = seconds(options.interval.as_ref()).map(Option::unwrap_or_default);
    let interval = interval
        .ok_or_else(|| Failure::usage("--interval takes a number of seconds from 0 to 86400"))?;
    let mut earlier = options.since.map(Baseline::Cursor);
    let mut tail = Tail::default();
    loop {
        let delta = tmux.since(options.pane, earlier.as_ref(), &SinceOptions::default()).await;
        let delta = match delta {
            Ok(delta) => delta,
            Err(error) => {
                print(tail.rest())?;
                return Err(error.into());
            }
        };
        let is_over = delta.pane.dead;
        let says_something = !delta.lines.is_empty() || delta.missed.is_some();
        let text = if options.json {
            if says_something { as_json(&delta)? } else { String::new() }
        } else {
            if let Some(missed) = delta.missed {
                show::complain(&format!("lines may be missing here: {}", missed.as_str()))?;
            }
            tail.take(&delta) + if is_over { tail.rest() } else { "" }
        };
        if !print(&text)? || is_over {
            return Ok(ExitCode::SUCCESS);
        }
        earlier = Some(delta.view.into());
        tokio::time::sleep(interval.max(Duration::from_millis(1))).await;
    }
}

/// Finished lines as they come, and one that is not finished when it is.
#[derive(Debug, Default)]
struct Tail {
    unfinished: String,
}

impl Tail {
    /// What there is to print.
    fn take(&mut self, delta: &Delta) -> String {
        let mut text: String = delta.lines.iter().flat_map(|line| [line, "\n"]).collect();
        if delta.pane.alternate_on {
            // What stood on the other screen may be written on when that is back.
            return text;
        }
        let last = delta.lines.last().filter(|_| delta.ends_with_last);
        if delta.unfinished && last.is_none() {
            // All this was rewritten above the one that is held.
            return text;
        }
        let held = std::mem::take(&mut self.unfinished);
        // It was written on if it is among the lines again, and else is whole.
        if !delta.last_rewritten && delta.missed.is_none() {
            text.insert_str(0, &held);
        }
        if let (true, Some(last)) = (delta.unfinished, last) {
            self.unfinished = text.split_off(text.len() - last.len() - 1);
        }
        text
    }

    /// What was never finished.
    fn rest(&self) -> &str {
        &self.unfinished
    }
}

fn as_json(delta: &Delta) -> Result<String, Failure> {
    let document = json!({
        "lines": delta.lines,
        "missed": delta.missed.map(|missed| missed.as_str()),
        "unfinished": delta.unfinished,
        "alternate_on": delta.pane.alternate_on,
        "cursor": delta.view.cursor().to_string(),
    });
    let text = serde_json::to_string(&document).map_err(io::Error::from)?;
    Ok(text + "\n")
}

/// Whether anybody reads on.
fn print(text: &str) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => Ok(written.map(|()| true)?),
    }
}
