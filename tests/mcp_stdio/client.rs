//! The client's side of one `muxwire mcp`.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Listing, PATIENCE, ScriptedPeer, Server, directory, signal};

/// `muxwire` in an environment of our making; what it would start lands in `home`.
pub(crate) fn muxwire(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muxwire"));
    command.env_clear().current_dir("/").env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", home).env("TMUX_TMPDIR", home).env("TMPDIR", home).env("LANG", "C");
    command.env("TERM", "screen");
    command
}

/// A `muxwire mcp` at work; killed on drop.
pub(crate) struct Mcp {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    asked: u64,
}

impl Mcp {
    /// Serves this server, with more arguments.
    pub(crate) fn on(server: &Server, arguments: &[&str]) -> Self {
        let mut command = muxwire(server.directory());
        Self::start(command.arg("mcp").arg("-S").arg(server.socket()).args(arguments))
    }

    /// Starts a command that serves.
    pub(crate) fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("muxwire");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { input: child.stdin.take(), child, lines, asked: 0 }
    }

    pub(crate) fn send_raw(&mut self, line: &str) {
        let input = self.input.as_mut().expect("open");
        input.write_all(format!("{line}\n").as_bytes()).expect("it reads");
    }

    /// The next message.
    #[track_caller]
    pub(crate) fn receive(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("a line in time");
        serde_json::from_str(&line).expect("stdout carries JSON-RPC only")
    }

    /// Sends a request and waits for nothing.
    pub(crate) fn ask(&mut self, method: &str, params: Value) {
        self.asked += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params});
        self.send_raw(&request.to_string());
    }

    /// The result of a request.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, params);
        let message = self.receive();
        assert_eq!(message["id"], self.asked, "{message}");
        message["result"].clone()
    }

    /// The whole result of a tool call.
    #[track_caller]
    pub(crate) fn result(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// What a tool answers, which must be a success with a text block.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.result(tool, arguments);
        let answer = result["structuredContent"].clone();
        assert_eq!((&result["isError"], &answer["ok"]), (&json!(false), &json!(true)), "{result}");
        assert!(!result["content"][0]["text"].as_str().expect("a text block").is_empty());
        answer
    }

    /// The error of a tool call, which must be a failure whose text block is its message.
    #[track_caller]
    pub(crate) fn fail(&mut self, tool: &str, arguments: Value) -> Value {
        self.fail_raw(tool, &arguments.to_string())
    }

    /// The same with arguments as they are spelt here.
    #[track_caller]
    pub(crate) fn fail_raw(&mut self, tool: &str, arguments: &str) -> Value {
        self.asked += 1;
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        self.send_raw(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{params}}}"#,
            self.asked
        ));
        let message = self.receive();
        assert_eq!(message["id"], self.asked, "{message}");
        let result = message["result"].clone();
        let answer = &result["structuredContent"];
        assert_eq!((&result["isError"], &answer["ok"]), (&json!(true), &json!(false)), "{result}");
        let error = answer["error"].clone();
        assert_eq!(result["content"], json!([{"type": "text", "text": error["message"]}]));
        assert!(error["retryable"].is_boolean(), "{error}");
        let evidence = ["not_sent", "possibly_sent", "observed"];
        assert!(evidence.iter().any(|it| error["delivery"] == *it), "{error}");
        error
    }

    /// The code of a failed call.
    #[track_caller]
    pub(crate) fn code(&mut self, tool: &str, arguments: Value) -> String {
        self.fail(tool, arguments)["code"].as_str().expect("a code").to_owned()
    }

    /// The names that `tools/list` gives.
    #[track_caller]
    pub(crate) fn tools(&mut self) -> Vec<String> {
        let list = self.request("tools/list", json!({}));
        let tools = list["tools"].as_array().expect("tools");
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// The row of a listing whose `id` is this.
    #[track_caller]
    pub(crate) fn row(&mut self, tool: &str, id: &str) -> Value {
        let answer = self.call(tool, json!({}));
        let rows = answer["rows"].as_array().expect("rows");
        assert_eq!(answer["count"], rows.len());
        rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("{answer}")).clone()
    }

    /// The memory that it holds, in bytes, where the system tells.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.status("VmRSS:")
    }

    /// The most that it has held.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        self.status("VmHWM:")
    }

    /// The processor time that it has taken, where the system tells; not what others took meanwhile.
    pub(crate) fn worked(&self) -> Option<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        // After the name, which may hold anything, and ten more fields: user and system time in hundredths.
        let fields = stat.rsplit(')').next()?.split_whitespace().skip(11).take(2);
        let hundredths: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
        Some(Duration::from_millis(10 * hundredths))
    }

    /// How many threads it has, where the system tells.
    pub(crate) fn threads(&self) -> Option<usize> {
        Some(std::fs::read_dir(format!("/proc/{}/task", self.child.id())).ok()?.count())
    }

    fn status(&self, name: &str) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
    }

    /// Closes its standard input.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        assert!(signal(self.child.id(), name));
    }

    /// Waits for its end: how it ended, and how long that took.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> (ExitStatus, Duration) {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("wait") {
                return (status, begun.elapsed());
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `muxwire mcp` with more arguments on a peer that answers these one after the other.
pub(crate) fn on(
    listings: &[Listing],
    arguments: &[&str],
) -> (Mcp, ScriptedPeer, tempfile::TempDir) {
    let (home, script) = (directory(), listings.to_vec());
    let peer = ScriptedPeer::play_times(script.len(), move |time, talk| script[time].answer(talk));
    let mut command = muxwire(home.path());
    let mcp = Mcp::start(command.arg("mcp").arg("-S").arg(peer.path()).args(arguments));
    (mcp, peer, home)
}

/// A server's row and column are there from the start, its content a moment later: waits for it.
#[track_caller]
pub(crate) fn until_shown(server: &Server, pane: &str, text: &str) {
    crate::support::eventually("the pane's text", || {
        let shown = server.tmux(["capture-pane", "-p", "-t", pane]).text();
        shown.contains(text).then_some(())
    });
}

/// Adds a pane that shows what `printf FORMAT` prints, in a window of its own; gives its id.
#[track_caller]
pub(crate) fn pane_showing(server: &Server, session: &str, format: &str, last: &str) -> String {
    let program = format!("printf '{format}'; exec sleep 100000");
    let made = ["new-window", "-d", "-P", "-F", "#{pane_id}", "-t", session, &program];
    let pane = server.tmux(made.map(OsStr::new)).text();
    until_shown(server, &pane, last);
    pane
}
