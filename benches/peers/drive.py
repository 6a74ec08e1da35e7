"""Drives MCP servers for tmux over their standard input and output, in turn, and prints how long each tool takes.

    drive.py TMUX ROUNDS NAME=COMMAND...

The first server is what the others are compared with. `{socket}` in a command stands for the tmux server's socket.
Every server is asked by the same lines of JSON, but for the name of the argument that says which pane; where a server
has no tool of a name, or cannot use it on this tmux, the table says "-".
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

WIDTH, HEIGHT = 200, 50
# An agent waits no longer either.
PATIENCE = 20
# By when tmux shows what was written, in seconds.
SHOWN_AFTER = 0.002
# How many calls a server gets before it is another's turn, after one that is not counted: a process that slept for some
# milliseconds takes most of one longer, whatever it is asked, and what was written in the turns of others is read by it.
BLOCK = 10
# What is measured: a name, the tool, and whether a line is written before.
TASKS = [
    ("list_panes", "list_panes", False),
    ("capture_pane", "capture_pane", False),
    ("snapshot_pane", "snapshot_pane", False),
    ("capture_since, nothing new", "capture_since", False),
    ("capture_since, one new line", "capture_since", True),
]


class Refused(Exception):
    """A tool's error."""


class Terminal:
    """A private tmux server with one pane that shows 49 full rows, and the pane's terminal to write on."""

    def __init__(self, tmux):
        self.directory = tempfile.TemporaryDirectory(prefix="muxwire-bench-")
        folder = pathlib.Path(self.directory.name)
        self.socket = str(folder / "socket")
        (folder / "bin").mkdir()
        (folder / "bin" / "tmux").symlink_to(tmux)
        (folder / "default").mkdir(mode=0o700)
        self.environment = {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": self.directory.name, "SHELL": "/bin/sh",
            "TERM": "screen", "LANG": "C.UTF-8", "TMUX_TMPDIR": str(folder / "default"),
            "LIBTMUX_SOCKET_PATH": self.socket, "LIBTMUX_TMUX_BIN": str(folder / "bin" / "tmux"),
        }
        self.written = 0

    def run(self, *arguments):
        command = ["tmux", "-u", "-f", "/dev/null", "-S", self.socket, *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, timeout=PATIENCE, text=True, check=True)
        return done.stdout.rstrip("\n")

    def __enter__(self):
        size = ["-x", str(WIDTH), "-y", str(HEIGHT)]
        self.run("new-session", "-d", "-s", "bench", *size, "exec sleep 100000")
        self.tty = open(self.run("display-message", "-p", "-t", "%0", "#{pane_tty}"), "w")
        for _ in range(HEIGHT - 1 + 200):
            self.write()
        return self

    def __exit__(self, *_):
        self.tty.close()
        try:
            self.run("kill-server")
            strays = list((pathlib.Path(self.directory.name) / "default").rglob("*"))
            assert not any(path.is_socket() for path in strays), f"a server was started beside ours: {strays}"
        finally:
            self.directory.cleanup()

    def write(self):
        """Writes a line; gives a text that is in it alone. It shows at once, but takes the server a moment."""
        self.written += 1
        text = f"line {self.written:06}"
        self.tty.write(text + "x" * (WIDTH - 1 - len(text)) + "\n")
        self.tty.flush()
        return text


class Server:
    """One MCP server, and how long its answers took."""

    def __init__(self, name, command, terminal):
        self.name, self.times, self.sizes, self.odd, self.number = name, {}, {}, {}, 0
        command = [word.replace("{socket}", terminal.socket) for word in command.split(" ")]
        self.log = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(
            command, env=terminal.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log
        )
        client = {"name": "muxwire-peers", "version": "1"}
        started = self.request(
            "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        )
        self.version = started["serverInfo"]["version"]
        self.send({"method": "notifications/initialized"})
        self.tools = {tool["name"]: tool for tool in self.request("tools/list", {})["tools"]}
        self.cursor = None

    def send(self, message):
        line = json.dumps({"jsonrpc": "2.0"} | message) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()

    def line(self, method, parameters):
        """The line that answers a request."""
        self.number += 1
        self.send({"id": self.number, "method": method, "params": parameters})
        needle = f'"id":{self.number}'.encode()
        while line := self.process.stdout.readline():
            if needle in line[:64].replace(b" ", b"") or json.loads(line).get("id") == self.number:
                return line
        self.log.seek(0)
        raise EOFError(f"{self.name} ended: {self.log.read()}")

    def request(self, method, parameters):
        return self.result(self.line(method, parameters))

    def result(self, line):
        answer = json.loads(line)
        if "error" in answer or answer["result"].get("isError"):
            raise Refused(f"{self.name}: {answer}")
        return answer["result"]

    def arguments(self, tool):
        properties = self.tools[tool]["inputSchema"].get("properties", {})
        pane = [{name: "%0"} for name in ("pane_id", "pane") if name in properties][:1] if tool != "list_panes" else []
        arguments = pane[0] if pane else {}
        if tool == "capture_since" and self.cursor:
            arguments = arguments | {"cursor": self.cursor}
        return arguments

    def measure(self, task, tool, expected=None, counts=True):
        """Calls a tool once. `expected` must be in the answer, which has no line at all if it is empty."""
        parameters = {"name": tool, "arguments": self.arguments(tool)}
        start = time.perf_counter()
        line = self.line("tools/call", parameters)
        took = time.perf_counter() - start
        result = self.result(line)
        data = result["structuredContent"]
        self.cursor = data.get("cursor", self.cursor) if tool == "capture_since" else self.cursor
        if not counts:
            return
        self.times.setdefault(task, []).append(took * 1000)
        self.sizes.setdefault(task, []).append(len(line))
        if expected is not None:
            text = json.dumps(data)
            is_odd = expected not in text if expected else "line 0" in text
            self.odd[task] = self.odd.get(task, 0) + is_odd

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def percentile(values, per_cent):
    return sorted(values)[(len(values) - 1) * per_cent // 100]


def drive(terminal, servers, rounds):
    for task, tool, writes in TASKS:
        able = []
        for server in servers:
            server.cursor = None
            try:
                if tool in server.tools:
                    # Warms it up, and gives a first cursor.
                    for _ in range(3):
                        server.measure(task, tool, counts=False)
                    able.append(server)
            except Refused as refusal:
                print(f"peers: {task}: {refusal}", file=sys.stderr)
        for turn in range(-(-rounds // BLOCK)):
            shift = turn % len(able)
            for server in able[shift:] + able[:shift]:
                server.measure(task, tool, counts=False)
                for _ in range(BLOCK):
                    expected = "" if tool == "capture_since" else None
                    if writes:
                        expected = terminal.write()
                        shown = time.perf_counter() + SHOWN_AFTER
                        while time.perf_counter() < shown:
                            pass
                    server.measure(task, tool, expected)


def report(servers):
    heads = [f"{server.name} p50, p90 ms" for server in servers]
    print(f"\n{'':<30}" + "".join(f"{head:>36}" for head in heads))
    for task, _, _ in TASKS:
        cells = []
        for server in servers:
            times = server.times.get(task)
            cell = "-"
            if times:
                p50 = percentile(times, 50)
                ratio = p50 / percentile(servers[0].times[task], 50) if task in servers[0].times else 0
                cell = f"{p50:.2f}, {percentile(times, 90):.2f}" + (f" ({ratio:.0f} ×)" if server != servers[0] else "")
            cells.append(cell)
        print(f"{task:<30}" + "".join(f"{cell:>36}" for cell in cells))
    print("\nbytes of an answer, median; answers that lacked what was written or had lines when nothing was")
    for task, _, _ in TASKS:
        cells = []
        for server in servers:
            sizes = server.sizes.get(task)
            odd = server.odd.get(task)
            cells.append((f"{percentile(sizes, 50)}" + (f" ({odd} of {len(sizes)})" if odd else "")) if sizes else "-")
        print(f"{task:<30}" + "".join(f"{cell:>36}" for cell in cells))


def main(tmux, rounds, *commands):
    version = subprocess.run([tmux, "-V"], capture_output=True, text=True, check=True).stdout.strip()
    with Terminal(tmux) as terminal:
        servers = []
        try:
            for command in commands:
                name, _, command = command.partition("=")
                servers.append(Server(name, command, terminal))
            drive(terminal, servers, int(rounds))
            print(f"{time.strftime('%Y-%m-%d')}, {version}, {rounds} rounds in turn, one pane of 50 × 200")
            report(servers)
        finally:
            for server in servers:
                server.close()


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
