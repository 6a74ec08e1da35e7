//! Servers that misbehave, over a real socket: each ends in an error that says what happened and
//! how far the call had come, in time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use muxwire::exchange::{End, Reply};
use muxwire::imsg::{Dialect, MAX_FRAME};
use muxwire::protocol::{Command, CommandList, MAX_STREAM_DATA, MessageType, ServerMessage};
use muxwire::{Delivery, Error, ErrorKind, ServerIdentity, Stdin, Tmux};
use nix::errno::Errno;
use nix::sys::socket::{self, AddressFamily, Backlog, SockFlag, SockType, UnixAddr};
use support::{
    Heard, PATIENCE, ScriptedPeer, Server, Talk, block_on, eventually, has_ended, on_each_release,
    signal,
};

use ServerMessage as S;

/// The deadline of calls that must run into it.
const SHORT: Duration = Duration::from_millis(300);
/// What a call may take beyond its deadline on a busy machine.
const SLACK: Duration = Duration::from_secs(2);

const OPEN: S<'static> = S::WriteOpen { stream: 1, fd: 1, flags: 0, path: None };
const EXIT: S<'static> = S::Exit { status: Some(0), text: None };
const STDIN: S<'static> = S::ReadOpen { stream: 3, fd: 0, path: b"-" };

/// Runs a call that must fail within this deadline.
#[track_caller]
fn fails<T: std::fmt::Debug>(
    deadline: Duration,
    call: impl Future<Output = Result<T, Error>>,
) -> Error {
    let start = Instant::now();
    let error = block_on(call).expect_err("this call cannot succeed");
    let took = start.elapsed();
    assert!(took < deadline + SLACK, "{took:?} for {error}");
    assert!(!error.to_string().is_empty());
    error
}

/// Runs a command against a peer of this script; it must fail like this.
#[track_caller]
fn meets(
    kind: ErrorKind,
    delivery: Delivery,
    script: impl FnOnce(&mut Talk) + Send + 'static,
) -> Error {
    let peer = ScriptedPeer::play(script);
    // Silence is the only script that takes the whole deadline.
    let deadline = if kind == ErrorKind::Deadline { SHORT } else { PATIENCE };
    let tmux = peer.handle(deadline);
    let error = fails(deadline.min(SHORT), tmux.run(["list-sessions"]));
    assert_eq!((error.kind(), error.delivery()), (kind, delivery), "{error}");
    peer.finish();
    error
}

/// Listens to the command list; gives the proof that it asks for.
fn proof(talk: &mut Talk) -> Vec<u8> {
    let Heard { payload, .. } = talk.hear_until(MessageType::COMMAND);
    let mut arguments = payload.rsplit(|&byte| byte == 0);
    arguments.nth(1); // what is behind the last NUL, and the command to list
    let format = arguments.next().unwrap();
    let nonce = std::str::from_utf8(&format[..32]).unwrap();
    format!("{nonce} 0 4711 1700000000 3.3a \u{1}$a\n").into_bytes()
}

fn bytes_of(messages: &[S<'_>]) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    for message in messages {
        message.encode(Dialect::Modern, &mut bytes).unwrap();
    }
    bytes.to_vec()
}

#[test]
fn a_peer_that_keeps_to_the_protocol_is_understood() {
    let peer = ScriptedPeer::play(|talk| {
        let proof = proof(talk);
        talk.say_bytes(&bytes_of(&[OPEN, S::Write { stream: 1, data: b"hello\n" }]));
        talk.say_bytes(&bytes_of(&[S::Write { stream: 1, data: &proof }, EXIT]));
        talk.hear_out();
    });
    let output = block_on(peer.handle(PATIENCE).run(["list-sessions"])).unwrap();
    assert_eq!(
        (&output.stdout[..], &output.stderr[..], output.status),
        (&b"hello\n"[..], &b""[..], 0)
    );
    assert_eq!(output.server.unwrap().identity.pid, 4711);
    peer.finish();
}

#[test]
fn silence_ends_at_the_deadline_and_the_command_may_have_run() {
    let error = meets(ErrorKind::Deadline, Delivery::PossiblySent, Talk::hear_out);
    assert!(!error.is_retryable());
    let half_answered = |talk: &mut Talk| {
        talk.hear_until(MessageType::COMMAND);
        talk.say_bytes(&bytes_of(&[OPEN, S::Write { stream: 1, data: b"and then nothing" }]));
        talk.hear_out();
    };
    meets(ErrorKind::Deadline, Delivery::PossiblySent, half_answered);
}

#[test]
fn messages_without_end_end_at_the_deadline() {
    meets(ErrorKind::Deadline, Delivery::PossiblySent, |talk| {
        talk.hear_until(MessageType::COMMAND);
        let flood = bytes_of(&[S::Flags { bits: 1 }; 1_000]);
        while talk.say_bytes(&flood) {}
    });
}

#[test]
fn another_protocol_version_is_unsupported_and_nothing_was_run() {
    let error = meets(ErrorKind::Unsupported, Delivery::NotSent, |talk| {
        talk.hear();
        let mut version = bytes_of(&[S::Version]);
        version[8..12].copy_from_slice(&9u32.to_ne_bytes());
        talk.say_bytes(&version);
        talk.hear_out();
    });
    assert!(error.to_string().contains("version 9"), "{error}");
    assert!(!error.is_retryable());
}

#[test]
fn a_length_that_no_frame_has_is_refused() {
    for length in [15u32, 16_385] {
        let error = meets(ErrorKind::Transport, Delivery::PossiblySent, move |talk| {
            talk.hear_until(MessageType::COMMAND);
            let mut bytes = bytes_of(&[S::Write { stream: 1, data: &[0; MAX_STREAM_DATA] }]);
            bytes[4..8].copy_from_slice(&length.to_ne_bytes());
            talk.say_bytes(&bytes);
            talk.hear_out();
        });
        assert!(error.to_string().contains(&length.to_string()), "{error}");
    }
    assert_eq!(MAX_FRAME, 16_384);
}

#[test]
fn an_end_at_any_byte_of_the_reply_is_a_server_that_is_gone() {
    // A reply of five frames: every one of its bytes may be the last.
    let reply = |proof: &[u8]| {
        bytes_of(&[
            S::Flags { bits: 1 },
            OPEN,
            S::Write { stream: 1, data: b"hello\n" },
            S::Write { stream: 1, data: proof },
            EXIT,
        ])
    };
    let proof_length = 32 + " 0 4711 1700000000 3.3a \u{1}$a\n".len();
    let whole = reply(&vec![b'x'; proof_length]).len();
    let peer = ScriptedPeer::play_times(whole + 1, move |end, talk| {
        let bytes = reply(&proof(talk));
        talk.say_bytes(&bytes[..end]);
    });
    let tmux = peer.handle(PATIENCE);
    for end in 0..whole {
        let error = fails(SHORT, tmux.run(["list-sessions"]));
        assert_eq!(error.kind(), ErrorKind::ServerGone, "{end} of {whole}: {error}");
        assert_eq!(error.delivery(), Delivery::PossiblySent, "{end} of {whole}: {error}");
        assert!(!error.is_retryable());
    }
    assert!(block_on(tmux.run(["list-sessions"])).is_ok(), "the whole of it");
    peer.finish();
}

#[test]
fn a_peer_that_hangs_up_without_listening_is_a_server_that_is_gone() {
    let peer = ScriptedPeer::play_times(50, |_, _| {});
    let tmux = peer.handle(PATIENCE);
    for _ in 0..50 {
        let error = fails(SHORT, tmux.run(["list-sessions"]));
        assert_eq!(error.kind(), ErrorKind::ServerGone, "{error}");
        // It may be gone before the first byte or after the last.
        let delivery = error.delivery();
        assert!(matches!(delivery, Delivery::NotSent | Delivery::PossiblySent), "{delivery:?}");
    }
    peer.finish();
}

#[test]
fn words_at_the_exit_are_a_refusal_even_with_status_0() {
    let error = meets(ErrorKind::Refused, Delivery::Observed, |talk| {
        talk.hear_until(MessageType::COMMAND);
        talk.say(&S::Exit { status: Some(0), text: Some(b"access not allowed") });
        talk.hear_out();
    });
    assert!(error.to_string().contains("access not allowed"), "{error}");
}

#[test]
fn a_shutdown_in_the_middle_is_no_success_and_the_reply_tells_it() {
    let middle = |talk: &mut Talk| {
        talk.hear_until(MessageType::COMMAND);
        talk.say_bytes(&bytes_of(&[OPEN, S::Write { stream: 1, data: b"half" }, S::Shutdown]));
        talk.hear_out();
    };
    meets(ErrorKind::ServerGone, Delivery::PossiblySent, middle);
    let peer = ScriptedPeer::play(middle);
    let reply = block_on(peer.handle(PATIENCE).command_line(["list-sessions"]).reply()).unwrap();
    let expected = Reply { stdout: "half".into(), stderr: Bytes::new(), end: End::Shutdown };
    assert_eq!(reply, expected);
    peer.finish();

    let peer = ScriptedPeer::play(middle);
    let lists = vec![["list-sessions"].into(), ["list-panes"].into()];
    let error = fails(SHORT, peer.handle(PATIENCE).run_all(lists));
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::ServerGone, Delivery::PossiblySent));
    peer.finish();
}

#[test]
fn a_reply_that_ends_well_without_its_proof_is_not_taken_for_whole() {
    let ends_well = |stdout: &'static [u8]| {
        move |talk: &mut Talk| {
            talk.hear_until(MessageType::COMMAND);
            talk.say_bytes(&bytes_of(&[OPEN, S::Write { stream: 1, data: stdout }, EXIT]));
            talk.hear_out();
        }
    };
    meets(ErrorKind::Refused, Delivery::Observed, ends_well(b"half a listing\n"));
    let peer = ScriptedPeer::play(ends_well(b""));
    let two = Command::new("unbind-key").args(["-q", "x"]);
    let two = CommandList::from(two).then(Command::new("list-sessions"));
    let error = fails(SHORT, peer.handle(PATIENCE).run(two));
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Refused, Delivery::Observed));
    peer.finish();
    // What tmux itself does for one command with -q, which is then all there is.
    let peer = ScriptedPeer::play(ends_well(b""));
    let output = block_on(peer.handle(PATIENCE).run(["unbind-key", "-q", "x"])).unwrap();
    assert_eq!((output.status, output.server), (0, None));
    peer.finish();
}

#[test]
fn a_message_out_of_turn_ends_the_call() {
    for message in
        [S::Detach { session: b"main" }, S::Exec { command: b"rm", shell: b"sh" }, S::Suspend]
    {
        let error = meets(ErrorKind::Transport, Delivery::PossiblySent, move |talk| {
            talk.hear_until(MessageType::COMMAND);
            talk.say(&message);
            talk.hear_out();
        });
        assert!(error.to_string().contains(&message.kind().to_string()), "{error}");
    }
}

#[test]
fn output_without_end_is_cut_off_soon_after_the_limit() {
    const LIMIT: usize = 4 << 20;
    let said = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&said);
    let peer = ScriptedPeer::play(move |talk| {
        talk.hear_until(MessageType::COMMAND);
        talk.say(&OPEN);
        let piece = bytes_of(&[S::Write { stream: 1, data: &[b'x'; MAX_STREAM_DATA] }]);
        while talk.say_bytes(&piece) {
            counted.fetch_add(piece.len(), Ordering::Relaxed);
        }
    });
    let tmux = peer.handle(PATIENCE);
    let error = fails(SHORT, tmux.request(["list-sessions"]).reply_limit(LIMIT).run());
    assert_eq!(error.kind(), ErrorKind::ReplyTooLong, "{error}");
    assert_eq!(error.delivery(), Delivery::PossiblySent);
    peer.finish();
    let said = said.load(Ordering::Relaxed);
    // What the sockets hold comes on top of what was read.
    assert!((LIMIT..LIMIT + (1 << 20)).contains(&said), "{said}");
}

#[test]
fn input_that_the_server_does_not_take_ends_at_the_deadline() {
    let peer = ScriptedPeer::play(|talk| {
        talk.hear_until(MessageType::COMMAND);
        talk.say(&STDIN);
        std::thread::sleep(SHORT * 2);
    });
    let stdin = Stdin::Bytes(vec![7; 16 << 20].into());
    let tmux = peer.handle(SHORT);
    let error = fails(SHORT, tmux.request(["load-buffer", "-"]).stdin(stdin).run());
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Deadline, Delivery::PossiblySent));
    peer.finish();
}

#[test]
fn an_answer_of_another_server_than_the_expected_one_is_refused() {
    on_each_release(|release| {
        let server = Server::start(release);
        let tmux = server.handle();
        let identity = block_on(tmux.server()).unwrap().identity;
        let other = ServerIdentity { pid: identity.pid + 1, ..identity };
        for (list, status) in [(["list-sessions", "-F", "x"], 0), (["has-session", "-t", "=no"], 1)]
        {
            let error = fails(PATIENCE, tmux.request(list).expect_server(other).run());
            let found = (error.kind(), error.delivery());
            assert_eq!(found, (ErrorKind::ServerChanged, Delivery::Observed), "{list:?}");
            let output = block_on(tmux.request(list).expect_server(identity).run()).unwrap();
            assert_eq!(output.status, status);
            assert_eq!(output.stdout, if status == 0 { "x\n" } else { "" });
            assert_eq!(output.server.unwrap().identity, identity);
        }
        let groups = vec![["has-session", "-t", "=no"].into(), ["list-sessions"].into()];
        let error = fails(PATIENCE, tmux.requests(groups).expect_server(other).run_all());
        assert_eq!(error.kind(), ErrorKind::ServerChanged);
    });
}

#[test]
fn a_future_that_is_dropped_hangs_up() {
    // Dropped while the reply is awaited, in its middle, and while input is sent.
    let peer = ScriptedPeer::play_times(3, |time, talk| {
        talk.hear_until(MessageType::COMMAND);
        match time {
            0 => {}
            1 => assert!(talk.say_bytes(&bytes_of(&[OPEN])[..10])),
            _ => assert!(talk.say(&STDIN)),
        }
        talk.hear_out(); // panics if the client stays
    });
    let tmux = peer.handle(PATIENCE);
    block_on(async {
        for time in 0..3 {
            let request = tmux.request(["list-sessions"]).deadline(None);
            let stdin =
                if time == 2 { Stdin::Reader(Box::new(tokio::io::repeat(7))) } else { Stdin::None };
            let run = request.stdin(stdin).run();
            assert!(tokio::time::timeout(SHORT, run).await.is_err(), "it was to be dropped");
        }
    });
    peer.finish();
}

#[test]
fn nothing_is_sent_before_a_future_is_polled() {
    let peer = ScriptedPeer::play(Talk::hear_out);
    let tmux = peer.handle(SHORT);
    drop(tmux.run(["kill-server"]));
    drop(tmux.request(["kill-server"]).run());
    let error = fails(SHORT, tmux.run(["list-sessions"]));
    assert_eq!(error.kind(), ErrorKind::Deadline);
    let heard = peer.finish().remove(0);
    let commands: Vec<&Heard> =
        heard.iter().filter(|heard| heard.kind == MessageType::COMMAND).collect();
    assert_eq!(commands.len(), 1);
    assert!(commands[0].payload[4..].starts_with(b"list-sessions\0"));
}

/// Connects until the listener's backlog is full.
fn fill_backlog(path: &Path) -> Vec<OwnedFd> {
    let address = UnixAddr::new(path).unwrap();
    let mut waiting = Vec::new();
    loop {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket::socket(AddressFamily::Unix, SockType::Stream, flags, None).unwrap();
        match socket::connect(socket.as_raw_fd(), &address) {
            Ok(()) => waiting.push(socket),
            Err(Errno::EAGAIN) => return waiting,
            Err(errno) => panic!("{errno}"),
        }
        assert!(waiting.len() < 5_000);
    }
}

#[track_caller]
fn is_not_taken(tmux: &Tmux) {
    let error = fails(SHORT, tmux.request(["kill-server"]).deadline(Some(SHORT)).run());
    assert_eq!(
        (error.kind(), error.delivery()),
        (ErrorKind::Deadline, Delivery::NotSent),
        "{error}"
    );
    assert!(error.is_retryable());
}

#[test]
fn a_listener_with_a_full_backlog_ends_at_the_deadline_and_nothing_was_sent() {
    let directory = support::directory();
    let path = directory.path().join("full");
    let flags = SockFlag::SOCK_CLOEXEC;
    let listener = socket::socket(AddressFamily::Unix, SockType::Stream, flags, None).unwrap();
    socket::bind(listener.as_raw_fd(), &UnixAddr::new(&path).unwrap()).unwrap();
    socket::listen(&listener, Backlog::new(1).unwrap()).unwrap();
    let waiting = fill_backlog(&path);
    let tmux = Tmux::builder().socket_path(&path).build().unwrap();
    is_not_taken(&tmux);
    drop(waiting);
}

#[test]
fn a_stopped_server_ends_at_the_deadline_and_goes_on_unharmed() {
    on_each_release(|release| {
        let server = Server::start(release);
        let tmux = server.handle();
        assert!(signal(server.pid(), "STOP"));
        // The kernel takes the connection for it: what was sent will be read.
        let set = Command::new("set-option").args(["-g", "@late", "yes"]);
        let error = fails(SHORT, tmux.request(set).deadline(Some(SHORT)).run());
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Deadline, Delivery::PossiblySent));
        assert!(!error.is_retryable());

        let waiting = fill_backlog(server.socket());
        is_not_taken(&tmux);
        drop(waiting);
        assert!(signal(server.pid(), "CONT"));
        assert!(server.answers());
        assert_eq!(server.show("#{@late}"), "yes", "what was possibly sent was sent");
        assert_eq!(block_on(tmux.run(["list-sessions"])).unwrap().status, 0);
    });
}

#[test]
fn a_server_that_dies_in_the_middle_of_a_reply_is_gone() {
    on_each_release(|release| {
        let server = Server::start(release);
        let tmux = server.handle();
        assert!(block_on(tmux.run(["list-sessions"])).is_ok());
        let pid = server.pid();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(SHORT);
            signal(pid, "KILL")
        });
        let error = fails(SHORT, tmux.run(["wait-for", "never"]));
        assert_eq!(
            (error.kind(), error.delivery()),
            (ErrorKind::ServerGone, Delivery::PossiblySent)
        );
        assert!(killer.join().unwrap());
        eventually("the end of the server", || has_ended(pid).then_some(()));
        let error = fails(SHORT, tmux.run(["list-sessions"]));
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::NoServer, Delivery::NotSent));
    });
}

#[test]
fn a_server_that_is_told_to_end_is_gone_for_who_waits_and_not_for_who_told_it() {
    on_each_release(|release| {
        let server = Server::start(release);
        let tmux = server.handle();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(SHORT);
                let told = block_on(tmux.run(["kill-server"])).unwrap();
                assert_eq!(told.status, 0, "{told:?}");
            });
            scope.spawn(|| {
                let lists = vec![["wait-for", "never"].into(), ["list-sessions"].into()];
                let error = fails(SHORT, tmux.run_all(lists));
                let found = (error.kind(), error.delivery());
                assert_eq!(found, (ErrorKind::ServerGone, Delivery::PossiblySent));
            });
            let error = fails(SHORT, tmux.run(["wait-for", "never"]));
            let found = (error.kind(), error.delivery());
            assert_eq!(found, (ErrorKind::ServerGone, Delivery::PossiblySent));
        });
    });
}
