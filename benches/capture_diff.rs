//! Claim: telling how rows changed costs next to nothing beside fetching them, whatever became of
//! them. An unchanged screen of 50 rows of 200 bytes takes at most 2 µs, 10 lines more 10 µs, a
//! screen rewritten from top to bottom 50 µs, and 50 lines more below or through 2 000 lines of 24
//! to 119 bytes 100 µs; time grows no faster than the rows, also where they are all alike.
//!
//! Beside it runs the crate `similar` (Myers, its default) on the same rows. It is given both lists,
//! where [`Differ`](muxwire::capture::Differ) remembers the older by its hashes and reads the newer
//! one alone; it gives an edit script, of which the splice and the scrolling are a part.
//!
//! What `Tmux::since` compares is more than rows, and comes from a server: `capture.rs` has it.
//!
//! Each is first measured side by side, as in `roundtrip.rs`; then in criterion's own groups. A
//! filter that none of them matches, as in `cargo bench --bench capture_diff -- tables`, leaves
//! them out.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/diff_cases.rs"]
mod diff_cases;
mod support;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, Throughput, criterion_group};
use diff_cases::Case;
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// How long a table measures each case.
const TABLE: Duration = Duration::from_secs(2);
/// How long one sample takes at least, if a hundred differences do: the clock is no finer.
const SAMPLE_MICROS: f64 = 200.0;

fn by_similar(case: &Case) -> Vec<DiffOp> {
    capture_diff_slices(Algorithm::Myers, &case.older, &case.newer)
}

/// How long `count` differences take, in µs each; what is set up for them aside.
fn by_differ(case: &Case, count: usize) -> f64 {
    let mut differs: Vec<_> = (0..count).map(|_| case.differ()).collect();
    let start = Instant::now();
    for differ in &mut differs {
        black_box(differ.update(black_box(&case.newer)));
    }
    start.elapsed().as_secs_f64() * 1e6 / count as f64
}

fn side_by_side(case: &Case) {
    let is_enough = |count: &usize| by_differ(case, *count) * *count as f64 >= SAMPLE_MICROS;
    let count = [1, 10].into_iter().find(is_enough).unwrap_or(100);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let end = Instant::now() + if support::is_trial() { Duration::ZERO } else { TABLE };
    while ours.is_empty() || Instant::now() < end {
        ours.push(by_differ(case, count));
        let start = Instant::now();
        black_box(by_similar(black_box(case)));
        theirs.push(start.elapsed().as_secs_f64() * 1e6);
    }
    let [ours, theirs] = [ours, theirs].map(|times| support::percentile(times, 50));
    eprintln!(
        "{:<36}{:>12.2}{:>10}{:>12.2}{:>10.1}",
        case.name,
        ours,
        case.reach_micros.map(|reach| reach.to_string()).unwrap_or_default(),
        theirs,
        theirs / ours,
    );
}

fn differences(criterion: &mut Criterion) {
    let cases = diff_cases::cases();
    eprintln!(
        "\n{:<36}{:>12}{:>10}{:>12}{:>10}",
        "differences, p50", "muxwire µs", "reach", "similar µs", "× muxwire"
    );
    for case in &cases {
        case.check(&case.differ().update(&case.newer));
        side_by_side(case);
    }
    for case in &cases {
        let mut group = criterion.benchmark_group(case.name);
        group.throughput(Throughput::Elements(case.newer.len() as u64));
        if case.newer.len() > 10_000 {
            group.sample_size(20);
        }
        group.bench_function("muxwire", |bencher| {
            let update = |differ: &mut muxwire::capture::Differ| differ.update(&case.newer);
            bencher.iter_batched_ref(|| case.differ(), update, BatchSize::SmallInput);
        });
        group.bench_function("similar", |bencher| bencher.iter(|| by_similar(case)));
        group.finish();
    }
}

criterion_group!(benches, differences);

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
}
