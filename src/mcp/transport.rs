//! The transport under rmcp: one JSON-RPC message a line, over any pair of streams.
//!
//! Against rmcp's own it answers malformed lines, bounds memory, keeps the arguments of a call as they were spelt,
//! watches over request ids, and tells when the client has gone.

use super::inflight::{InFlight, NotTaken};
use super::lines::{Line, Lines};
use super::message::{self, INVALID_REQUEST, Incoming, Refusal};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, GetExtensions, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The longest line that is read, in bytes.
pub(crate) const MAX_LINE: usize = 4 * 1024 * 1024;
/// The server will not take on more at present.
const OVERLOADED: i32 = -32000;

/// Lines in, lines out.
#[derive(Debug)]
pub(crate) struct LineTransport<R, W> {
    lines: Lines<R>,
    output: Arc<Output<W>>,
    requests: InFlight,
    /// An error answer on its way out; the next line is read after it, so that these never pile up.
    refusal: Option<JoinHandle<()>>,
}

/// The writing half. Whole messages only, one after another.
#[derive(Debug)]
struct Output<W> {
    stream: Mutex<Option<W>>,
    gone: CancellationToken,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    /// A transport over two streams. `gone` is cancelled when the client has closed either of them.
    pub(crate) fn new(input: R, output: W, gone: CancellationToken) -> Self {
        Self {
            lines: Lines::new(input, MAX_LINE),
            output: Arc::new(Output { stream: Mutex::new(Some(output)), gone }),
            requests: InFlight::default(),
            refusal: None,
        }
    }
}

impl<W: AsyncWrite + Unpin> Output<W> {
    /// Writes one message with one write where the stream takes it whole, and flushes.
    async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stream = self.stream.lock().await;
        let Some(stream) = stream.as_mut() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let result = match stream.write_all(bytes).await {
            Ok(()) => stream.flush().await,
            failed => failed,
        };
        if result.is_err() {
            self.gone.cancel();
        }
        result
    }
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    /// Sends an error answer from a task of its own, so that a dropped `receive` does not cut it in half.
    fn refuse(&mut self, refusal: &Refusal) {
        let bytes = refusal.line();
        let output = Arc::clone(&self.output);
        self.refusal = Some(tokio::spawn(async move {
            let _ = output.write(&bytes).await;
        }));
    }

    /// A message for rmcp, or none when the line is dealt with here.
    fn accept(&mut self, line: &[u8]) -> Option<RxJsonRpcMessage<RoleServer>> {
        match message::read(line) {
            Incoming::Nothing => None,
            Incoming::Refused(refusal) => {
                self.refuse(&refusal);
                None
            }
            Incoming::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &*notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.requests.cancelled(id);
                }
                Some(ClientJsonRpcMessage::notification(*notification))
            }
            Incoming::Request(id, mut request) => match self.requests.begin(&id, line.len()) {
                Ok(ticket) => {
                    request.extensions_mut().insert(ticket);
                    Some(ClientJsonRpcMessage::request(*request, id))
                }
                Err(why) => {
                    self.refuse(&Refusal::not_taken(id, why));
                    None
                }
            },
        }
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let id = answered_id(&item);
        let line = line_of(&item);
        if let (Some(id), Ok(line)) = (&id, &line) {
            self.requests.answer_waits(id, line.len());
        }
        let (output, requests) = (Arc::clone(&self.output), self.requests.clone());
        async move {
            let result = match line {
                Ok(line) => output.write(&line).await,
                Err(error) => Err(error),
            };
            if let Some(id) = id {
                requests.answered(&id);
            }
            result
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // Polled in place: dropping `receive` here leaves the handle for the next call.
            if let Some(refusal) = self.refusal.as_mut() {
                let _ = refusal.await;
                self.refusal = None;
            }
            match self.lines.next().await {
                Ok(Line::Whole(line)) => {
                    if let Some(message) = self.accept(&line) {
                        return Some(message);
                    }
                }
                Ok(Line::TooLong) => self.refuse(&Refusal {
                    id: None,
                    code: INVALID_REQUEST,
                    message: "the line is longer than 4 MiB; it was skipped",
                }),
                Ok(Line::End) | Err(_) => {
                    self.output.gone.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        match self.output.stream.lock().await.take() {
            Some(mut stream) => stream.shutdown().await,
            None => Ok(()),
        }
    }
}

/// The request that a message answers.
fn answered_id(message: &TxJsonRpcMessage<RoleServer>) -> Option<RequestId> {
    match message {
        TxJsonRpcMessage::<RoleServer>::Response(response) => Some(response.id.clone()),
        TxJsonRpcMessage::<RoleServer>::Error(error) => error.id.clone(),
        _ => None,
    }
}

/// A message as a line.
fn line_of(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

impl Refusal {
    fn not_taken(id: RequestId, why: NotTaken) -> Self {
        let (code, message) = match why {
            NotTaken::IdInUse => {
                (INVALID_REQUEST, "the id belongs to a request that is not answered yet")
            }
            NotTaken::Full => {
                (OVERLOADED, "too many requests are unanswered; wait for some of them")
            }
        };
        // The id of the request that owns it must not be answered twice.
        let id = (why != NotTaken::IdInUse).then_some(id);
        Self { id, code, message }
    }

    /// The answer as a line; JSON-RPC wants `"id": null` where rmcp would leave the field out.
    fn line(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Answer<'a> {
            jsonrpc: &'static str,
            id: Option<&'a RequestId>,
            error: ErrorData,
        }
        let error = ErrorData::new(ErrorCode(self.code), self.message, None);
        line_of(&Answer { jsonrpc: "2.0", id: self.id.as_ref(), error }).unwrap_or_default()
    }
}
