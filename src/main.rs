//! The muxwire program; everything is in [`muxwire::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    muxwire::cli::run()
}
