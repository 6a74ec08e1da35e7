//! What the benches share: a private tmux server, the floor, spawning, and a table of variants
//! that were measured side by side.
//!
//! Nothing here goes near a server that it did not start.

// Each bench uses a part of this.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command as Process, Stdio};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use muxwire::imsg::Dialect;
use muxwire::protocol::{ClientMessage, Command, CommandList};
use muxwire::{Output, Tmux};
use tokio::runtime::Runtime;

/// Panes of a window, and windows of a session, in [`Server::grow`].
const PANES: usize = 2;
const WINDOWS: usize = 5;
/// What runs in a pane that has nothing to show.
const IDLE: &str = "exec sleep 100000";

/// Whether this run only sees that the benches work: `cargo bench -- --test`, or `cargo test`.
pub(crate) fn is_trial() -> bool {
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    has("--test") || !has("--bench")
}

/// A runtime as a caller in a hurry has it.
pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A tmux server of our own, killed and removed on drop.
pub(crate) struct Server {
    binary: PathBuf,
    directory: tempfile::TempDir,
}

impl Server {
    /// A server of `$MUXWIRE_BENCH_TMUX` or the machine's tmux, with one session of one 200×50
    /// pane that runs `command`.
    pub(crate) fn new(command: &str) -> Self {
        let binary = std::env::var_os("MUXWIRE_BENCH_TMUX").unwrap_or_else(|| "tmux".into());
        let directory = tempfile::Builder::new().prefix("muxwire-bench-").tempdir().unwrap();
        let server = Self { binary: binary.into(), directory };
        let mut start = Process::new(&server.binary);
        start.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        start.env("SHELL", "/bin/sh").stdin(Stdio::null());
        start.arg("-S").arg(server.socket()).args(["-f", "/dev/null", "new-session", "-d"]);
        start.args(["-s", "bench", "-x", "200", "-y", "50", command]);
        let output = start.output().expect("tmux must be installed for the benches");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        server
    }

    /// A server with one idle pane.
    pub(crate) fn idle() -> Self {
        Self::new(IDLE)
    }

    /// The socket's path.
    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    /// The library's handle of this server.
    pub(crate) fn tmux(&self) -> Tmux {
        Tmux::builder().socket_path(self.socket()).build().unwrap()
    }

    /// Makes the server hold `count` panes: two in a window and five windows in a session as far
    /// as the count goes. Each has a title as shells set it, with spaces, which arrive as escapes.
    pub(crate) fn grow(&self, runtime: &Runtime, count: usize) {
        let starts = (1..count).map(|pane| {
            let session = pane / (PANES * WINDOWS);
            let name = match session {
                0 => "bench".to_owned(),
                number => format!("bench-{number}"),
            };
            if pane % (PANES * WINDOWS) == 0 {
                let start = Command::new("new-session").args(["-d", "-s", &name]);
                start.args(["-x", "200", "-y", "50", IDLE])
            } else if pane % PANES == 0 {
                let target = format!("={name}:");
                Command::new("new-window").args(["-d", "-t", &target, IDLE])
            } else {
                // The newest window is the one with the highest index.
                let target = format!("={name}:{{end}}");
                Command::new("split-window").args(["-d", "-t", &target, IDLE])
            }
        });
        let titles = (0..count).map(|pane| {
            let target = format!("%{pane}");
            Command::new("select-pane").args(["-t", &target, "-T", "me@host: ~/src/project"])
        });
        let commands: Vec<Command> = starts.chain(titles).collect();
        for commands in commands.chunks(50) {
            let list: CommandList = commands.iter().cloned().collect();
            let output = runtime.block_on(self.tmux().run(list)).unwrap();
            assert_eq!(output.status, 0, "{}", output.complaint());
        }
        let list = runtime.block_on(self.tmux().run(["list-panes", "-a"])).unwrap();
        assert_eq!(list.stdout.iter().filter(|&&byte| byte == b'\n').count(), count);
    }

    /// Waits until the first pane's history and screen hold `lines` lines.
    pub(crate) fn wait_for_lines(&self, runtime: &Runtime, lines: usize) {
        let format = "#{e|+:#{history_size},#{cursor_y}}";
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let list = ["display-message", "-p", "-t", "bench:", format];
            let output = runtime.block_on(self.tmux().run(list)).unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            if text.trim().parse::<usize>().is_ok_and(|found| found >= lines) {
                return;
            }
            assert!(Instant::now() < deadline, "the pane shows {text:?} lines, not {lines}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Runs the tmux binary to its end and gives what it wrote to its standard output, a pipe.
    pub(crate) fn spawn(&self, arguments: &[Vec<u8>]) -> Vec<u8> {
        use std::os::unix::ffi::OsStrExt;
        let mut process = Process::new(&self.binary);
        process.env_remove("TMUX").env_remove("TMUX_PANE").stdin(Stdio::null());
        process.arg("-u").arg("-S").arg(self.socket());
        process.args(arguments.iter().map(|argument| std::ffi::OsStr::from_bytes(argument)));
        let output = process.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// What the tmux binary says its version is.
    pub(crate) fn version(&self) -> String {
        let output = Process::new(&self.binary).arg("-V").output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut kill = Process::new(&self.binary);
        kill.arg("-S").arg(self.socket()).arg("kill-server").stdin(Stdio::null());
        let _ = kill.output();
    }
}

/// A `muxwire mcp` and its client's side; killed on drop.
pub(crate) struct Mcp {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Mcp {
    /// Serves this server.
    pub(crate) fn on(server: &Server) -> Self {
        let mut process = Process::new(env!("CARGO_BIN_EXE_muxwire"));
        process.arg("mcp").arg("-S").arg(server.socket()).env_remove("TMUX_PANE");
        let mut child = process.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output), line: String::new() }
    }

    /// The line that answers a request.
    pub(crate) fn line(&mut self, method: &str, params: &str) -> &str {
        let request = r#"{"jsonrpc":"2.0","id":1,"method":"#;
        let request = format!("{request}\"{method}\",\"params\":{params}}}\n");
        self.input.write_all(request.as_bytes()).unwrap();
        self.line.clear();
        self.output.read_line(&mut self.line).unwrap();
        &self.line
    }

    /// The answer to a request.
    pub(crate) fn request(&mut self, method: &str, params: &str) -> serde_json::Value {
        serde_json::from_str(self.line(method, params)).unwrap()
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The commands of `list`, each as its arguments.
pub(crate) fn arguments(list: &CommandList) -> Vec<Vec<Vec<u8>>> {
    let mut frame = BytesMut::new();
    ClientMessage::Command(list.clone()).encode(Dialect::Modern, &mut frame).unwrap();
    let packed = frame[20..].strip_suffix(b"\0").unwrap();
    let arguments: Vec<Vec<u8>> = packed.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect();
    arguments.split(|argument| argument == b";").map(<[Vec<u8>]>::to_vec).collect()
}

/// How long a command list takes when the client does nothing else: `std` alone, blocking, the
/// burst made beforehand, the reply walked through to its end and not kept.
///
/// A last `display-message -p E` makes the server send the reply without waiting for an answer, as
/// the proof does that the library sends.
pub(crate) struct Floor {
    socket: PathBuf,
    burst: Vec<u8>,
    buffer: Vec<u8>,
}

impl Floor {
    /// A floor for `list` on the server at `socket`.
    pub(crate) fn new(socket: &Path, list: &CommandList) -> Self {
        let mut packed = Vec::new();
        let mut count = 0_i32;
        let mut push = |argument: &[u8]| {
            packed.extend_from_slice(argument);
            packed.push(0);
            count += 1;
        };
        for command in arguments(list) {
            command.iter().for_each(|argument| push(argument));
            push(b";");
        }
        [&b"display-message"[..], b"-p", b"E"].into_iter().for_each(push);
        let mut burst = Vec::new();
        let mut frame = |kind: u32, payload: &[u8]| {
            let length = u32::try_from(16 + payload.len()).unwrap();
            for field in [kind, length, 8, u32::MAX] {
                burst.extend_from_slice(&field.to_ne_bytes());
            }
            burst.extend_from_slice(payload);
        };
        frame(111, &0x10000_u64.to_ne_bytes()); // IDENTIFY_LONGFLAGS: UTF-8
        frame(101, b"\0"); // IDENTIFY_TERM
        frame(102, b"\0"); // IDENTIFY_TTYNAME: never left out
        frame(108, b"/\0"); // IDENTIFY_CWD
        frame(107, &std::process::id().to_ne_bytes()); // IDENTIFY_CLIENTPID
        frame(106, b""); // IDENTIFY_DONE
        frame(200, &[&count.to_ne_bytes()[..], &packed].concat()); // COMMAND
        Self::of_burst(socket, burst)
    }

    /// A floor that sends these bytes, which end in a command list.
    pub(crate) fn of_burst(socket: &Path, burst: Vec<u8>) -> Self {
        Self { socket: socket.to_owned(), burst, buffer: vec![0; 1 << 20] }
    }

    /// The arguments of the command list, as the tmux binary takes them.
    pub(crate) fn arguments(&self) -> Vec<Vec<u8>> {
        let command = frames(&self.burst).find(|(kind, _)| *kind == COMMAND).unwrap().1;
        let packed = command[20..].strip_suffix(b"\0").unwrap();
        packed.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect()
    }

    /// Runs the list once; gives how many bytes of output there were.
    pub(crate) fn run(&mut self) -> usize {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.write_all(&self.burst).unwrap();
        let (mut held, mut bytes) = (0, 0);
        loop {
            let mut at = 0;
            while let Some(header) = self.buffer[at..held].first_chunk::<16>() {
                let field =
                    |from: usize| u32::from_ne_bytes(*header[from..].first_chunk().unwrap());
                let (kind, length) = (field(0), field(4) as usize);
                if held - at < length {
                    break;
                }
                match kind {
                    203 => return bytes,         // EXIT
                    304 => bytes += length - 20, // WRITE
                    303 if self.buffer[at + 16] == 2 => panic!("the command list failed"),
                    _ => {}
                }
                at += length;
            }
            self.buffer.copy_within(at..held, 0);
            held -= at;
            let read = stream.read(&mut self.buffer[held..]).unwrap();
            assert_ne!(read, 0, "the server closed the connection");
            held += read;
        }
    }
}

const COMMAND: u32 = 200;

/// The frames of a stream that begins with one: their types, and all of each.
fn frames(mut stream: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    std::iter::from_fn(move || {
        let (kind, rest) = stream.split_first_chunk()?;
        let length = u32::from_ne_bytes(*rest.first_chunk()?) as usize;
        let (frame, after) = stream.split_at(length);
        stream = after;
        Some((u32::from_ne_bytes(*kind), frame))
    })
}

/// Stands between a client and a server and keeps what clients send up to their command lists.
pub(crate) struct Recorder {
    directory: tempfile::TempDir,
    bursts: std::sync::mpsc::Receiver<Vec<u8>>,
}

impl Recorder {
    /// Before the server at `socket`. Its thread lives as long as the process.
    pub(crate) fn new(socket: &Path) -> Self {
        let directory = tempfile::Builder::new().prefix("muxwire-bench-").tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("socket")).unwrap();
        let (sender, bursts) = std::sync::mpsc::channel();
        let server = socket.to_owned();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (mut client, mut server) =
                    (client.unwrap(), UnixStream::connect(&server).unwrap());
                let (mut answers, mut to_client) =
                    (server.try_clone().unwrap(), client.try_clone().unwrap());
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut answers, &mut to_client);
                    let _ = to_client.shutdown(Shutdown::Both);
                });
                let (mut sent, mut buffer) = (Vec::new(), [0; 65_536]);
                while let Ok(read @ 1..) = client.read(&mut buffer) {
                    sent.extend_from_slice(&buffer[..read]);
                    if server.write_all(&buffer[..read]).is_err() {
                        break;
                    }
                }
                let _ = server.shutdown(Shutdown::Both);
                let mut end = 0;
                for (kind, frame) in frames(&sent) {
                    end += frame.len();
                    if kind == COMMAND {
                        break;
                    }
                }
                sent.truncate(end);
                let _ = sender.send(sent);
            }
        });
        Self { directory, bursts }
    }

    /// A handle that goes through here.
    pub(crate) fn tmux(&self) -> Tmux {
        Tmux::builder().socket_path(self.directory.path().join("socket")).build().unwrap()
    }

    /// What was sent since the last time, a burst for each connection. All of them are closed.
    pub(crate) fn bursts(&self) -> Vec<Vec<u8>> {
        let first = self.bursts.recv_timeout(Duration::from_secs(5)).unwrap();
        let mut bursts = vec![first];
        while let Ok(burst) = self.bursts.recv_timeout(Duration::from_millis(100)) {
            bursts.push(burst);
        }
        bursts
    }
}

/// The output of a command list that must succeed.
pub(crate) async fn run(tmux: &Tmux, list: CommandList) -> Output {
    tmux.run(list).await.unwrap().ok().unwrap()
}

/// The times of one way of doing something.
pub(crate) struct Times {
    name: &'static str,
    /// The round and how long it took in it; not every variant runs in every round.
    samples: Vec<(usize, Duration)>,
}

impl Times {
    /// No times yet.
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, samples: Vec::new() }
    }

    /// Adds the time that passed since `start`.
    pub(crate) fn since(&mut self, start: Instant, round: usize) {
        self.samples.push((round, start.elapsed()));
    }

    fn micros(&self, per_cent: usize) -> f64 {
        let times = self.samples.iter().map(|(_, time)| time.as_secs_f64() * 1e6);
        percentile(times.collect(), per_cent)
    }

    /// Median of what this took over what `other`, which runs in every round, took in the same
    /// round: unlike the ratio of two medians it does not jump when the scheduler places server and
    /// client anew between rounds.
    fn paired_ratio(&self, other: &Self) -> f64 {
        let ratios = self
            .samples
            .iter()
            .map(|(round, own)| own.as_secs_f64() / other.samples[*round].1.as_secs_f64());
        percentile(ratios.collect(), 50)
    }
}

/// The value that so many per cent are at most.
pub(crate) fn percentile(mut values: Vec<f64>, per_cent: usize) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[(values.len() - 1) * per_cent / 100]
}

/// Prints what was measured in one loop, variant by variant in each round: the floor, the library,
/// spawning, and others. A ratio is of the medians, then the median of the ratios within the rounds.
pub(crate) fn print_side_by_side(title: &str, variants: &[Times]) {
    let [floor, library, ..] = variants else { panic!("a floor and the library") };
    eprintln!("\n{title}, side by side, {} rounds", floor.samples.len());
    eprintln!(
        "{:<14}{:>10}{:>10}{:>10}{:>18}{:>18}",
        "", "min µs", "p50 µs", "p90 µs", "× floor", "× muxwire"
    );
    for times in variants {
        let ratio = |other: &Times| {
            let of_medians = times.micros(50) / other.micros(50);
            format!("{of_medians:.2} ({:.2})", times.paired_ratio(other))
        };
        eprintln!(
            "{:<14}{:>10.1}{:>10.1}{:>10.1}{:>18}{:>18}",
            times.name,
            times.micros(0),
            times.micros(50),
            times.micros(90),
            ratio(floor),
            ratio(library),
        );
    }
}
