//! Watches a pane 200 times a second and prints what was written in it, as an agent's loop would.
//!
//! `cargo run --release --example agent_loop -- %1`

#![allow(clippy::print_stdout, reason = "it is what the example is for")]

use std::time::{Duration, Instant};

use muxwire::Tmux;
use muxwire::capture::Baseline;
use muxwire::model::PaneId;

/// How often the pane is read.
const PERIOD: Duration = Duration::from_millis(5);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pane: PaneId = std::env::args().nth(1).ok_or("give a pane's id, such as %1")?.parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(watch(&Tmux::builder().build()?, pane))?;
    Ok(())
}

/// Until the pane is gone or dead.
async fn watch(tmux: &Tmux, pane: PaneId) -> Result<(), muxwire::Error> {
    let mut earlier: Option<Baseline> = None;
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let start = Instant::now();
        let delta = tmux.since(pane, earlier.as_ref(), &Default::default()).await?;
        let took = start.elapsed();
        if let Some(missed) = delta.missed {
            eprintln!("lines may be missing here: {}", missed.as_str());
        }
        for line in &delta.lines {
            println!("{:>5} µs  {line}", took.as_micros());
        }
        if delta.pane.dead {
            return Ok(());
        }
        earlier = Some(delta.view.into());
    }
}
