//! A private server for measuring and showing.

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

use super::Failure;
use crate::client::{StartOptions, Tmux};
use crate::model::PaneId;
use crate::protocol::Command;

/// A shell that reads no configuration and shows a prompt that is known.
pub(super) const PLAIN_SHELL: [&str; 4] = ["env", "PS1=$ ", "ENV=", "sh"];
/// How often the end of a server is looked for, every 10 ms.
const END_TRIES: usize = 100;

/// A server in a directory of its own.
#[derive(Debug)]
pub(super) struct PrivateServer {
    pub(super) tmux: Tmux,
    _directory: TempDir,
}

/// Starts a private server with the binary at `binary`, runs `body` and ends the server, however
/// `body` ends: an interrupt or SIGTERM ends it too.
pub(super) async fn with_server<T>(
    binary: &Path,
    body: impl AsyncFnOnce(&PrivateServer) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let server = PrivateServer::start(binary).await?;
    let result = tokio::select! {
        result = body(&server) => result,
        _ = interrupt.recv() => Err(Failure::new(130, "interrupted")),
        _ = terminate.recv() => Err(Failure::new(143, "terminated")),
        _ = hang_up.recv() => Err(Failure::new(129, "hung up")),
    };
    server.end().await;
    result
}

impl PrivateServer {
    async fn start(binary: &Path) -> Result<Self, Failure> {
        let directory = tempfile::Builder::new().prefix("muxwire-").tempdir()?;
        let tmux = Tmux::builder().socket_path(directory.path().join("socket")).build()?;
        let server = Self { tmux, _directory: directory };
        let options = StartOptions { tmux: binary.to_owned(), config: None };
        if let Err(error) = server.tmux.start_server(&options).await {
            // It may be up all the same.
            server.end().await;
            return Err(error.into());
        }
        Ok(server)
    }

    /// Makes a session of one window with a plain shell; gives the pane's id.
    pub(super) async fn session(&self, name: &str) -> Result<PaneId, Failure> {
        let command = Command::new("new-session")
            .args(["-d", "-P", "-F", "#{pane_id}", "-s", name, "-x", "80", "-y", "24"])
            .args(PLAIN_SHELL);
        let output = self.tmux.run(command).await?.ok()?;
        PaneId::parse(output.stdout.trim_ascii_end())
            .map_err(|_| Failure::new(5, "tmux did not give the new pane's id"))
    }

    /// Ends the server and waits until it is gone, so that nothing is left.
    async fn end(self) {
        for _ in 0..END_TRIES {
            // The first of these ends it; one that fails says that it is gone.
            if self.tmux.run(["kill-server"]).await.is_err() && self.tmux.server().await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
