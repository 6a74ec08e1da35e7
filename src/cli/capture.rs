//! `muxwire capture`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::{Failure, show};
use crate::capture::{Baseline, CaptureOptions, Cursor, SinceOptions};
use crate::client::Tmux;
use crate::model::PaneId;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The pane's id, such as %1; `muxwire snapshot` lists them.
    pane: PaneId,
    /// Print the whole history too.
    #[arg(long)]
    history: bool,
    /// First row: 0 is the top of the screen, negative ones are in the history.
    #[arg(long, value_name = "ROW", allow_negative_numbers = true)]
    start: Option<i32>,
    /// Last row, counted like --start.
    #[arg(long, value_name = "ROW", allow_negative_numbers = true)]
    end: Option<i32>,
    /// Keep colours and attributes.
    #[arg(long)]
    styles: bool,
    /// Print what was written since this cursor, or say on stderr why that cannot be told.
    #[arg(long, value_name = "CURSOR", conflicts_with_all = ["history", "start", "end", "styles"])]
    since: Option<Cursor>,
    /// Print a cursor for --since on stderr.
    #[arg(long)]
    cursor: bool,
    /// Print the pane's state, its lines and a cursor as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(tmux: Tmux, options: Options) -> Result<ExitCode, Failure> {
    let with_cursor = options.cursor || options.json;
    let (lines, cursor, mut facts) = match options.since {
        Some(cursor) => {
            let earlier = Baseline::Cursor(cursor);
            let delta = tmux.since(options.pane, Some(&earlier), &SinceOptions::default()).await?;
            let missed = delta.missed.map(|missed| missed.as_str());
            if let (Some(why), false) = (missed, options.json) {
                show::complain(&format!("lines may be missing: {why}; this is the screen"))?;
            }
            let facts = json!({
                "pane": delta.pane,
                "missed": missed,
                "unfinished": delta.unfinished,
                "replaced_bytes": delta.replaced_bytes,
            });
            (delta.lines, Some(delta.view.cursor()), facts)
        }
        None => {
            let Options { history, start, end, styles, .. } = options;
            let wanted =
                CaptureOptions { history, start, end, styles, max_lines: None, view: with_cursor };
            let screen = tmux.capture(options.pane, &wanted).await?;
            let facts = json!({
                "pane": screen.pane,
                "banner": screen.banner,
                "replaced_bytes": screen.replaced_bytes,
            });
            (screen.lines, screen.view.map(|view| view.cursor()), facts)
        }
    };
    let cursor = cursor.map(|cursor| cursor.to_string());
    if options.json {
        if let Some(document) = facts.as_object_mut() {
            document.extend([("lines".into(), lines.into()), ("cursor".into(), cursor.into())]);
        }
        return show::print_json(&facts);
    }
    if let (true, Some(cursor)) = (options.cursor, cursor) {
        show::complain(&format!("cursor: {cursor}"))?;
    }
    let mut text = lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    show::print(text.as_bytes())
}
