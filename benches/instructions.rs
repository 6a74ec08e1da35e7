//! Claim: how many instructions it takes to tell a difference is known to the instruction, so that
//! a change is seen where times would drown it.
//!
//! Runs the case that its arguments name once, in [`told`], which `tests/tools/instructions` counts
//! by callgrind and compares with `benches/instructions.tsv`; without a name runs them all.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

#[path = "support/diff_cases.rs"]
mod diff_cases;

use std::hint::black_box;

use muxwire::capture::{Differ, Difference};

/// What is counted: all that is called in here.
#[inline(never)]
fn told(differ: &mut Differ, rows: &[String]) -> Difference {
    differ.update(black_box(rows))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let cases = diff_cases::cases();
    if arguments.iter().any(|argument| argument == "--list") {
        cases.iter().for_each(|case| println!("{}", case.name));
        return;
    }
    let named: Vec<_> =
        cases.iter().filter(|case| arguments.iter().any(|it| it == case.name)).collect();
    let all = named.is_empty();
    for case in cases.iter().filter(|case| all || named.iter().any(|it| it.name == case.name)) {
        let mut differ = case.differ();
        let difference = told(&mut differ, &case.newer);
        case.check(&difference);
        println!("{}: {difference:?}", case.name);
    }
}
