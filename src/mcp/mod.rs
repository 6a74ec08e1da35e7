//! The MCP server: what an agent sees of muxwire.
//!
//! A line comes in through the transport (`lines`, `message`, `inflight`, `transport`), rmcp hands it to the handler
//! (`server`), the handler finds the tool in the table (`catalogue`, `tools`), reads the arguments by the tool's schema
//! (`schema`, `arguments`) and runs the body (`call`), which asks tmux (`reach`) and shows what it saw (`views`); the
//! outcome becomes an envelope (`answer`, `failure`, `mapping`). Metadata is cut into pages (`metadata`, `page_cursor`) of
//! captures that are kept for a while (`retention`), and so is what is known of panes, for reading on (`places`). Some answers can be read by URI as well (`resources`, `uri`). References are good for one server instance (`binding`).
//! Nothing is contacted before the first request that needs it.

mod answer;
mod arguments;
mod binding;
mod call;
mod caller;
mod catalogue;
mod failure;
mod inflight;
mod lines;
mod mapping;
mod message;
mod metadata;
mod options;
pub(crate) mod page_cursor;
mod places;
mod reach;
mod resources;
mod retention;
mod schema;
mod server;
mod stdio;
mod tools;
mod transport;
pub(crate) mod uri;
mod views;

#[cfg(test)]
mod tests;

pub use options::{Flags, Options, Selection, Socket, StartError};

use call::Context;
use catalogue::Catalogue;
use rmcp::service::serve_directly_with_ct;
use server::Server;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use transport::LineTransport;

/// How long calls may go on after the client has closed its side.
const GRACE: Duration = Duration::from_millis(500);
/// How long cancelled calls may take to say so.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Serves MCP on standard input and output until the client closes them or the process is told to end, on a runtime of
/// its own with one thread.
///
/// # Errors
/// When the runtime or the signal handlers cannot be set up.
pub fn run(options: Options) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(serve(options));
    // A thread that waits for a terminal's next line cannot be joined.
    runtime.shutdown_background();
    result
}

/// Serves MCP on standard input and output. Ends within a second of end of file, SIGTERM or SIGINT, calls in flight
/// included.
///
/// # Errors
/// When the signal handlers cannot be set up.
///
/// # Cancel safety
/// Dropping the future ends the service; answers that were not written are lost.
pub async fn serve(options: Options) -> io::Result<()> {
    let (mut term, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let told_to_end = async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let context = Arc::new(Context::new(options, Catalogue::standard(), tools::prepare));
    serve_on(context, stdio::input(), stdio::output(), told_to_end).await;
    Ok(())
}

/// Serves over any two streams, until they close or `told_to_end` is ready.
///
/// rmcp's two-phase start is not used: it ends the session when anything but a request comes before `initialize`. Served
/// directly, every request is answered at any time, `initialize` included.
async fn serve_on(
    context: Arc<Context>,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    told_to_end: impl Future<Output = ()>,
) {
    let (gone, end) = (CancellationToken::new(), CancellationToken::new());
    let transport = LineTransport::new(input, output, gone.clone());
    let server = Server::new(Arc::clone(&context));
    let running = serve_directly_with_ct(server, transport, None, end.clone());
    let waiting = running.waiting();
    tokio::pin!(waiting);
    let grace_is_over = async {
        gone.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        _ = &mut waiting => return,
        () = grace_is_over => {}
        () = told_to_end => {}
    }
    context.stop.cancel();
    end.cancel();
    let _ = tokio::time::timeout(LAST_WORDS, waiting).await;
}
