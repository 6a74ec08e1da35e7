//! Claim: reading a pane of 50 × 200 cells, and what was written in it since, costs little more than
//! the server's own work: at most 1.25 × the floor, and many times less than spawning tmux.
//!
//! The floor sends byte for byte what the library sent for the same question, as often as it did,
//! and walks through the replies; spawning runs the same command lists by the tmux binary. Beside
//! them runs the floor of one plain capture of the screen, `capture-pane -p`, without the pane's
//! state and its place: what is above that is the price of exactness.
//!
//! Each question is asked again and again of a pane that stays as it is, with the same earlier
//! view. Measured side by side first, as in `roundtrip.rs`; then in criterion's own groups. A filter
//! that none of them matches, as in `cargo bench --bench capture -- tables`, leaves them out.
//! `MUXWIRE_BENCH_TMUX` names another tmux than the machine's.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod support;

use std::io::Write;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group};
use muxwire::Tmux;
use muxwire::capture::{Baseline, CaptureOptions, SinceOptions};
use muxwire::model::PaneId;
use muxwire::protocol::CommandList;
use support::{Floor, Recorder, Server, Times};
use tokio::runtime::Runtime;

/// What is asked of the pane.
enum Question {
    Capture(CaptureOptions),
    Since(Baseline),
}

struct Case {
    name: &'static str,
    server: Server,
    pane: PaneId,
    question: Question,
    /// How many lines the answer has.
    lines: usize,
}

/// A pane whose program says nothing, and what is written on its terminal.
struct Screen {
    server: Server,
    pane: PaneId,
    terminal: std::fs::File,
    written: usize,
    rewritten: usize,
}

/// What becomes of a pane between two looks.
#[derive(Clone, Copy)]
enum Change {
    Nothing,
    RowRewritten,
    Lines(usize),
}

impl Screen {
    /// Shows 49 lines of 199 bytes, with so many more in a history of at most `limit`.
    fn new(runtime: &Runtime, limit: u32, history: usize) -> Self {
        let server = Server::idle();
        let tmux = server.tmux();
        let format = "#{pane_id} #{pane_tty}";
        let limit = limit.to_string();
        let output = runtime.block_on(async {
            support::run(&tmux, ["set-option", "-g", "history-limit", &limit].into()).await;
            let window =
                ["new-window", "-k", "-P", "-F", format, "-t", "bench:0", "exec sleep 100000"];
            support::run(&tmux, window.into()).await
        });
        let text = String::from_utf8(output.stdout.to_vec()).unwrap();
        let (pane, path) = text.trim().split_once(' ').unwrap();
        let terminal = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        let mut screen =
            Self { server, pane: pane.parse().unwrap(), terminal, written: 0, rewritten: 0 };
        screen.write_lines(runtime, 49 + history);
        screen
    }

    fn write_lines(&mut self, runtime: &Runtime, count: usize) {
        let (first, end) = (self.written, self.written + count);
        self.written = end;
        let fill = "x".repeat(170);
        for number in first..end {
            writeln!(self.terminal, "line {number:024}{fill}").unwrap();
        }
        self.wait_for(runtime, &format!("line {:024}", end - 1));
    }

    fn rewrite_row(&mut self, runtime: &Runtime) {
        self.rewritten += 1;
        let text = format!("anew {}", self.rewritten);
        write!(self.terminal, "\x1b7\x1b[25;1H{text}\x1b8").unwrap();
        self.wait_for(runtime, &text);
    }

    fn wait_for(&self, runtime: &Runtime, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let pane = self.pane.to_string();
            let list = ["capture-pane", "-p", "-t", &pane].into();
            let output = runtime.block_on(support::run(&self.server.tmux(), list));
            if String::from_utf8_lossy(&output.stdout).contains(text) {
                return;
            }
            assert!(Instant::now() < deadline, "the pane does not show {text:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn capture(self, name: &'static str, view: bool) -> Case {
        let Self { server, pane, .. } = self;
        let question = Question::Capture(CaptureOptions { view, ..CaptureOptions::default() });
        Case { name, server, pane, question, lines: 49 }
    }

    /// What was written since a look at a pane that had been `quiet` for a second, or had not.
    fn since(mut self, runtime: &Runtime, name: &'static str, quiet: bool, change: Change) -> Case {
        let options = CaptureOptions { view: true, ..CaptureOptions::default() };
        let tmux = self.server.tmux();
        if quiet {
            std::thread::sleep(Duration::from_millis(1_100));
        } else {
            self.rewrite_row(runtime);
        }
        let view = runtime.block_on(tmux.capture(self.pane, &options)).unwrap().view.unwrap();
        let lines = match change {
            Change::Nothing => 0,
            Change::RowRewritten => {
                self.rewrite_row(runtime);
                1
            }
            Change::Lines(count) => {
                self.write_lines(runtime, count);
                count
            }
        };
        let Self { server, pane, .. } = self;
        Case { name, server, pane, question: Question::Since(view.into()), lines }
    }
}

impl Case {
    async fn run(&self, tmux: &Tmux) -> usize {
        match &self.question {
            Question::Capture(options) => {
                tmux.capture(self.pane, options).await.unwrap().lines.len()
            }
            Question::Since(earlier) => {
                let options = SinceOptions::default();
                let delta = tmux.since(self.pane, Some(earlier), &options).await.unwrap();
                assert_eq!(delta.missed, None, "{}", self.name);
                delta.lines.len()
            }
        }
    }

    /// What the library sends, burst by burst.
    fn floors(&self, runtime: &Runtime) -> Vec<Floor> {
        let recorder = Recorder::new(&self.server.socket());
        let tmux = recorder.tmux();
        // The first call of a handle learns what server it has.
        runtime.block_on(self.run(&tmux));
        recorder.bursts();
        assert_eq!(runtime.block_on(self.run(&tmux)), self.lines, "{}", self.name);
        let bursts = recorder.bursts().into_iter();
        bursts.map(|burst| Floor::of_burst(&self.server.socket(), burst)).collect()
    }

    fn plain_floor(&self) -> Floor {
        let pane = self.pane.to_string();
        let list = CommandList::from(["capture-pane", "-p", "-t", &pane]);
        Floor::new(&self.server.socket(), &list)
    }

    fn side_by_side(&self, runtime: &Runtime) {
        let rounds = match self.lines {
            _ if support::is_trial() => 3,
            0..1_000 => 3_000,
            _ => 500,
        };
        let (mut floors, tmux) = (self.floors(runtime), self.server.tmux());
        let mut plain = self.plain_floor();
        let spawned: Vec<Vec<Vec<u8>>> = floors.iter().map(Floor::arguments).collect();
        for (floor, arguments) in floors.iter_mut().zip(&spawned) {
            assert_eq!(floor.run(), self.server.spawn(arguments).len(), "{}", self.name);
        }
        let mut times = ["floor", "muxwire", "spawn", "plain floor"].map(Times::new);
        runtime.block_on(async {
            self.run(&tmux).await;
            for round in 0..rounds {
                let start = Instant::now();
                floors.iter_mut().for_each(|floor| assert_ne!(floor.run(), 0));
                times[0].since(start, round);
                let start = Instant::now();
                self.run(&tmux).await;
                times[1].since(start, round);
                if round % 10 == 0 {
                    let start = Instant::now();
                    spawned
                        .iter()
                        .for_each(|arguments| assert!(!self.server.spawn(arguments).is_empty()));
                    times[2].since(start, round);
                }
                let start = Instant::now();
                plain.run();
                times[3].since(start, round);
            }
        });
        let trips = floors.len();
        let title = format!("{}, {}, {trips} round trips", self.server.version(), self.name);
        support::print_side_by_side(&title, &times);
    }

    fn groups(&self, criterion: &mut Criterion, runtime: &Runtime) {
        let mut group = criterion.benchmark_group(self.name);
        if self.lines >= 1_000 {
            group.sample_size(20);
        }
        let (mut floors, tmux) = (self.floors(runtime), self.server.tmux());
        group.bench_function("floor", |bencher| {
            bencher.iter(|| floors.iter_mut().map(Floor::run).sum::<usize>());
        });
        group.bench_function("muxwire", |bencher| {
            bencher.to_async(runtime).iter(|| self.run(&tmux));
        });
        group.finish();
    }
}

fn captures(criterion: &mut Criterion) {
    let runtime = &support::runtime();
    let screen = || Screen::new(runtime, 10_000, 200);
    // A full one, of which some lines have been trimmed.
    let full = || Screen::new(runtime, 2_000, 4_950);
    let cases: [&dyn Fn() -> Case; 10] = [
        &|| screen().capture("capture", false),
        &|| screen().capture("capture with its view", true),
        &|| screen().since(runtime, "since, quiet for a second", true, Change::Nothing),
        &|| screen().since(runtime, "since, unchanged", false, Change::Nothing),
        &|| screen().since(runtime, "since, one row rewritten", false, Change::RowRewritten),
        &|| {
            screen().since(
                runtime,
                "since, one row after a quiet second",
                true,
                Change::RowRewritten,
            )
        },
        &|| screen().since(runtime, "since, 10 lines", false, Change::Lines(10)),
        &|| screen().since(runtime, "since, 2000 lines", false, Change::Lines(2_000)),
        &|| full().since(runtime, "since, history full, unchanged", false, Change::Nothing),
        &|| full().since(runtime, "since, history full, 10 lines", false, Change::Lines(10)),
    ];
    for case in cases {
        let case = case();
        case.side_by_side(runtime);
        case.groups(criterion, runtime);
    }
}

criterion_group!(benches, captures);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
}
