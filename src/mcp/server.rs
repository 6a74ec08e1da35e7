//! The handler that rmcp calls: who we are, which tools there are, and each call on its way.

use super::answer::render;
use super::call::{Call, Context, Progress};
use super::failure::{Code, Delivery, Failure};
use super::message::RawArguments;
use super::resources;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, InitializeRequestParams,
    InitializeResult, ListResourceTemplatesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use std::sync::Arc;

/// What an agent is told before it calls anything. At most 1 900 characters.
const INSTRUCTIONS: &str = include_str!("instructions.txt");

/// The MCP server over one context.
#[derive(Debug)]
pub(crate) struct Server(Arc<Context>);

impl Server {
    /// A server that has contacted nothing.
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self(context)
    }

    /// Runs one call until it ends, is cancelled, or the process ends.
    async fn call(
        &self,
        request: &CallToolRequestParams,
        request_context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(entry) = self.0.catalogue.find(&request.name) else {
            return Err(ErrorData::invalid_params(
                "unknown tool; tools/list names those that there are",
                None,
            ));
        };
        let arguments = match request_context.extensions.get::<RawArguments>() {
            Some(RawArguments(text)) => Arc::clone(text),
            None => {
                return Err(ErrorData::internal_error(
                    "the arguments did not come with the request",
                    None,
                ));
            }
        };
        let progress = request_context
            .meta
            .get_progress_token()
            .map(|token| Progress { peer: request_context.peer.clone(), token });
        let call = Call::new(Arc::clone(&self.0), progress);
        let outcome = tokio::select! {
            outcome = call.run(entry, &arguments) => outcome,
            () = request_context.ct.cancelled() => Err(self.cancelled()),
        };
        let limit = self.0.options.max_response_bytes;
        Ok(CallToolResponse::Complete(render(outcome, entry.tool.reads_only(), limit)))
    }

    /// A list, which waits for the private server no longer than a call would.
    async fn in_time<T>(&self, list: impl Future<Output = T>) -> Result<T, ErrorData> {
        tokio::time::timeout(self.0.options.timeout, list).await.map_err(|_| {
            ErrorData::internal_error(
                "the private tmux server is still being started; ask again in a moment",
                None,
            )
        })
    }

    /// Why a call was cut off: rmcp cancels it for the client, and all of them when the service ends.
    fn cancelled(&self) -> Failure {
        let message = if self.0.stop.is_cancelled() {
            "This MCP server is ending."
        } else {
            "The client cancelled the call."
        };
        Failure::new(Code::Cancelled, message).delivery(Delivery::PossiblySent)
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("muxwire", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let result = self.negotiate_initialize(&request)?;
        // Later requests are read by the version that was agreed on, not by the one that was asked for.
        let mut peer = request;
        peer.protocol_version = result.protocol_version.clone();
        context.peer.set_peer_info(peer);
        Ok(result)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        one_page(request)?;
        let enabled = async {
            let mut tools = Vec::new();
            for entry in self.0.catalogue.iter() {
                if self.0.enables(entry.tool).await {
                    tools.push(entry.publish());
                }
            }
            tools
        };
        let tools = self.in_time(enabled).await?;
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(&request, &context).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        one_page(request)?;
        let templates = self.in_time(resources::templates(&self.0)).await?;
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let call = Call::new(Arc::clone(&self.0), None);
        let read = call.in_time(resources::read(&call, &request.uri));
        let outcome = tokio::select! {
            outcome = read => outcome.unwrap_or_else(|late| Err(late.into())),
            () = context.ct.cancelled() => Err(self.cancelled().into()),
        };
        outcome.map(ReadResourceResponse::Complete).map_err(resources::error)
    }
}

/// Everything is on one page.
fn one_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|page| page.cursor) {
        None => Ok(()),
        Some(_) => {
            Err(ErrorData::invalid_params("all is on one page; no cursor was given out", None))
        }
    }
}
