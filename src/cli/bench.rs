//! `muxwire bench`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::measure::{Binary, Times, Work, side_by_side};
use super::private::with_server;
use super::{Failure, show};
use crate::client::{Tmux, TmuxBuilder};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Measure on a private server, started for this and ended after it. Without this the chosen
    /// server is measured; it is only read.
    #[arg(long)]
    private: bool,
    /// How often muxwire does each thing; spawning is done a tenth as often.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    runs: u32,
    /// The tmux binary to compare with.
    #[arg(long, value_name = "PATH", default_value = "tmux")]
    tmux: PathBuf,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(builder: TmuxBuilder, options: Options) -> Result<ExitCode, Failure> {
    if !options.private {
        let tmux = builder.build()?;
        return measure(&tmux, &options).await;
    }
    with_server(&options.tmux, async |server| {
        server.session("bench").await?;
        measure(&server.tmux, &options).await
    })
    .await
}

async fn measure(tmux: &Tmux, options: &Options) -> Result<ExitCode, Failure> {
    let snapshot = tmux.snapshot().await?;
    let binary = Binary { path: options.tmux.clone(), socket: tmux.path().to_owned() };
    let Some(installed) = Binary::version(&binary.path).await else {
        let path = binary.path.display();
        return Err(Failure::new(5, format!("cannot run {path}; name a tmux with --tmux")));
    };
    let runs = usize::try_from(options.runs).unwrap_or(usize::MAX);
    let mut works = vec![Work::Message, Work::Snapshot];
    works.extend(snapshot.panes.first().map(|pane| Work::Capture(pane.id)));
    let mut times = Vec::new();
    for work in works {
        times.push(side_by_side(work, tmux, &binary, runs).await?);
    }
    let version = snapshot.server.version();
    let panes = snapshot.panes.len();
    if options.json {
        return show::print_json(&json!({
            "server_version": version,
            "binary_version": installed,
            "panes": panes,
            "runs": runs,
            "unit": "microseconds",
            "times": times,
        }));
    }
    let header = format!(
        "server tmux {version} with {panes} panes; binary {installed}; {runs} runs, medians in µs\n\n"
    );
    show::print((header + &table(&times)).as_bytes())
}

/// The figures for people.
fn table(times: &[Times]) -> String {
    let head = ["", "muxwire p50", "p90", "spawning p50", "p90", "processes", "ratio"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(times.iter().map(|times| {
        vec![
            times.work.to_owned(),
            format!("{:.0}", times.muxwire_p50),
            format!("{:.0}", times.muxwire_p90),
            format!("{:.0}", times.spawn_p50),
            format!("{:.0}", times.spawn_p90),
            times.spawns.to_string(),
            format!("{:.1}×", times.ratio),
        ]
    }));
    show::table(&rows)
}
