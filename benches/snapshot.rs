//! Claim: a snapshot of a whole server, parsed and checked, costs at most 1.3 × what the floor needs
//! to fetch the same rows, at every size from 1 to 1 000 panes; it grows no faster than the panes
//! do, and spawning tmux for the same four listings costs many times as much. Parsing alone runs at
//! 150 MB/s of rows or more. Criteria are asked of 1 000 panes in at most 100 µs, relations
//! included. A page of 200 items goes from `muxwire mcp` to its client in at most 1 ms, pipes
//! included, without asking tmux.
//!
//! Measured side by side first, as in `roundtrip.rs`; then in criterion's own groups.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod support;

use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group};
use muxwire::model::SnapshotQuery;
use muxwire::query::Criteria;
use support::{Floor, Mcp, Server, Times};
use tokio::runtime::Runtime;

/// How many panes there are in turn.
fn sizes() -> &'static [usize] {
    if support::is_trial() { &[1, 12] } else { &[1, 10, 100, 1_000] }
}

/// Four processes, as a program without this library has to start.
fn spawn_four(server: &Server, commands: &[Vec<Vec<u8>>]) -> usize {
    commands.iter().map(|command| server.spawn(command).len()).sum()
}

fn side_by_side(server: &Server, runtime: &Runtime, panes: usize) {
    let rounds = match panes {
        _ if support::is_trial() => 3,
        0..100 => 2_000,
        100..1_000 => 500,
        _ => 100,
    };
    let query = SnapshotQuery::new().unwrap();
    let (commands, tmux) = (support::arguments(&query.commands()), server.tmux());
    let mut floor = Floor::new(&server.socket(), &query.commands());
    let mut times = ["floor", "muxwire", "spawn ×4"].map(Times::new);
    runtime.block_on(async {
        for round in 0..rounds {
            let start = Instant::now();
            floor.run();
            times[0].since(start, round);
            let start = Instant::now();
            let snapshot = tmux.snapshot().await.unwrap();
            times[1].since(start, round);
            assert_eq!(snapshot.panes.len(), panes);
            if round % 10 == 0 {
                let start = Instant::now();
                spawn_four(server, &commands);
                times[2].since(start, round);
            }
        }
    });
    let title = format!("{}, snapshot of {panes} panes", server.version());
    support::print_side_by_side(&title, &times);
}

/// Filters on panes, from one field to relations in relations.
const FILTERS: [(&str, &str); 4] = [
    ("one field", r#"{"currentCommand":"sleep"}"#),
    ("several", r#"{"dead":false,"title":{"contains":"work"},"pid":{"gt":1},"not":{"index":7}}"#),
    ("its window", r#"{"window":{"is":{"name":{"startsWith":"sl"},"paneCount":{"gte":2}}}}"#),
    (
        "its window's sessions",
        r#"{"window":{"is":{"windowLinks":{"some":{"session":{"is":{"name":"bench"}}}}}}}"#,
    ),
];

fn criteria(filter: &str) -> Criteria {
    let document = format!(
        r#"{{"profile":"libtmux-ruby.where","version":1,"entity":"pane","where":{filter}}}"#
    );
    Criteria::from_json(document.as_bytes()).unwrap()
}

fn snapshots(criterion: &mut Criterion) {
    let runtime = support::runtime();
    for &panes in sizes() {
        let server = Server::idle();
        server.grow(&runtime, panes);
        side_by_side(&server, &runtime, panes);

        let query = SnapshotQuery::new().unwrap();
        let (commands, tmux) = (support::arguments(&query.commands()), server.tmux());
        let mut floor = Floor::new(&server.socket(), &query.commands());
        let mut group = criterion.benchmark_group(format!("snapshot of {panes} panes"));
        group.sample_size(20);
        group.bench_function("floor", |bencher| bencher.iter(|| floor.run()));
        group.bench_function("muxwire", |bencher| {
            bencher.to_async(&runtime).iter(|| async { tmux.snapshot().await.unwrap() });
        });
        group.bench_function("spawn ×4", |bencher| {
            bencher.iter(|| spawn_four(&server, &commands));
        });
        group.finish();

        let snapshot = runtime.block_on(tmux.snapshot()).unwrap();
        let mut group = criterion.benchmark_group(format!("criteria over {panes} panes"));
        for (name, filter) in FILTERS {
            let criteria = criteria(filter);
            group.bench_function(name, |bencher| bencher.iter(|| criteria.positions(&snapshot)));
        }
        group.finish();

        let output = runtime.block_on(support::run(&tmux, query.commands()));
        let server = output.server.unwrap();
        let mut group = criterion.benchmark_group("parsing alone");
        group.throughput(Throughput::Bytes(output.stdout.len() as u64));
        group.bench_function(format!("{panes} panes"), |bencher| {
            bencher.iter(|| query.decode(&output.stdout, server.encoding, server.clone()).unwrap());
        });
        group.finish();
    }
}

/// What a next page costs an agent, beside what any request does.
fn pages(criterion: &mut Criterion) {
    let (panes, limit) = if support::is_trial() { (12, 5) } else { (1_000, 200) };
    let server = Server::idle();
    server.grow(&support::runtime(), panes);
    let mut mcp = Mcp::on(&server);
    let mut group = criterion.benchmark_group("over MCP");
    group.bench_function("ping", |bencher| bencher.iter(|| mcp.request("ping", "{}")));
    group.bench_function(format!("a page of {limit}"), |bencher| {
        bencher.iter_custom(|rounds| {
            // A cursor leads on for 30 s only.
            let first = format!(r#"{{"entity":"pane","limit":{limit}}}"#);
            let first = mcp.request("tools/call", &snapshot_call(&first));
            let data = &first["result"]["structuredContent"]["data"];
            let next = snapshot_call(&format!(r#"{{"cursor":{}}}"#, data["next_cursor"]));
            let start = Instant::now();
            let lines: usize = (0..rounds).map(|_| mcp.line("tools/call", &next).len()).sum();
            let took = start.elapsed();
            assert!(lines as u64 > rounds * limit * 500, "{lines}");
            took
        });
    });
    group.finish();
}

fn snapshot_call(arguments: &str) -> String {
    format!(r#"{{"name":"tmux_snapshot","arguments":{arguments}}}"#)
}

criterion_group!(benches, pages, snapshots);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
}
