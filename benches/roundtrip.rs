//! Claim: one command costs little more over the socket than the socket itself, and far less than
//! spawning tmux. A one-shot `display-message -p` and a capture of 50 × 200 cells take at most
//! 1.25 × the floor, the first at least 15 × less than spawning tmux 3.3a and 40 × less on 3.7 and
//! later; a capture of 100 000 lines is no slower than the tmux binary writing to a pipe.
//!
//! Each is first measured side by side, one variant after the other in every round: where the
//! scheduler puts server and client moves all variants together by more than what is measured.
//! criterion's own groups follow; a filter that none of them matches, as in `cargo bench --bench
//! roundtrip -- tables`, leaves them out. `MUXWIRE_BENCH_TMUX` names another tmux than the machine's.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod support;

use std::time::Instant;

use criterion::{Criterion, criterion_group};
use muxwire::protocol::CommandList;
use muxwire::{Output, Tmux};
use support::{Floor, Server, Times};
use tokio::runtime::Runtime;

/// One command on one server, by every way of running it.
struct Case {
    name: &'static str,
    /// Rounds side by side, and every how many of them the binary runs too.
    rounds: usize,
    spawn_every: usize,
    server: Server,
    list: CommandList,
}

impl Case {
    fn one_shot() -> Self {
        let list = ["display-message", "-p", "#{session_name}"].into();
        Self {
            name: "display-message",
            rounds: 4_000,
            spawn_every: 10,
            server: Server::idle(),
            list,
        }
    }

    fn screen(runtime: &Runtime) -> Self {
        let line = "x".repeat(199);
        let fill = format!("i=1; while [ $i -lt 50 ]; do echo {line}; i=$((i+1)); done");
        let server = Server::new(&format!("{fill}; exec sleep 100000"));
        server.wait_for_lines(runtime, 49);
        let list = ["capture-pane", "-p", "-t", "bench:"].into();
        Self { name: "capture 50x200", rounds: 4_000, spawn_every: 10, server, list }
    }

    fn history(runtime: &Runtime) -> Self {
        let lines = if support::is_trial() { 1_000 } else { 100_000 };
        let server = Server::idle();
        let limit = ["set-option", "-g", "history-limit", "200000"];
        let seq =
            format!("seq -f 'line %06.0f of the history of a pane that ran for long' {lines}");
        let fill = format!("{seq}; exec sleep 100000");
        runtime.block_on(async {
            support::run(&server.tmux(), limit.into()).await;
            let list = ["new-window", "-k", "-t", "bench:0", &fill];
            support::run(&server.tmux(), list.into()).await;
        });
        server.wait_for_lines(runtime, lines);
        let list = ["capture-pane", "-p", "-S", "-", "-t", "bench:"].into();
        Self { name: "capture 100000 lines", rounds: 60, spawn_every: 1, server, list }
    }

    fn floor(&self) -> Floor {
        Floor::new(&self.server.socket(), &self.list)
    }

    async fn run(&self, tmux: &Tmux) -> Output {
        support::run(tmux, self.list.clone()).await
    }

    fn spawn(&self) -> Vec<u8> {
        self.server.spawn(&support::arguments(&self.list).concat())
    }

    /// All ways give the same answer.
    fn check(&self, runtime: &Runtime) {
        let output = runtime.block_on(self.run(&self.server.tmux()));
        assert_eq!(output.stdout, self.spawn());
        assert_eq!(self.floor().run(), output.stdout.len() + "E\n".len());
    }

    fn side_by_side(&self, runtime: &Runtime) {
        let rounds = if support::is_trial() { 3 } else { self.rounds };
        let (mut floor, tmux) = (self.floor(), self.server.tmux());
        let mut times = ["floor", "muxwire", "spawn"].map(Times::new);
        runtime.block_on(async {
            for round in 0..rounds {
                let start = Instant::now();
                floor.run();
                times[0].since(start, round);
                let start = Instant::now();
                self.run(&tmux).await;
                times[1].since(start, round);
                if round % self.spawn_every == 0 {
                    let start = Instant::now();
                    self.spawn();
                    times[2].since(start, round);
                }
            }
        });
        let title = format!("{}, {}", self.server.version(), self.name);
        support::print_side_by_side(&title, &times);
    }

    fn groups(&self, criterion: &mut Criterion, runtime: &Runtime) {
        let mut group = criterion.benchmark_group(self.name);
        if self.rounds < 100 {
            group.sample_size(20);
        }
        let (mut floor, tmux) = (self.floor(), self.server.tmux());
        group.bench_function("floor", |bencher| bencher.iter(|| floor.run()));
        group.bench_function("muxwire", |bencher| {
            bencher.to_async(runtime).iter(|| self.run(&tmux));
        });
        group.bench_function("spawn", |bencher| bencher.iter(|| self.spawn()));
        group.finish();
    }
}

fn roundtrips(criterion: &mut Criterion) {
    let runtime = support::runtime();
    for case in [Case::one_shot(), Case::screen(&runtime), Case::history(&runtime)] {
        case.check(&runtime);
        case.side_by_side(&runtime);
        case.groups(criterion, &runtime);
    }
}

criterion_group!(benches, roundtrips);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
}
