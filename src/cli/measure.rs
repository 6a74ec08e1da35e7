//! The same work by muxwire and by spawning tmux, timed side by side.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::process::Command as Process;

use super::Failure;
use crate::capture::CaptureOptions;
use crate::client::Tmux;
use crate::model::PaneId;

/// How long one run of the binary may take.
const SPAWN_DEADLINE: Duration = Duration::from_secs(10);

/// One thing to do, both ways.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// Print one line.
    Message,
    /// List sessions, windows, panes and clients.
    Snapshot,
    /// Read a pane's screen and state.
    Capture(PaneId),
}

/// The times of both ways, in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Times {
    /// What was done.
    pub(super) work: &'static str,
    pub(super) muxwire_p50: f64,
    pub(super) muxwire_p90: f64,
    pub(super) spawn_p50: f64,
    pub(super) spawn_p90: f64,
    /// How many runs of the binary it takes.
    pub(super) spawns: usize,
    /// Ratio of the medians.
    pub(super) ratio: f64,
}

/// The tmux binary, run against one socket.
#[derive(Clone, Debug)]
pub(super) struct Binary {
    pub(super) path: PathBuf,
    pub(super) socket: PathBuf,
}

impl Work {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Message => "display-message -p",
            Self::Snapshot => "snapshot of the server",
            Self::Capture(_) => "capture of a pane",
        }
    }

    /// Does it by muxwire.
    pub(super) async fn by_muxwire(self, tmux: &Tmux) -> Result<(), Failure> {
        match self {
            Self::Message => tmux.run(["display-message", "-p", "hello"]).await?.ok().map(drop)?,
            Self::Snapshot => tmux.snapshot().await.map(drop)?,
            Self::Capture(pane) => {
                tmux.capture(pane, &CaptureOptions::default()).await.map(drop)?;
            }
        }
        Ok(())
    }

    /// The command lines that a program without muxwire would run.
    fn command_lines(self) -> Vec<Vec<String>> {
        let line = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        match self {
            Self::Message => vec![line(&["display-message", "-p", "hello"])],
            Self::Snapshot => vec![
                line(&["list-sessions", "-F", "#{session_id} #{session_name}"]),
                line(&["list-windows", "-a", "-F", "#{window_id} #{window_name}"]),
                line(&["list-panes", "-a", "-F", "#{pane_id} #{pane_current_command}"]),
                line(&["list-clients", "-F", "#{client_pid} #{client_name}"]),
            ],
            Self::Capture(pane) => {
                let pane = pane.to_string();
                vec![
                    line(&["display-message", "-p", "-t", &pane, "#{cursor_x} #{cursor_y}"]),
                    line(&["capture-pane", "-p", "-J", "-t", &pane]),
                ]
            }
        }
    }

    /// Does it by spawning the binary.
    pub(super) async fn by_spawning(self, binary: &Binary) -> Result<(), Failure> {
        for arguments in self.command_lines() {
            binary.run(&arguments).await?;
        }
        Ok(())
    }
}

impl Binary {
    async fn run(&self, arguments: &[String]) -> Result<(), Failure> {
        let mut process = Process::new(&self.path);
        process.arg("-u").arg("-S").arg(&self.socket).args(arguments);
        process.stdin(Stdio::null()).kill_on_drop(true);
        let run = tokio::time::timeout(SPAWN_DEADLINE, process.output()).await;
        let path = self.path.display();
        match run {
            Err(_) => Err(Failure::new(4, format!("{path} did not end within 10 s"))),
            Ok(Err(error)) => Err(Failure::new(5, format!("cannot run {path}: {error}"))),
            Ok(Ok(output)) if output.status.success() => Ok(()),
            Ok(Ok(output)) => {
                let words = String::from_utf8_lossy(&output.stderr);
                let words = super::show::visible(words.trim_end());
                Err(Failure::new(5, format!("{path} failed on this server: {words}")))
            }
        }
    }

    /// What `tmux -V` says.
    pub(super) async fn version(path: &Path) -> Option<String> {
        let mut process = Process::new(path);
        process.arg("-V").stdin(Stdio::null()).kill_on_drop(true);
        let output = tokio::time::timeout(SPAWN_DEADLINE, process.output()).await.ok()?.ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }
}

/// Does `work` both ways in turn, `runs` times by muxwire and every tenth time by spawning.
pub(super) async fn side_by_side(
    work: Work,
    tmux: &Tmux,
    binary: &Binary,
    runs: usize,
) -> Result<Times, Failure> {
    let (mut ours, mut theirs) = (Vec::with_capacity(runs), Vec::new());
    for run in 0..runs {
        let start = Instant::now();
        work.by_muxwire(tmux).await?;
        ours.push(start.elapsed());
        if run % 10 == 0 {
            let start = Instant::now();
            work.by_spawning(binary).await?;
            theirs.push(start.elapsed());
        }
    }
    let (ours, theirs) = (Spread::of(ours), Spread::of(theirs));
    Ok(Times {
        work: work.name(),
        muxwire_p50: ours.p50,
        muxwire_p90: ours.p90,
        spawn_p50: theirs.p50,
        spawn_p90: theirs.p90,
        spawns: work.command_lines().len(),
        ratio: theirs.p50 / ours.p50,
    })
}

/// Median and 90th percentile in microseconds.
struct Spread {
    p50: f64,
    p90: f64,
}

impl Spread {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        let at = |share: usize| {
            let time = times.get(times.len() * share / 100).copied().unwrap_or_default();
            time.as_secs_f64() * 1e6
        };
        Self { p50: at(50), p90: at(90) }
    }
}
