//! How a tool call succeeds: the fields, and the text for clients that show only text.

use super::failure::{Code, Delivery, Failure};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::io;

/// The fields of a successful call, and how they read as text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    fields: Map<String, Value>,
    text: Text,
}

/// What the text block holds.
#[derive(Debug, Clone, PartialEq)]
enum Text {
    /// The same JSON.
    Json,
    /// The rows of one field as plain text, then one line with these other fields.
    Terminal { rows: &'static str, facts: &'static [&'static str] },
    /// This, in a result of `size` bytes.
    Written { text: String, size: usize },
}

impl Answer {
    /// `{ok: true}`, to be filled.
    pub(crate) fn new() -> Self {
        let mut fields = Map::new();
        fields.insert("ok".into(), true.into());
        Self { fields, text: Text::Json }
    }

    /// `{ok: true, …}` with the fields of a struct.
    ///
    /// # Errors
    /// A `decode_error` when it has no JSON form.
    pub(crate) fn of(fields: &impl Serialize) -> Result<Self, Failure> {
        let mut answer = Self::new();
        match serde_json::to_value(fields) {
            Ok(Value::Object(more)) => answer.fields.extend(more),
            _ => return Err(Failure::new(Code::DecodeError, "The answer has no JSON form.")),
        }
        Ok(answer)
    }

    /// `{ok: true, data: …}`, the shape of `tmux_capabilities` and `tmux_snapshot`.
    pub(crate) fn data(data: impl Into<Value>) -> Self {
        Self::new().field("data", data)
    }

    /// Sets a field.
    pub(crate) fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// Sets a field from anything that serialises.
    ///
    /// # Errors
    /// A `decode_error` when the value has no JSON form.
    pub(crate) fn serialized(self, name: &str, value: &impl Serialize) -> Result<Self, Failure> {
        let value = serde_json::to_value(value)
            .map_err(|_| Failure::new(Code::DecodeError, format!("{name} has no JSON form")))?;
        Ok(self.field(name, value))
    }

    /// Makes the text block the rows of the field `rows` and then one line with the fields `facts`.
    pub(crate) fn terminal(mut self, rows: &'static str, facts: &'static [&'static str]) -> Self {
        self.text = Text::Terminal { rows, facts };
        self
    }

    /// The same, written, if it is not larger than answers may be. It is not to be changed any more.
    ///
    /// # Errors
    /// `capacity`, as the call would end.
    pub(crate) fn within(self, limit: usize) -> Result<Self, Failure> {
        let (fields, text, size) = self.written();
        if size > limit {
            return Err(too_large(size, limit));
        }
        Ok(Self { fields, text: Text::Written { text, size } })
    }

    /// The envelope as JSON, as it stands inside a batch.
    pub(crate) fn body(self) -> Value {
        Value::Object(self.fields)
    }

    fn json(&self) -> String {
        serde_json::to_string(&self.fields).unwrap_or_default()
    }

    /// The fields, the text block, and how many bytes the result has with both.
    fn written(self) -> (Map<String, Value>, String, usize) {
        let (text, body) = match self.text {
            Text::Written { text, size } => return (self.fields, text, size),
            Text::Json => {
                let text = self.json();
                let body = text.len();
                (text, body)
            }
            Text::Terminal { rows, facts } => {
                (terminal(&self.fields, rows, facts), size_of(&self.fields))
            }
        };
        let empty = size_of(&CallToolResult::success(vec![ContentBlock::text("")]));
        // What is around both, and the text as a JSON string, which brings its own quotes.
        let size = empty + ",\"structuredContent\":".len() + body + size_of(&text) - "\"\"".len();
        (self.fields, text, size)
    }
}

fn terminal(fields: &Map<String, Value>, rows: &str, facts: &[&str]) -> String {
    let mut text = String::new();
    for row in fields.get(rows).and_then(Value::as_array).into_iter().flatten() {
        text.push_str(row.as_str().unwrap_or_default());
        text.push('\n');
    }
    text.push_str("[muxwire]");
    for name in facts {
        let _ = match fields.get(*name) {
            None => Ok(()),
            Some(Value::String(value)) => write!(text, " {name}={value}"),
            Some(value) => write!(text, " {name}={value}"),
        };
    }
    text
}

/// The result of a call as MCP wants it. An answer over `limit` bytes becomes `capacity`.
pub(crate) fn render(
    outcome: Result<Answer, Failure>,
    reads_only: bool,
    limit: usize,
) -> CallToolResult {
    let (fields, text, size) = match outcome {
        Ok(answer) => answer.written(),
        Err(failure) => return render_failure(&failure, reads_only),
    };
    if size > limit {
        return render_failure(&too_large(size, limit), reads_only);
    }
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(Value::Object(fields));
    result
}

fn too_large(size: usize, limit: usize) -> Failure {
    let message = format!(
        "The answer would be {size} bytes, over the limit of {limit}; ask for less (fewer lines, one session, a smaller page)."
    );
    Failure::new(Code::Capacity, message).delivery(Delivery::Observed)
}

fn render_failure(failure: &Failure, reads_only: bool) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(failure.message.as_str())]);
    result.structured_content = Some(failure.body(reads_only));
    result
}

/// How many bytes a value takes as JSON, without making them.
pub(crate) fn size_of(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(result: &CallToolResult) -> String {
        result.content[0].as_text().unwrap().text.clone()
    }

    #[test]
    fn metadata_reads_as_the_same_json() {
        let result = render(Ok(Answer::new().field("count", 2)), true, 1000);
        assert_eq!(result.structured_content, Some(json!({"ok": true, "count": 2})));
        assert_eq!(text(&result), r#"{"ok":true,"count":2}"#);
        assert_eq!(result.is_error, Some(false));
        assert_eq!(Answer::data(json!({"a": 1})).body(), json!({"ok": true, "data": {"a": 1}}));
    }

    #[test]
    fn terminal_text_is_plain_and_ends_in_one_line_of_facts() {
        let answer = Answer::new()
            .field("pane_id", "%1")
            .field("content", json!(["$ ls", "a \"b\""]))
            .field("lines_dropped", 3)
            .terminal("content", &["pane_id", "lines_dropped", "absent"]);
        assert_eq!(
            text(&render(Ok(answer), true, 1000)),
            "$ ls\na \"b\"\n[muxwire] pane_id=%1 lines_dropped=3"
        );
    }

    #[test]
    fn a_failure_is_marked_and_its_text_is_the_message() {
        let result = render(Err(Failure::invalid("no")), true, 1000);
        assert_eq!((result.is_error, text(&result).as_str()), (Some(true), "no"));
        assert_eq!(result.structured_content.unwrap()["error"]["code"], "invalid_input");
    }

    #[test]
    fn an_answer_over_the_limit_is_capacity_and_nothing_partial() {
        let answer = Answer::new().field("a", "x\"é\n".repeat(25));
        let size = size_of(&render(Ok(answer.clone()), true, usize::MAX));
        let within = |limit| answer.clone().within(limit).map(|_| ()).map_err(|it| it.code);
        assert_eq!((within(size), within(size - 1)), (Ok(()), Err(Code::Capacity)));
        let whole = render(Ok(answer.clone()), true, size);
        assert_eq!(serde_json::to_vec(&whole).unwrap().len(), size);
        assert_eq!(whole.is_error, Some(false));
        let cut = render(Ok(answer), true, size - 1);
        assert_eq!(cut.structured_content.unwrap()["error"]["code"], "capacity");
    }
}
