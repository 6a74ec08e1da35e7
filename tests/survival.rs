//! A server survives us: our process is killed at each step of identify and of the exchange, on
//! each release more than a hundred times, and the server still answers the tmux binary.
//!
//! The process that is killed is this test program, run again as a child that does the steps it
//! is told and then says so. The places where it is killed are every boundary of a frame and
//! several within each frame, not random ones.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::pin::Pin;
use std::process::{Command as Process, Stdio};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use muxwire::exchange::{Client, CommandExchange, Identify};
use muxwire::imsg::{Decoder, Dialect, HEADER_LEN};
use muxwire::protocol::{ClientMessage, Command};
use muxwire::{CommandList, Stdin, Tmux};
use support::{Release, Server, block_on, eventually, on_each_release};
use tokio::io::{AsyncRead, ReadBuf};

/// Tells the child what to do.
const STEPS: &str = "MUXWIRE_TEST_SURVIVAL";
/// What the child says when it has done it.
const DONE: &str = "the steps are done";

/// One thing that the child does before it is killed.
enum Step {
    /// Sends bytes; they are handed over in a file.
    Send(Vec<u8>),
    /// Reads this many bytes.
    Read(usize),
    /// Runs `load-buffer -` through the library, whose input gives this many bytes and then waits.
    Load(usize),
}

/// Lets a child do these steps on the server, kills it and asks the server's own client.
#[track_caller]
fn killed_after(server: &Server, steps: &[Step]) {
    let mut told = vec![server.socket().to_str().unwrap().to_owned()];
    for (number, step) in steps.iter().enumerate() {
        told.push(match step {
            Step::Send(bytes) => {
                let file = server.directory().join(format!("send{number}"));
                std::fs::write(&file, bytes).unwrap();
                format!("send {}", file.display())
            }
            Step::Read(length) => format!("read {length}"),
            Step::Load(length) => format!("load {length}"),
        });
    }
    let mut child = Process::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "a_child_that_is_killed"])
        .env(STEPS, told.join("\n"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let done = lines.any(|line| line.unwrap().ends_with(DONE));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(done, "the child did not come to the end of {told:?}");
    assert!(server.answers(), "the server does not answer after {told:?}");
}

#[test]
#[ignore = "run by the other tests as the process that is killed"]
fn a_child_that_is_killed() {
    let Ok(told) = std::env::var(STEPS) else { return };
    let mut told = told.lines();
    let socket = Path::new(told.next().unwrap()).to_owned();
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.set_read_timeout(Some(support::PATIENCE)).unwrap();
    for step in told {
        match step.split_once(' ').unwrap() {
            ("send", file) => stream.write_all(&std::fs::read(file).unwrap()).unwrap(),
            ("read", length) => stream.read_exact(&mut vec![0; length.parse().unwrap()]).unwrap(),
            ("load", length) => load(&socket, length.parse().unwrap()),
            _ => panic!("{step}"),
        }
    }
    say_done();
    std::thread::sleep(Duration::from_secs(60)); // killed meanwhile
}

fn say_done() {
    let mut stdout = std::io::stdout();
    writeln!(stdout, "\n{DONE}").unwrap();
    stdout.flush().unwrap();
}

fn load(socket: &Path, length: usize) {
    let tmux = Tmux::builder().socket_path(socket).deadline(None).build().unwrap();
    let input = Stdin::Reader(Box::new(GivesSome { left: length, said: false }));
    let _ = block_on(tmux.request(["load-buffer", "-b", "killed", "-"]).stdin(input).run());
}

/// Gives some bytes, says that it has and then never ends.
struct GivesSome {
    left: usize,
    said: bool,
}

impl AsyncRead for GivesSome {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.left > 0 {
            let piece = self.left.min(to.remaining());
            to.put_slice(&vec![b'x'; piece]);
            self.left -= piece;
            return Poll::Ready(Ok(()));
        }
        if !self.said {
            self.said = true;
            say_done();
        }
        Poll::Pending
    }
}

/// A server with a pane whose history is long.
fn busy_server(release: &Release) -> Server {
    let server = Server::start(release);
    server.set(["set-option", "-g", "history-limit", "50000"]);
    server.set(["new-window", "-d", "-t", "=main:7", "seq 30000; exec sleep 100000"]);
    eventually("the text of the pane", || {
        let screen = server.tmux(["capture-pane", "-p", "-t", "=main:7"]).stdout;
        screen.windows(6).any(|line| line == b"30000\n").then_some(())
    });
    server
}

/// What we send first for these lists, with an environment.
fn burst(lists: &[CommandList]) -> Vec<u8> {
    let environment = vec![b"DISPLAY=:0".to_vec(), [&b"LONG="[..], &[b'x'; 3_000]].concat()];
    let client =
        Client { pid: 4711, terminal: b"screen".to_vec(), environment, ..Client::default() };
    let identify = Identify::new(&client).unwrap();
    let mut exchange = CommandExchange::new(&identify, lists, true, 1 << 20).unwrap();
    exchange.outgoing().to_vec()
}

/// Every boundary between frames, and places within the header and the payload of each frame.
fn cuts(bytes: &[u8]) -> Vec<usize> {
    let mut decoder = Decoder::new(Dialect::Modern);
    let mut input = bytes;
    let mut cuts = vec![0];
    let mut start = 0;
    while let Some(frame) = decoder.decode(&mut input).unwrap() {
        let end = start + HEADER_LEN + frame.payload.len();
        cuts.extend([start + 1, start + 8, start + 15, start + HEADER_LEN]);
        cuts.extend([start + HEADER_LEN + frame.payload.len() / 2, end - 1, end]);
        start = end;
    }
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// Prints much, and twice: so the server does not wait for us before it sends.
fn capture_all() -> CommandList {
    let capture = Command::new("capture-pane").args(["-p", "-S", "-", "-t", "=main:7"]);
    CommandList::from(capture).then(Command::new("list-sessions"))
}

#[test]
fn a_server_survives_our_death_at_each_step() {
    on_each_release(|release| {
        let server = busy_server(release);
        let descriptors = open_descriptors(&server);
        let mut kills = 0;
        let mut kill = |steps: &[Step]| {
            killed_after(&server, steps);
            kills += 1;
        };

        // While we say who we are and what we want.
        let lists = [capture_all(), ["list-sessions"].into()];
        let whole = burst(&lists);
        for cut in cuts(&whole) {
            kill(&[Step::Send(whole[..cut].to_vec())]);
        }

        // While the server answers: unread, in the middle of a frame, between frames, near the end.
        let whole = burst(&[capture_all()]);
        for read in [1, 15, 16, 28, 29, 43, 44, 45, 1_000, 16_411, 16_412, 16_413, 65_536, 150_000]
        {
            kill(&[Step::Send(whole.clone()), Step::Read(read)]);
        }

        // While it complains and waits for us to take the complaint: unanswered, half answered.
        let fails = burst(&[["kill-session", "-t", "=nosuch"].into()]);
        let answer = frames(&[ClientMessage::WriteReady { stream: 2, errno: 0 }]);
        for cut in [0, 1, HEADER_LEN, answer.len() - 1, answer.len()] {
            kill(&[Step::Send(fails.clone()), Step::Read(28), Step::Send(answer[..cut].to_vec())]);
        }

        // While it waits for something that is not us.
        kill(&[Step::Send(burst(&[["wait-for", "never"].into()]))]);
        kill(&[Step::Send(burst(&[["run-shell", "sleep 1"].into()]))]);

        // While it reads our standard input, by the library.
        for given in [0, 1, 16_363, 16_364, 16_365, 65_536, 1_000_000] {
            kill(&[Step::Load(given)]);
        }

        assert!(kills >= 100, "only {kills}");
        assert_eq!(server.show("#{session_name}"), "main");
        assert_eq!(
            server.tmux(["show-buffer", "-b", "killed"]).status,
            1,
            "half an input is no buffer"
        );
        assert!(block_on(server.handle().snapshot()).is_ok());
        eventually("the end of our connections", || {
            (open_descriptors(&server) <= descriptors).then_some(())
        });
    });
}

#[test]
fn a_server_survives_the_end_of_many_connections_at_once() {
    on_each_release(|release| {
        let server = busy_server(release);
        // Thirty connections at thirty different steps, closed together.
        let whole = burst(&[capture_all()]);
        let streams: Vec<UnixStream> = cuts(&whole)
            .into_iter()
            .map(|cut| {
                let mut stream = UnixStream::connect(server.socket()).unwrap();
                stream.write_all(&whole[..cut]).unwrap();
                stream
            })
            .collect();
        assert!(streams.len() >= 30 && server.answers());
        drop(streams);
        assert!(server.answers());
    });
}

fn frames(messages: &[ClientMessage<'_>]) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    for message in messages {
        message.encode(Dialect::Modern, &mut bytes).unwrap();
    }
    bytes.to_vec()
}

/// How many descriptors the server holds; 0 where that cannot be told.
fn open_descriptors(server: &Server) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", server.pid())).map_or(0, Iterator::count)
}
