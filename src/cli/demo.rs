//! `muxwire demo`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;

use super::measure::{Binary, Work};
use super::private::{PLAIN_SHELL, PrivateServer, with_server};
use super::{Failure, show, snapshot};
use crate::capture::{CaptureOptions, Screen};
use crate::model::PaneId;
use crate::protocol::Command;

/// How long the pane may take to show what was typed.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The tmux binary that starts the private server and is compared with.
    #[arg(long, value_name = "PATH", default_value = "tmux")]
    tmux: PathBuf,
}

pub(super) async fn run(options: Options) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    with_server(&options.tmux, async |server| {
        say(&format!(
            "started a private server in {:.1} ms\n",
            start.elapsed().as_secs_f64() * 1e3
        ))?;
        steps(server, &options).await
    })
    .await?;
    say("\nended the private server; nothing is left of it\n")
}

async fn steps(server: &PrivateServer, options: &Options) -> Result<(), Failure> {
    let binary = Binary { path: options.tmux.clone(), socket: server.tmux.path().to_owned() };
    let pane = server.session("demo").await?;
    let split = Command::new("split-window").args(["-d", "-h", "-t", &pane.to_string()]);
    server.tmux.run(split.args(PLAIN_SHELL)).await?.ok()?;

    let seen = server.tmux.snapshot().await?;
    say(&format!("\nthe whole server, seen at one instant:\n{}", snapshot::tree(&seen)))?;
    compare(Work::Snapshot, server, &binary).await?;

    let keys = Command::new("send-keys").args(["-t", &pane.to_string(), "-l", "--"]);
    let enter = Command::new("send-keys").args(["-t", &pane.to_string(), "Enter"]);
    let typed = keys.arg("echo $((6 * 7)) answers; uname -s");
    server.tmux.run([typed, enter].into_iter().collect::<crate::CommandList>()).await?.ok()?;
    let screen = shows(server, pane, "42 answers").await?;
    let lines = screen.lines.iter().map(|line| format!("  | {}\n", show::visible(line)));
    let lines: String = lines.collect();
    say(&format!("\ntyped a command into pane {pane} and read its screen:\n{lines}"))?;
    compare(Work::Capture(pane), server, &binary).await
}

/// Reads the pane until it shows `text`.
async fn shows(server: &PrivateServer, pane: PaneId, text: &str) -> Result<Screen, Failure> {
    let start = Instant::now();
    loop {
        let screen = server.tmux.capture(pane, &CaptureOptions::default()).await?;
        let seen = screen.lines.iter().any(|line| line.starts_with(text));
        // One more line is to come and one more prompt.
        if seen && screen.lines.last().is_some_and(|line| line.starts_with('$')) {
            return Ok(screen);
        }
        if start.elapsed() > PATIENCE {
            return Err(Failure::new(4, "the pane did not show what was typed within 5 s"));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Does `work` a few times both ways and says how long each took.
async fn compare(work: Work, server: &PrivateServer, binary: &Binary) -> Result<(), Failure> {
    let times = super::measure::side_by_side(work, &server.tmux, binary, 100).await?;
    let processes = if times.spawns == 1 { "process" } else { "processes" };
    say(&format!(
        "  {}: {:.0} µs in one round trip; by the tmux command {:.0} µs in {} {processes} ({:.0}×)\n",
        times.work, times.muxwire_p50, times.spawn_p50, times.spawns, times.ratio,
    ))
    .map(drop)
}

fn say(text: &str) -> Result<ExitCode, Failure> {
    show::print(text.as_bytes())
}
