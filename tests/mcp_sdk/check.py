"""Calls every tool of `muxwire mcp` through the official SDK, on a private server of each tmux release.

    check.py MUXWIRE TMUX...

Prints what is wrong, a line each, and ends with status 1 if anything is.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import anyio
from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client

import rules

# Arguments with which each tool succeeds; REFS stands for refs that listings gave. A tool that is listed and not here
# is a fault, so that none goes unchecked.
CALLS = {
    "tmux_capabilities": [{}],
    "tmux_snapshot": [
        {"entity": "session"},
        {"entity": "client"},
        {"entity": "window_link", "limit": 1},
        {"entity": "pane", "criteria": {
            "profile": "libtmux-ruby.where", "version": 1, "entity": "pane",
            "where": {"dead": False, "window": {"is": {"panes": {"some": {"active": True}}}}},
        }},
    ],
    "get_server_info": [{}],
    "list_sessions": [{}],
    "list_windows": [{}, {"session_id": "$0"}, {"session_name": "main"}, {"ref": "session"}],
    "list_panes": [{}, {"session_id": "$0"}, {"window_id": "@0"}, {"session_name": "main"}, {"ref": "window"}],
    "get_session_info": [{"session_id": "$0"}, {"ref": "session"}],
    "get_window_info": [{"window_id": "@0"}, {"ref": "window"}],
    "get_pane_info": [{"pane_id": "%0"}, {"ref": "pane"}],
    "capture_pane": [
        {"pane_id": "%0"},
        {"ref": "pane"},
        {"pane_id": "%0", "history": True, "max_lines": 3, "styles": True},
        {"pane_id": "%0", "start": -2, "end": 1},
    ],
    "snapshot_pane": [{"pane_id": "%0"}, {"ref": "pane"}, {"pane_id": "%0", "history": True, "max_lines": 3}],
    "capture_since": [
        {"pane_id": "%0"},
        {"ref": "window"},
        {"session_name": "main", "max_lines": None, "max_bytes": None},
        {"pane_id": "%0", "view": "screen"},
    ],
    "search_panes": [
        {"pattern": "line"},
        {"pattern": r"^line \d+ caf\u00e9$", "regex": True, "match_case": True, "history": True, "limit": 3},
        {"pattern": "green", "ref": "session"},
    ],
    "observe": [{}, {"session_id": "$0"}, {"ref": "session", "timeout": 0.1}],
}
# Values for the tests of strings that spell numbers.
NUMBERS = {"limit": 5, "max_lines": 5, "max_bytes": 50, "start": -1, "end": 3}
PROGRAM = (
    "i=0; while [ $i -lt 40 ]; do printf 'line %s caf\\303\\251\\n' $i; i=$((i+1)); done; "
    "printf '\\033[32mgreen\\033[0m'; exec sleep 100000"
)


def steady(answer):
    """An answer without what tells one call from another."""
    passing = ("capture_id", "interval", "next_cursor", "observation", "elapsed_seconds")
    return {key: value for key, value in answer.get("data", answer).items() if key not in passing}


class Server:
    """A private tmux server of one release."""

    def __init__(self, tmux):
        self.directory = tempfile.TemporaryDirectory(prefix="muxwire-test-")
        self.socket = os.path.join(self.directory.name, "server")
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": self.directory.name, "TMUX_TMPDIR": self.directory.name,
            "TERM": "screen", "LANG": "C.UTF-8", "SHELL": "/bin/sh",
        }
        self.tmux = tmux

    def run(self, *arguments):
        command = [self.tmux, "-u", "-f", "/dev/null", "-S", self.socket, *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, timeout=20, text=True, check=True)
        return done.stdout.rstrip("\n")

    def __enter__(self):
        self.run("new-session", "-d", "-s", "main", "-x", "80", "-y", "24", PROGRAM)
        self.run("split-window", "-d", "-t", "%0", "exec sleep 100000")
        end = time.monotonic() + 20
        while "green" not in self.run("capture-pane", "-p", "-t", "%0"):
            if time.monotonic() > end:
                raise TimeoutError("the pane does not show its program's output")
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        try:
            self.run("kill-server")
        finally:
            self.directory.cleanup()


class Check:
    """One session of the SDK's client, and the faults it found."""

    def __init__(self, session, where):
        self.session, self.where, self.faults, self.calls = session, where, [], 0
        self.tools = {}

    def fault(self, what):
        self.faults.append(f"{self.where}: {what}")

    def expect(self, holds, what):
        if not holds:
            self.fault(what)

    async def call(self, name, arguments):
        """Calls a tool and checks its answer's shape; gives the answer."""
        self.calls += 1
        try:
            result = await self.session.call_tool(name, arguments)
        except (MCPError, RuntimeError) as error:  # the SDK refuses the answer, or was given a JSON-RPC error
            self.fault(f"{name} {arguments} ends in the client with {error}")
            return {"ok": None}
        for fault in rules.answer_faults(self.tools[name], result):
            self.fault(f"{name} {arguments} {fault}")
        return result.structured_content or {"ok": None}

    async def refused(self, name, arguments, code, word=""):
        answer = await self.call(name, arguments)
        error = answer.get("error", {})
        self.expect(
            error.get("code") == code and word in error.get("message", ""),
            f"{name} {arguments} should be {code} and is {answer}",
        )

    async def listing(self):
        listed = (await self.session.list_tools()).tools
        self.tools = {tool.name: tool for tool in listed}
        self.expect(len(self.tools) == len(listed), "a tool is listed twice")
        for tool in listed:
            for fault in rules.tool_faults(tool):
                self.fault(f"the tool {tool.name} {fault}")
        size = sum(len(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in listed)
        self.expect(size <= 30_000, f"tools/list takes {size} bytes")
        self.expect(set(CALLS) == set(self.tools), f"tools and calls differ: {set(CALLS) ^ set(self.tools)}")

    async def refs(self):
        found = {}
        for kind in ("session", "window", "pane"):
            answer = await self.call(f"list_{kind}s", {})
            found[kind] = answer["rows"][0]["ref"]
        return found

    async def every_tool(self):
        refs = await self.refs()
        for name in self.tools.keys() & CALLS.keys():
            for arguments in CALLS[name]:
                if "ref" in arguments:
                    arguments = arguments | {"ref": refs[arguments["ref"]]}
                answer = await self.call(name, arguments)
                self.expect(answer["ok"], f"{name} {arguments} fails: {answer}")
            await self.strictness(name, CALLS[name][0])
            stale = refs["pane"] | {"generation": "0" * 32}
            if "pane_id" in self.tools[name].input_schema["properties"]:
                await self.refused(name, {"ref": stale}, "stale_target")
                await self.refused(name, {"pane_id": "%999"}, "not_found")
                await self.refused(name, {"pane_id": "%01"}, "invalid_input", "pane_id")

    async def strictness(self, name, arguments):
        """Unknown keys are named, numbers may be strings, booleans may not."""
        await self.refused(name, arguments | {"unheard_of": 1}, "invalid_input", "unheard_of")
        for key, schema in self.tools[name].input_schema["properties"].items():
            if schema.get("type") == "integer":
                as_number = await self.call(name, arguments | {key: NUMBERS[key]})
                as_string = await self.call(name, arguments | {key: str(NUMBERS[key])})
                self.expect(
                    as_number["ok"] and steady(as_number) == steady(as_string), f"{name} takes {key} as a number and a string differently"
                )
                await self.refused(name, arguments | {key: "many"}, "invalid_input", key)
            if schema.get("type") == "boolean":
                for value in ("false", "true", 0, 1):
                    await self.refused(name, arguments | {key: value}, "invalid_input", key)

    async def resources(self):
        """Pages and resources hold what the tool answers."""
        page = (await self.call("tmux_snapshot", {"entity": "pane", "limit": 1}))["data"]
        last = (await self.call("tmux_snapshot", {"cursor": page["next_cursor"]}))["data"]
        self.expect(not last["truncated"] and last["capture_id"] == page["capture_id"], f"the pages differ: {last}")
        listed = (await self.session.list_resource_templates()).resource_templates
        names = [template.name for template in listed]
        self.expect(names == ["tmux_metadata", "tmux_metadata_page", "tmux_screen"], f"the templates are {names}")
        root = "tmux://default/" + page["server_identity"]["generation"]
        for rest, expected in [
            ("snapshots/pane", page["items"] + last["items"]),
            ("pages/" + page["next_cursor"], last["items"]),
        ]:
            content = (await self.session.read_resource(f"{root}/{rest}")).contents[0]
            items = json.loads(content.text)["data"]["items"]
            self.expect(items == expected and content.mime_type == "application/json", f"{rest} is {content}")
        screen = (await self.session.read_resource(f"{root}/panes/%250/screen")).contents[0]
        self.expect(screen.text.endswith("green") and screen.mime_type == "text/plain", f"the screen is {screen}")
        for uri, code in [(f"{root}/panes/%0/screen", -32602), (f"{root}/panes/%259/screen", -32002)]:
            try:
                await self.session.read_resource(uri)
            except MCPError as error:
                self.expect(error.error.code == code, f"{uri} gives {error!r}")
            else:
                self.fault(f"{uri} is answered")

    async def unknown_tool(self):
        try:
            await self.session.call_tool("no_such_tool", {})
        except MCPError as error:
            self.expect(error.error.code == -32602, f"an unknown tool gives {error!r}")
        else:
            self.fault("an unknown tool is answered")


async def check(muxwire, tmux):
    """The faults on one release, and how many calls were made."""
    version = subprocess.run([tmux, "-V"], capture_output=True, text=True, check=True).stdout.strip()
    strays = []

    async def heard(message):
        if isinstance(message, Exception):
            strays.append(f"{version}: something on stdout is no message: {message!r}")

    with Server(tmux) as server:
        parameters = StdioServerParameters(command=muxwire, args=["mcp", "-S", server.socket], env=server.environment)
        async with stdio_client(parameters) as streams:
            async with ClientSession(*streams, read_timeout_seconds=20, message_handler=heard) as session:
                run = Check(session, version)
                started = await session.initialize()
                run.expect(started.server_info.name == "muxwire", f"it is called {started.server_info.name}")
                run.expect(len(started.instructions or "") in range(1, 1901), "instructions are absent or too long")
                await session.send_ping()
                await run.listing()
                await run.every_tool()
                await run.resources()
                await run.unknown_tool()
            leaving = time.monotonic()
        took = time.monotonic() - leaving
        run.expect(took < 1, f"it took {took:.2f} s to end after its input was closed")
        return run.faults + strays, run.calls, version, started.protocol_version


def main(muxwire, *releases):
    faults = []
    for tmux in releases:
        found, calls, version, protocol = anyio.run(check, muxwire, tmux)
        faults += found
        print(f"mcp_sdk: {version}: {calls} calls, protocol {protocol}, {len(found)} faults")
    for fault in faults:
        print(f"mcp_sdk: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
