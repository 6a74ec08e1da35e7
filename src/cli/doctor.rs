//! `muxwire doctor`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use super::failure::status;
use super::measure::Binary;
use super::{Failure, SocketOptions, show};
use crate::client::Tmux;
use crate::exchange::TextEncoding;
use crate::model::Version;
use crate::transport::Provenance;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The tmux binary that would start a server.
    #[arg(long, value_name = "PATH", default_value = "tmux")]
    tmux: PathBuf,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    /// `ok`, `note` (works, and is worth knowing) or `bad`.
    state: &'static str,
    found: String,
}

/// All that was looked at.
#[derive(Debug, Default)]
struct Findings {
    rows: Vec<Finding>,
    status: u8,
}

impl Findings {
    fn ok(&mut self, what: &'static str, found: impl Into<String>) {
        self.rows.push(Finding { what, state: "ok", found: found.into() });
    }

    fn note(&mut self, what: &'static str, found: impl Into<String>) {
        self.rows.push(Finding { what, state: "note", found: found.into() });
    }

    fn bad(&mut self, what: &'static str, status: u8, found: impl Into<String>) {
        self.rows.push(Finding { what, state: "bad", found: found.into() });
        self.status = self.status.max(status);
    }
}

pub(super) async fn run(socket: SocketOptions, options: Options) -> Result<ExitCode, Failure> {
    let mut findings = Findings::default();
    findings.ok("muxwire", env!("CARGO_PKG_VERSION"));
    look_at_binary(&mut findings, &options.tmux).await;
    match socket.builder()?.build() {
        Err(error) => findings.bad("socket", 2, error.to_string()),
        Ok(tmux) => {
            let why = match tmux.endpoint().provenance() {
                Provenance::Path => "chosen by -S",
                Provenance::Name => "chosen by -L",
                Provenance::Tmux => "named by $TMUX",
                Provenance::Default => "tmux's default",
            };
            findings.ok("socket", format!("{} ({why})", show::visible(&path(tmux.path()))));
            look_at_server(&mut findings, &tmux).await;
        }
    }
    if options.json {
        show::print_json(&findings.rows)?;
    } else {
        let mark = |state| match state {
            "ok" => "ok  ",
            "note" => "note",
            _ => "BAD ",
        };
        let rows = findings.rows.iter();
        let lines = rows.map(|row| format!("{} {}: {}\n", mark(row.state), row.what, row.found));
        show::print(lines.collect::<String>().as_bytes())?;
    }
    Ok(ExitCode::from(findings.status))
}

async fn look_at_binary(findings: &mut Findings, binary: &Path) {
    match Binary::version(binary).await {
        Some(version) => findings.ok("binary", format!("{version}, used only to start servers")),
        None => findings.note(
            "binary",
            format!(
                "{} does not run: servers that are there work, none can be started",
                path(binary)
            ),
        ),
    }
}

async fn look_at_server(findings: &mut Findings, tmux: &Tmux) {
    let start = Instant::now();
    let server = match tmux.server().await {
        Ok(server) => server,
        Err(error) => return findings.bad("server", status(&error), error.to_string()),
    };
    let took = start.elapsed().as_micros();
    let version = Version::parse(&server.version());
    let pid = server.identity.pid;
    findings.ok("server", format!("tmux {version}, process {pid}, answered in {took} µs"));
    match version.release() {
        None => findings.note(
            "version",
            "not a release that is known; what it answers is checked all the same",
        ),
        Some(release) if release < (3, 1) => {
            findings.bad("version", 5, "older than 3.1, the first that is supported");
        }
        Some(_) => findings.ok("version", "supported"),
    }
    match server.encoding {
        TextEncoding::Raw => findings.ok("text", "every byte arrives as it is"),
        _ => findings.note("text", "this release escapes control bytes; names are decoded, `exec` prints them as tmux does"),
    }
    match tmux.snapshot().await {
        Ok(snapshot) => findings.ok(
            "snapshot",
            format!(
                "{} sessions, {} windows, {} panes, {} clients, in agreement",
                snapshot.sessions.len(),
                snapshot.windows.len(),
                snapshot.panes.len(),
                snapshot.clients.len()
            ),
        ),
        Err(error) => findings.bad("snapshot", status(&error), error.to_string()),
    }
    findings.note("control streams", "not in this version of muxwire; reads do not need them");
}

fn path(path: &Path) -> String {
    path.display().to_string()
}
