//! `muxwire capture`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::{Failure, show};
use crate::capture::CaptureOptions;
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
    /// Print the pane's state and lines as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(tmux: Tmux, options: Options) -> Result<ExitCode, Failure> {
    let Options { pane, history, start, end, styles, json } = options;
    let screen = tmux
        .capture(pane, &CaptureOptions { history, start, end, styles, ..CaptureOptions::default() })
        .await?;
    if json {
        return show::print_json(&json!({
            "pane": screen.pane,
            "lines": screen.lines,
            "replaced_bytes": screen.replaced_bytes,
        }));
    }
    let mut text = screen.lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    show::print(text.as_bytes())
}
