//! Layer 9: the command line.
//!
//! [`run`] reads the arguments, runs one command and gives the exit status.

mod bench;
mod capture;
mod demo;
mod doctor;
mod exec;
mod failure;
mod measure;
mod private;
mod show;
mod snapshot;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::client::{Tmux, TmuxBuilder};
use crate::transport::SocketChoice;
use failure::Failure;

/// Talks to tmux over its own socket, without running the tmux binary.
#[derive(Debug, Parser)]
#[command(
    name = "muxwire",
    version,
    max_term_width = 100,
    after_help = "Exit status: 0 done; 1 tmux refused; 2 wrong usage or unusable socket; 3 no \
                  server; 4 deadline passed; 5 the server ended or the connection failed.\n\
                  Logs go to stderr, off unless MUXWIRE_LOG asks for them (error, info, debug)."
)]
struct Cli {
    #[command(flatten)]
    socket: SocketOptions,
    #[command(subcommand)]
    command: Commands,
}

/// Which server, by tmux's own rules.
#[derive(Debug, Args)]
struct SocketOptions {
    /// The socket of this name in the user's socket directory, as `tmux -L`.
    #[arg(short = 'L', long, global = true, value_name = "NAME")]
    socket_name: Option<OsString>,
    /// The socket at this path, as `tmux -S`; wins over a name.
    #[arg(short = 'S', long, global = true, value_name = "PATH")]
    socket_path: Option<OsString>,
    /// Seconds that one call may take; 0 waits without limit. Default: 5, for exec 0.
    #[arg(long, global = true, value_name = "SECONDS", allow_negative_numbers = true)]
    timeout: Option<OsString>,
}

#[derive(Debug, Subcommand)]
enum Commands {
    /// Serve MCP over standard input and output.
    #[cfg(feature = "mcp")]
    Mcp(McpOptions),
    /// Run a tmux command line: output and exit status are tmux's own.
    Exec(exec::Options),
    /// Show every session, window, pane and client, seen at one instant.
    Snapshot(snapshot::Options),
    /// Print what a pane shows.
    Capture(capture::Options),
    /// Print what is written in a pane as it comes, each line once; say where lines may be missing.
    Watch(watch::Options),
    /// Measure muxwire beside spawning the installed tmux.
    Bench(bench::Options),
    /// Say which socket and server are meant, what works and what does not.
    Doctor(doctor::Options),
    /// Show the main job on a private server, with times.
    Demo(demo::Options),
    /// Print a completion script.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// Options of `muxwire mcp`; each wins over its environment variable.
#[cfg(feature = "mcp")]
#[derive(Debug, Args)]
struct McpOptions {
    /// The server of $TMUX.
    #[arg(long)]
    current: bool,
    /// Public alias of the server in answers and URIs. Default: default.
    #[arg(long, value_name = "ALIAS")]
    endpoint: Option<OsString>,
    /// Configuration for a server that is started ($LIBTMUX_TMUX_CONFIG).
    #[arg(long, value_name = "PATH")]
    config: Option<OsString>,
    /// Binary that starts a server ($LIBTMUX_TMUX_BIN). Default: tmux.
    #[arg(long, value_name = "PATH")]
    tmux: Option<OsString>,
    /// Comma list of inspect, manage, execute, teardown; empty: none ($LIBTMUX_TOOLSETS). All tools so
    /// far are in inspect.
    #[arg(long, value_name = "LIST")]
    toolsets: Option<OsString>,
    /// Exact names of tools to add ($LIBTMUX_TOOLS).
    #[arg(long, value_name = "LIST")]
    tools: Option<OsString>,
    /// Exact names of tools to leave out ($LIBTMUX_EXCLUDE_TOOLS).
    #[arg(long, value_name = "LIST")]
    exclude_tools: Option<OsString>,
    /// Never open a control stream (LIBTMUX_MCP_LIVE=0).
    #[arg(long)]
    no_live: bool,
    /// Largest answer in bytes. Default: 1048576.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_response_bytes: Option<OsString>,
}

/// Runs the program with the arguments and environment of the process.
#[must_use]
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    log_to_stderr();
    match dispatch(cli) {
        Ok(status) => status,
        Err(failure) => failure.report(),
    }
}

fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    let socket = cli.socket;
    match cli.command {
        #[cfg(feature = "mcp")]
        Commands::Mcp(options) => serve_mcp(socket, options),
        Commands::Exec(options) => {
            // Without a timeout it waits as long as tmux's own client would.
            let timeout = socket.timeout.is_some();
            let tmux = socket.tmux()?;
            let tmux = if timeout { tmux } else { tmux.with_deadline(None) };
            block_on(exec::run(tmux, options))
        }
        Commands::Snapshot(options) => block_on(snapshot::run(socket.tmux()?, options)),
        Commands::Capture(options) => block_on(capture::run(socket.tmux()?, options)),
        Commands::Watch(options) => block_on(watch::run(socket.tmux()?, options)),
        Commands::Bench(options) => block_on(bench::run(socket.builder()?, options)),
        Commands::Doctor(options) => block_on(doctor::run(socket, options)),
        Commands::Demo(options) => block_on(demo::run(options)),
        Commands::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "muxwire", &mut script);
            show::print(&script)
        }
    }
}

impl SocketOptions {
    fn builder(&self) -> Result<TmuxBuilder, Failure> {
        let deadline = match &self.timeout {
            None => return Ok(Tmux::builder().socket(self.choice())),
            Some(text) => seconds(text).ok_or_else(|| {
                Failure::usage("--timeout takes a number of seconds from 0 to 86400")
            })?,
        };
        Ok(Tmux::builder().socket(self.choice()).deadline(deadline))
    }

    fn tmux(&self) -> Result<Tmux, Failure> {
        Ok(self.builder()?.build()?)
    }

    fn choice(&self) -> SocketChoice {
        match (&self.socket_path, &self.socket_name) {
            (Some(path), _) => SocketChoice::Path(path.into()),
            (None, Some(name)) => SocketChoice::Name(name.clone()),
            (None, None) => SocketChoice::Default,
        }
    }
}

/// Seconds as a deadline: `Some(None)` for 0, which is none.
fn seconds(text: &std::ffi::OsStr) -> Option<Option<Duration>> {
    let seconds: f64 = text.to_str()?.parse().ok()?;
    (0.0..=86_400.0)
        .contains(&seconds)
        .then(|| (seconds > 0.0).then(|| Duration::from_secs_f64(seconds)))
}

#[cfg(feature = "mcp")]
fn serve_mcp(socket: SocketOptions, options: McpOptions) -> Result<ExitCode, Failure> {
    let flags = crate::mcp::Flags {
        socket_name: socket.socket_name,
        socket_path: socket.socket_path,
        current: options.current,
        endpoint: options.endpoint,
        config: options.config,
        tmux: options.tmux,
        toolsets: options.toolsets,
        tools: options.tools,
        exclude_tools: options.exclude_tools,
        no_live: options.no_live,
        timeout: socket.timeout,
        max_response_bytes: options.max_response_bytes,
    };
    let options = crate::mcp::Options::resolve(&flags, |name| std::env::var_os(name))
        .map_err(|error| Failure::usage(error.to_string()))?;
    crate::mcp::run(options)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a command on a runtime of its own with one thread, which is what is fastest here.
fn block_on(command: impl Future<Output = Result<ExitCode, Failure>>) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let status = runtime.block_on(command);
    // A thread that waits for standard input cannot be joined.
    runtime.shutdown_background();
    status
}

/// Logs to stderr what `MUXWIRE_LOG` asks for; rmcp, which would log arguments, is left out.
fn log_to_stderr() {
    use tracing_subscriber::EnvFilter;
    let Ok(wanted) = std::env::var("MUXWIRE_LOG") else { return };
    let Ok(filter) = EnvFilter::try_new(format!("{wanted},rmcp=off")) else { return };
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_timeout_of_0_is_none_and_nonsense_is_refused() {
        assert_eq!(seconds("0".as_ref()), Some(None));
        assert_eq!(seconds("0.5".as_ref()), Some(Some(Duration::from_millis(500))));
        for text in ["", "x", "-1", "nan", "inf", "86401"] {
            assert_eq!(seconds(text.as_ref()), None, "{text}");
        }
    }
}
