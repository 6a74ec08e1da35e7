//! `muxwire exec`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use clap::Args;

use super::{Failure, show};
use crate::client::{Stdin, Tmux};
use crate::exchange::End;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// A tmux command and its arguments; `\;` separates commands, as in `tmux`. Commands that read
    /// or write files by name are refused: use `-` and redirect.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

pub(super) async fn run(tmux: Tmux, options: Options) -> Result<ExitCode, Failure> {
    let arguments = options.command.iter().map(|argument| argument.as_bytes());
    let stdin = Stdin::Reader(Box::new(tokio::io::stdin()));
    let reply = tmux.command_line(arguments).stdin(stdin).reply().await;
    // tmux's own client has one status for whatever goes wrong.
    let reply = reply.map_err(|error| Failure::from(error).with_status(1))?;
    show::print(&reply.stdout)?;
    std::io::Write::write_all(&mut std::io::stderr(), &reply.stderr)?;
    Ok(match reply.end {
        End::Exit { status } => ExitCode::from(status.to_le_bytes()[0]),
        // What tmux's own client ends with when the server goes down under it.
        End::Shutdown => ExitCode::SUCCESS,
    })
}
