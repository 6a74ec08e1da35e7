//! One line of input turned into a JSON-RPC message, or into the reason why it is none.
//!
//! rmcp's own reading is not used for the outer shape: it answers nothing to malformed JSON, calls a known method
//! with wrong parameters "not found", and its decoded map has lost duplicate keys and the spelling of numbers. The
//! arguments of a tool call are kept as the text that the client sent.

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientNotification, ClientRequest, GetExtensions,
    JsonObject, RequestId, RequestMetaObject,
};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Malformed JSON.
pub(crate) const PARSE_ERROR: i32 = -32700;
/// JSON, but not a JSON-RPC message.
pub(crate) const INVALID_REQUEST: i32 = -32600;
/// A known method whose parameters do not fit it.
pub(crate) const INVALID_PARAMS: i32 = -32602;

/// What a line is.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A request. A `tools/call` carries its [`RawArguments`] as an extension.
    Request(RequestId, Box<ClientRequest>),
    /// A notification.
    Notification(Box<ClientNotification>),
    /// Nothing to act on: a blank line, an answer to a question that we never asked, an unreadable notification.
    Nothing,
    /// To be answered with this error.
    Refused(Refusal),
}

/// A JSON-RPC error to send at once. The text never holds anything that the client sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    /// The request's id where it could be read, else null.
    pub(crate) id: Option<RequestId>,
    /// The JSON-RPC code.
    pub(crate) code: i32,
    /// What is wrong.
    pub(crate) message: &'static str,
}

/// The arguments of a tool call as the client spelt them.
#[derive(Debug, Clone)]
pub(crate) struct RawArguments(pub(crate) Arc<str>);

/// Methods that rmcp reads into types of their own: one that arrives untyped had parameters that do not fit.
const TYPED_METHODS: &[&str] = &[
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "server/discover",
    "subscriptions/listen",
    "tools/list",
];

/// The outer fields, each as it was spelt.
#[derive(Deserialize)]
struct Outer<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// `params` of `tools/call`.
#[derive(Deserialize)]
struct CallParams<'a> {
    name: String,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(rename = "_meta", default)]
    meta: Option<JsonObject>,
}

/// A field that is there, even when it is null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one line.
pub(crate) fn read(line: &[u8]) -> Incoming {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Incoming::Nothing;
    }
    let Ok(text) = std::str::from_utf8(line) else {
        return refused(None, PARSE_ERROR, "the line is not UTF-8");
    };
    match serde_json::from_str::<Outer<'_>>(text) {
        // A derived struct would also read an array, field by field.
        Ok(outer) if text.starts_with('{') => shape(text, &outer),
        Err(error) if error.classify() != Category::Data || !is_json(text) => {
            refused(None, PARSE_ERROR, "the line is not JSON")
        }
        _ if text.starts_with('[') => refused(None, INVALID_REQUEST, "batches are not supported"),
        _ => refused(None, INVALID_REQUEST, "not a JSON-RPC 2.0 message"),
    }
}

/// Whether the whole text is JSON, whatever its shape.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Decides by the fields that are there.
fn shape(text: &str, outer: &Outer<'_>) -> Incoming {
    let id = outer.id.map(|raw| serde_json::from_str::<RequestId>(raw.get()));
    let known = id.as_ref().and_then(|id| id.as_ref().ok()).cloned();
    if outer.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return refused(known, INVALID_REQUEST, "jsonrpc must be \"2.0\"");
    }
    let answers = outer.result.is_some() || outer.error.is_some();
    let Some(method) = outer.method else {
        return if answers {
            Incoming::Nothing
        } else {
            refused(known, INVALID_REQUEST, "a message needs a method, a result or an error")
        };
    };
    let Ok(method) = serde_json::from_str::<String>(method.get()) else {
        return refused(known, INVALID_REQUEST, "method must be a string");
    };
    if answers {
        return refused(known, INVALID_REQUEST, "a message is either a request or an answer");
    }
    match id {
        None => serde_json::from_str(text)
            .map_or(Incoming::Nothing, |n| Incoming::Notification(Box::new(n))),
        Some(Err(_)) => refused(None, INVALID_REQUEST, "id must be a string or an integer"),
        Some(Ok(id)) => request(text, id, &method, outer.params),
    }
}

/// A request, typed by its method.
fn request(text: &str, id: RequestId, method: &str, params: Option<&RawValue>) -> Incoming {
    if method == "tools/call" {
        return tool_call(id, params);
    }
    match serde_json::from_str::<ClientRequest>(text) {
        Ok(ClientRequest::CustomRequest(_)) if TYPED_METHODS.contains(&method) => {
            refused(Some(id), INVALID_PARAMS, "the parameters do not fit the method")
        }
        Ok(request) => Incoming::Request(id, Box::new(request)),
        Err(_) => refused(Some(id), INVALID_PARAMS, "the parameters cannot be read"),
    }
}

/// `tools/call`, with its arguments kept as text.
fn tool_call(id: RequestId, params: Option<&RawValue>) -> Incoming {
    let params = params.map_or("null", RawValue::get);
    let call = match serde_json::from_str::<CallParams<'_>>(params) {
        Ok(call) if params.starts_with('{') => call,
        _ => {
            return refused(
                Some(id),
                INVALID_PARAMS,
                "tools/call needs params with a name and arguments",
            );
        }
    };
    let mut request = CallToolRequest::new(CallToolRequestParams::new(call.name));
    if let Some(meta) = call.meta {
        request.extensions.insert(RequestMetaObject::from(meta));
    }
    let mut request = ClientRequest::CallToolRequest(request);
    let arguments = call.arguments.map_or("{}", RawValue::get);
    request.extensions_mut().insert(RawArguments(arguments.into()));
    Incoming::Request(id, Box::new(request))
}

fn refused(id: Option<RequestId>, code: i32, message: &'static str) -> Incoming {
    Incoming::Refused(Refusal { id, code, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code and the id of the refusal of a line.
    fn refusal(line: &str) -> (i32, Option<RequestId>) {
        match read(line.as_bytes()) {
            Incoming::Refused(refusal) => (refusal.code, refusal.id),
            other => panic!("{line} gave {other:?}"),
        }
    }

    #[test]
    fn malformed_json_is_a_parse_error_wherever_it_breaks() {
        let good = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,"é"]}}}"#;
        assert!(matches!(read(good.as_bytes()), Incoming::Request(..)));
        for end in (1..good.len()).filter(|end| good.is_char_boundary(*end)) {
            assert_eq!(refusal(&good[..end]), (PARSE_ERROR, None), "{end}");
        }
        for bad in ["{", "nonsense", "{\"jsonrpc\":1,]", "{} {}", "{\"a\":NaN}", "[1,"] {
            assert_eq!(refusal(bad), (PARSE_ERROR, None), "{bad}");
        }
        assert!(
            matches!(read(b"{\"method\":\"\xff\"}"), Incoming::Refused(r) if r.code == PARSE_ERROR)
        );
    }

    #[test]
    fn json_that_is_no_message_is_an_invalid_request_and_keeps_a_readable_id() {
        let id = Some(RequestId::Number(5));
        for (line, id) in [
            ("[]", None),
            ("3", None),
            (r#"["2.0",1,"ping"]"#, None),
            (r#"[{"jsonrpc":"2.0","id":5,"method":"ping"}]"#, None),
            ("{}", None),
            (r#"{"jsonrpc":"2.0"}"#, None),
            (r#"{"jsonrpc":"2.0","id":5}"#, id.clone()),
            (r#"{"id":5,"method":"ping"}"#, id.clone()),
            (r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, id.clone()),
            (r#"{"jsonrpc":2.0,"id":5,"method":"ping"}"#, id.clone()),
            (r#"{"jsonrpc":"2.0","id":5,"method":7}"#, id.clone()),
            (r#"{"jsonrpc":"2.0","id":5,"method":"ping","result":{}}"#, id),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, None),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, None),
            (r#"{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}"#, None),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, None),
        ] {
            assert_eq!(refusal(line), (INVALID_REQUEST, id), "{line}");
        }
    }

    #[test]
    fn a_known_method_with_unfit_parameters_is_invalid_params() {
        for line in [
            r#"{"jsonrpc":"2.0","id":5,"method":"initialize"}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":7}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":7}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":["x"]}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":1}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
        ] {
            assert_eq!(refusal(line), (INVALID_PARAMS, Some(RequestId::Number(5))), "{line}");
        }
    }

    #[test]
    fn arguments_keep_their_spelling_and_stay_out_of_the_decoded_request() {
        let line = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","arguments":{"v":1.0,"v":1e0},"_meta":{"progressToken":4}}}"#;
        let Incoming::Request(_, request) = read(line.as_bytes()) else { panic!() };
        let raw = request.extensions().get::<RawArguments>().unwrap();
        assert_eq!(&*raw.0, r#"{"v":1.0,"v":1e0}"#);
        let meta = request.extensions().get::<RequestMetaObject>().unwrap();
        assert!(meta.get_progress_token().is_some());
        let ClientRequest::CallToolRequest(call) = &*request else { panic!() };
        assert!(call.params.arguments.is_none());
    }

    #[test]
    fn answers_blank_lines_and_unreadable_notifications_need_no_reply() {
        for line in [
            "",
            "  \r",
            "\u{feff}",
            r#"{"jsonrpc":"2.0","id":5,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#,
        ] {
            assert!(matches!(read(line.as_bytes()), Incoming::Nothing), "{line}");
        }
        for method in ["notifications/initialized", "notifications/unheard-of", "$/lsp"] {
            let line = format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
            assert!(matches!(read(line.as_bytes()), Incoming::Notification(_)), "{line}");
        }
    }
}
