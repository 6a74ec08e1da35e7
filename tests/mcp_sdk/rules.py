"""What agent hosts ask of schemas and answers, checked from what the client sees and nothing of muxwire's own."""

import json

from jsonschema import Draft202012Validator

WITH_OUTPUT_SCHEMA = {"tmux_snapshot", "snapshot_pane", "capture_since"}
# Tools of the set "inspect", which read and do nothing else.
READ_ONLY = {
    "tmux_capabilities", "tmux_snapshot", "list_sessions", "list_windows", "list_panes", "get_server_info",
    "get_session_info", "get_window_info", "get_pane_info", "find_pane_by_position", "capture_pane", "capture_since",
    "snapshot_pane", "search_panes", "observe", "get_tmux_variables", "show_option", "show_environment", "show_hooks",
    "wait_for_text", "call_read_tools_batch",
}
CODES = {
    "invalid_input", "invalid_filter", "not_found", "stale_target", "stale_cursor", "capacity", "deadline",
    "cancelled", "refused", "policy_denied", "preflight_refused", "busy", "no_shell", "no_stream",
    "incomplete_snapshot", "decode_error", "unsupported", "server_gone", "no_server", "transport_error",
}
# Tools whose text block is what a terminal shows: the field that holds its rows, and facts that follow them.
TERMINAL = {
    "capture_pane": ("content", ("cursor", "truncated", "lines_dropped")),
    "snapshot_pane": ("content", ("cursor", "truncated", "lines_dropped")),
    "capture_since": ("lines", ("cursor", "lines_missed", "truncated", "truncated_lines")),
}
FORBIDDEN = {"oneOf", "anyOf", "allOf", "not", "if", "then", "else", "$ref", "$defs", "definitions", "$dynamicRef"}


def schema_faults(schema, path="$"):
    """The rules that a schema breaks."""
    if not isinstance(schema, dict):
        yield f"{path} is not an object"
        return
    if path == "$":
        meta = Draft202012Validator(Draft202012Validator.META_SCHEMA)
        for error in meta.iter_errors(schema):
            yield f"is no JSON Schema: {error.message}"
    for word in FORBIDDEN & schema.keys():
        yield f"{path} has {word}"
    if "type" in schema and not isinstance(schema["type"], str):
        yield f"{path} has a type that is not one word"
    if str(schema.get("format", "")).startswith("uint"):
        yield f"{path} has format {schema['format']}"
    if path == "$":
        if schema.get("type") != "object":
            yield "$ is not of type object"
        if "properties" not in schema:
            yield "$ has no properties"
    if "properties" in schema:
        if schema.get("additionalProperties") is not False:
            yield f"{path} is open"
        for name, inner in schema["properties"].items():
            if not str(inner.get("description", "")).strip():
                yield f"{path}.{name} is not described"
            if "properties" in inner:
                yield f"{path}.{name} is an object in an object"
            yield from schema_faults(inner, f"{path}.{name}")
        for name in schema.get("required", []):
            if name not in schema["properties"]:
                yield f"{path} requires {name}, which it does not have"
    if schema.get("type") == "array":
        yield from schema_faults(schema.get("items"), f"{path}[]")


def tool_faults(tool):
    """The rules that a listed tool breaks."""
    yield from schema_faults(tool.input_schema)
    if (tool.output_schema is not None) != (tool.name in WITH_OUTPUT_SCHEMA):
        yield "publishes an output schema where it should not, or none where it should"
    if tool.output_schema is not None:
        yield from schema_faults(tool.output_schema)
    hints = tool.annotations
    if tool.name in READ_ONLY:
        shown = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
        if shown != (True, False, True, False):
            yield f"reads only and is annotated {shown}"
    elif hints.read_only_hint is not False:
        yield "changes something and is annotated as reading only"
    if not tool.title or not tool.description:
        yield "has no title or no description"


def answer_faults(tool, result):
    """The rules that the answer of a call breaks."""
    body = result.structured_content
    if not isinstance(body, dict) or not isinstance(body.get("ok"), bool):
        yield "has no structuredContent with ok"
        return
    if body["ok"] is bool(result.is_error):
        yield "disagrees with itself: ok and isError"
    if [block.type for block in result.content] != ["text"]:
        yield "does not have one text block"
        return
    if tool.output_schema is not None:
        for error in Draft202012Validator(tool.output_schema).iter_errors(body):
            yield f"does not fit its schema: {error.message}"
    text = result.content[0].text
    if body["ok"]:
        yield from success_faults(tool.name, body, text)
    else:
        yield from error_faults(body, text)


def success_faults(name, body, text):
    # A splice of the screen is no text of a terminal.
    if name in TERMINAL and "splice" not in body:
        field, told = TERMINAL[name]
        *shown, facts = text.split("\n")
        if shown != body[field]:
            yield "shows other rows in its text than in its fields"
        if not facts.startswith("[muxwire] "):
            yield "does not end its text with a line of facts"
        for field in told:
            if f" {field}=" not in facts:
                yield f"leaves {field} out of its text"
    elif json.loads(text) != body:
        yield "shows other JSON in its text than in its fields"
    if name.startswith("list_") and body["count"] != len(body["rows"]):
        yield "counts its rows wrongly"


def error_faults(body, text):
    if body.keys() != {"ok", "error"}:
        yield f"is an error with the fields {sorted(body)}"
    error = body["error"]
    if error["code"] not in CODES:
        yield f"has the unknown code {error['code']}"
    if error["delivery"] not in {"not_sent", "possibly_sent", "observed"}:
        yield f"has the unknown delivery {error['delivery']}"
    if not isinstance(error["retryable"], bool):
        yield "does not say whether it may be tried again"
    if not error["message"] or text != error["message"]:
        yield "does not have its message as its text"
