//! Starting a server where none is.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command as Process;

use super::{Delivery, Error, ErrorKind, Tmux};
use crate::protocol::Command;

/// Server option that holds the marker of the process that started the server.
const MARKER_OPTION: &str = "@muxwire-marker";
/// Variable that hands the marker over to the server.
const MARKER_VARIABLE: &str = "MUXWIRE_MARKER";
/// How long the binary may take.
const START_DEADLINE: Duration = Duration::from_secs(10);

/// How a server is started.
#[derive(Clone, Debug)]
pub struct StartOptions {
    /// The tmux binary. Default: `tmux`, looked for in `PATH`.
    pub tmux: PathBuf,
    /// A configuration file in place of the shipped settings. Default: none.
    pub config: Option<PathBuf>,
}

impl Default for StartOptions {
    fn default() -> Self {
        Self { tmux: PathBuf::from("tmux"), config: None }
    }
}

/// How [`Tmux::start_server`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// This call started the server: its marker was read back.
    Ours,
    /// A server was there, or another process started one first.
    Theirs,
}

impl Tmux {
    /// Starts a server on this socket unless one answers there.
    ///
    /// Runs the tmux binary, the only place that does. The shipped settings keep a server without
    /// sessions or clients alive (`exit-empty off`, `exit-unattached off`) and its panes' history
    /// long (50 000 lines); no configuration of the user's is read. A random marker is handed over
    /// in the server's environment, kept in the server option `@muxwire-marker` and taken out of
    /// the environment again; reading it back proves which process started the server.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::StartFailed`] with tmux's words; the errors of [`run`](Self::run).
    ///
    /// # Cancel safety
    ///
    /// Dropped, the binary is killed; a server may have been started.
    ///
    /// # Wire
    ///
    /// `protocol-notes/05-socket.md`, note 5.5.
    pub async fn start_server(&self, options: &StartOptions) -> Result<Started, Error> {
        match self.server().await {
            Ok(_) => return Ok(Started::Theirs),
            Err(error) if error.kind() == ErrorKind::NoServer => {}
            Err(error) => return Err(error),
        }
        let marker = format!("{:032x}", super::nonce::fresh_bits()?);
        self.run_binary(options, &marker).await?;
        let list = Command::new("show-options").args(["-s", "-v", "-q", MARKER_OPTION]);
        let output = self.run(list).await?;
        let ours = output.stdout.trim_ascii_end() == marker.as_bytes();
        Ok(if ours { Started::Ours } else { Started::Theirs })
    }

    async fn run_binary(&self, options: &StartOptions, marker: &str) -> Result<(), Error> {
        let fail = |delivery, why: &str| Error::start_failed(&options.tmux, delivery, why);
        let config = options.config.clone().unwrap_or_else(|| PathBuf::from("/dev/null"));
        let mut process = Process::new(&options.tmux);
        process.arg("-S").arg(self.path()).arg("-f").arg(config);
        // Another process may win the race: only a server that has this call's marker in its own
        // environment is this call's to set up.
        let ours = format!("#{{==:#{{{MARKER_VARIABLE}}},{marker}}}");
        let settings = settings(marker, options.config.is_none());
        process.args(["start-server", ";", "if-shell", "-F", &ours, &settings]);
        process.env(MARKER_VARIABLE, marker).env_remove("TMUX").env_remove("TMUX_PANE");
        process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        process.kill_on_drop(true);
        if let Some(directory) = self.path().parent().filter(|parent| !parent.exists()) {
            self.make_socket_directory(directory)?;
        }
        let child = process.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                fail(Delivery::NotSent, "there is no such program; install tmux")
            }
            _ => fail(Delivery::NotSent, &error.to_string()),
        })?;
        let fail = |why: &str| fail(Delivery::PossiblySent, why);
        match tokio::time::timeout(START_DEADLINE, child.wait_with_output()).await {
            Err(_) => Err(fail("it did not end within 10 s")),
            Ok(Err(error)) => Err(fail(&error.to_string())),
            Ok(Ok(output)) if output.status.success() => Ok(()),
            Ok(Ok(output)) => Err(fail(String::from_utf8_lossy(&output.stderr).trim_end())),
        }
    }

    /// Makes the user's own socket directory, as `tmux -L` would; a path that was given is left
    /// to whoever gave it.
    fn make_socket_directory(&self, directory: &std::path::Path) -> Result<(), Error> {
        use std::os::unix::fs::DirBuilderExt;
        if self.endpoint().provenance() == crate::transport::Provenance::Path {
            let message = format!("the directory {} does not exist; make it", directory.display());
            return Err(Error::new(ErrorKind::StartFailed, Delivery::NotSent, message));
        }
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(directory)
            .map_err(|error| Error::start_failed(directory, Delivery::NotSent, &error.to_string()))
    }
}

/// What a server is told that this process started.
fn settings(marker: &str, shipped: bool) -> String {
    let mut settings = String::from("set-option -s exit-empty off");
    if shipped {
        settings += " ; set-option -s exit-unattached off ; set-option -g history-limit 50000";
    }
    settings
        + &format!(" ; set-option -s {MARKER_OPTION} {marker}")
        + &format!(" ; set-environment -g -u {MARKER_VARIABLE}")
}
