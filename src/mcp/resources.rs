//! Resources: the answers of two tools, for clients that read by URI.
//!
//! Each belongs to a tool and is offered when that tool is.

use super::answer::size_of;
use super::arguments::Target;
use super::binding::{Place, Reference};
use super::call::{Call, Context};
use super::failure::{Code, Delivery, Failure};
use super::metadata::{PAGE_DEFAULT, Query};
use super::uri::{Subject, Uri};
use crate::capture::CaptureOptions;
use rmcp::model::{ErrorCode, ErrorData, ReadResourceResult, ResourceContents, ResourceTemplate};
use std::sync::Arc;

/// A tool failed; the error is in the data.
const FAILED: ErrorCode = ErrorCode(-32000);

/// A kind of resource.
struct Kind {
    name: &'static str,
    template: &'static str,
    mime_type: &'static str,
    description: &'static str,
    /// The tool that it belongs to.
    tool: &'static str,
}

const METADATA: Kind = Kind {
    name: "tmux_metadata",
    template: "tmux://{endpoint}/{generation}/snapshots/{entity}",
    mime_type: "application/json",
    description: "All sessions, windows, panes, window_links or clients: what tmux_snapshot answers for the entity. endpoint and generation are those of tmux_capabilities.",
    tool: "tmux_snapshot",
};

const PAGE: Kind = Kind {
    name: "tmux_metadata_page",
    template: "tmux://{endpoint}/{generation}/pages/{cursor}",
    mime_type: "application/json",
    description: "The next page of a snapshot, by its next_cursor; tmux is not asked again.",
    tool: "tmux_snapshot",
};

const SCREEN: Kind = Kind {
    name: "tmux_screen",
    template: "tmux://{endpoint}/{generation}/panes/{pane_id}/screen",
    mime_type: "text/plain",
    description: "What a pane shows now. Encode the id: %1 is %251.",
    tool: "capture_pane",
};

/// Why a resource cannot be read.
pub(crate) enum NotRead {
    /// Not a URI of this endpoint.
    BadUri(&'static str),
    /// The tool failed.
    Failed(Failure),
}

impl From<Failure> for NotRead {
    fn from(failure: Failure) -> Self {
        match failure.code {
            Code::InvalidInput => Self::BadUri("the URI holds a malformed cursor"),
            _ => Self::Failed(failure),
        }
    }
}

/// The templates of the resources that are offered.
pub(crate) async fn templates(context: &Arc<Context>) -> Vec<ResourceTemplate> {
    let mut templates = Vec::new();
    for kind in [METADATA, PAGE, SCREEN] {
        if context.offers(kind.tool).await {
            let template = ResourceTemplate::new(kind.template, kind.name);
            let template = template.with_description(kind.description);
            templates.push(template.with_mime_type(kind.mime_type));
        }
    }
    templates
}

/// Reads a resource.
pub(crate) async fn read(call: &Call, uri: &str) -> Result<ReadResourceResult, NotRead> {
    let Some(Uri { endpoint, generation, subject }) = Uri::read(uri) else {
        return Err(NotRead::BadUri(
            "not a URI of this server; resources/templates/list shows their forms, and each component is percent-encoded",
        ));
    };
    if endpoint != call.context.options.endpoint {
        return Err(NotRead::BadUri("the endpoint of the URI is not this server's"));
    }
    let kind = match subject {
        Subject::Snapshot(_) => METADATA,
        Subject::Page(_) => PAGE,
        Subject::Screen(_) => SCREEN,
    };
    if !call.context.offers(kind.tool).await {
        return Err(Failure::not_enabled().into());
    }
    let limit = call.context.options.max_response_bytes;
    let send = |text: String| {
        let contents = ResourceContents::text(text, uri).with_mime_type(kind.mime_type);
        let result = ReadResourceResult::new(vec![contents]);
        if size_of(&result) > limit {
            let message = format!("The resource has more than {limit} bytes; use {}.", kind.tool);
            return Err(Failure::new(Code::Capacity, message).delivery(Delivery::Observed));
        }
        Ok(result)
    };
    let read = match subject {
        Subject::Snapshot(entity) => {
            let query = Query { entity, criteria: None, limit: PAGE_DEFAULT };
            call.first_page(query, Some(generation), |page| send(page.body().to_string())).await?
        }
        Subject::Page(cursor) => {
            let (capture, position) = call.kept(&cursor)?;
            if capture.generation() != generation {
                return Err(Failure::new(
                    Code::StaleCursor,
                    "The cursor is of another server instance than the URI. Query again.",
                )
                .into());
            }
            capture.next_page(position, |page| send(page.body().to_string()))?
        }
        Subject::Screen(id) => {
            let reference = Some(Reference { generation, place: Place::Pane(id) });
            let options = CaptureOptions::default();
            let screen = call.screen(Target { id, reference }, &options).await?.what;
            send(screen.lines.join("\n"))?
        }
    };
    Ok(read)
}

/// The error of the protocol: what is gone is not found, anything else is a failure, and both say what it was.
pub(crate) fn error(why: NotRead) -> ErrorData {
    match why {
        NotRead::BadUri(message) => ErrorData::invalid_params(message, None),
        NotRead::Failed(failure) => {
            let code = match failure.code {
                Code::NotFound | Code::StaleTarget | Code::StaleCursor => {
                    ErrorCode::RESOURCE_NOT_FOUND
                }
                _ => FAILED,
            };
            let mut body = failure.body(true);
            let error = body.get_mut("error").map(serde_json::Value::take);
            ErrorData::new(code, failure.message, error)
        }
    }
}
