//! "The server says, we say": the command exchange as a table, without sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bytes::BytesMut;
use muxwire::exchange::{Client, CommandExchange, End, ExchangeError, Identify, Reply};
use muxwire::imsg::{Decoder, Dialect, FrameError, MAX_PAYLOAD, encode};
use muxwire::protocol::{
    ClientMessage, Command, CommandError, CommandList, MAX_PACKED, MAX_STREAM_DATA, MessageError,
    MessageType, ServerMessage,
};

use ClientMessage as C;
use ServerMessage as S;

const EBADF: i32 = 9;
const EACCES: i32 = 13;
const EBUSY: i32 = 16;
const NO_LIMIT: usize = usize::MAX;

/// An exchange whose first burst has been sent.
struct Script(CommandExchange);

impl Script {
    fn new(stdin: bool, reply_limit: usize) -> Self {
        let list = CommandList::from(["list-sessions"]);
        let identify = Identify::new(&Client::default()).unwrap();
        let mut exchange = CommandExchange::new(&identify, &[list], stdin, reply_limit).unwrap();
        exchange.outgoing().clear();
        Self(exchange)
    }

    /// The server says this.
    fn hear(&mut self, message: &S<'_>) -> Result<Option<Reply>, ExchangeError> {
        self.0.receive(&server_bytes(&[*message]))
    }

    /// We say exactly this.
    #[track_caller]
    fn says(&mut self, expected: &[C<'_>]) {
        let mut bytes = BytesMut::new();
        for message in expected {
            message.encode(Dialect::Modern, &mut bytes).unwrap();
        }
        let said = self.0.outgoing().split();
        assert_eq!(said, bytes, "said {}, expected {}", shown(&said), shown(&bytes));
    }
}

fn server_bytes(messages: &[S<'_>]) -> BytesMut {
    let mut bytes = BytesMut::new();
    for message in messages {
        message.encode(Dialect::Modern, &mut bytes).unwrap();
    }
    bytes
}

fn shown(bytes: &[u8]) -> String {
    let (mut decoder, mut input) = (Decoder::new(Dialect::Modern), bytes);
    let mut text = String::new();
    while let Some(frame) = decoder.decode(&mut input).unwrap() {
        text += &format!("[{:.80?}]", C::decode(&frame).unwrap());
    }
    text
}

fn reply(stdout: &'static str, stderr: &'static str, end: End) -> Reply {
    Reply { stdout: stdout.into(), stderr: stderr.into(), end }
}

fn unexpected(kind: MessageType) -> Result<Option<Reply>, ExchangeError> {
    Err(ExchangeError::Unexpected { kind })
}

const OPEN_1: S<'static> = S::WriteOpen { stream: 1, fd: 1, flags: 0, path: None };
const OPEN_2: S<'static> = S::WriteOpen { stream: 2, fd: 2, flags: 0, path: None };
const OPEN_5: S<'static> = S::WriteOpen { stream: 5, fd: 1, flags: 0x200, path: Some(b"-") };
const STDIN_3: S<'static> = S::ReadOpen { stream: 3, fd: 0, path: b"-" };
const EXIT: S<'static> = S::Exit { status: Some(0), text: None };

#[test]
fn each_thing_that_a_server_may_say_first_has_its_answer() {
    let file = |stream, fd, path: &'static [u8]| S::WriteOpen {
        stream,
        fd,
        flags: 0x200,
        path: Some(path),
    };
    let ready = |stream, errno| vec![C::WriteReady { stream, errno }];
    let done = |stream, errno| vec![C::ReadDone { stream, errno }];
    for (server, client) in [
        (OPEN_1, ready(1, 0)),
        (OPEN_2, ready(2, 0)),
        (OPEN_5, ready(5, 0)),
        // Files are not opened, in either direction, whatever they are called.
        (file(5, -1, b"/etc/passwd"), ready(5, EACCES)),
        (file(5, -1, b"-"), ready(5, EACCES)),
        (file(5, 1, b"/etc/passwd"), ready(5, EACCES)),
        (file(1, -1, b"/etc/passwd"), ready(1, EACCES)),
        (S::WriteOpen { stream: 1, fd: 2, flags: 0, path: None }, ready(1, EACCES)),
        (S::WriteOpen { stream: 5, fd: 1, flags: 0, path: None }, ready(5, EACCES)),
        (S::ReadOpen { stream: 3, fd: -1, path: b"/etc/passwd" }, done(3, EACCES)),
        (S::ReadOpen { stream: 3, fd: -1, path: b"-" }, done(3, EACCES)),
        (S::ReadOpen { stream: 3, fd: 0, path: b"/etc/passwd" }, done(3, EACCES)),
        // No standard input is offered here.
        (STDIN_3, done(3, EBADF)),
        // Nothing to say.
        (S::ReadCancel { stream: 3 }, vec![]),
        (S::WriteClose { stream: 9 }, vec![]),
        (S::Write { stream: 1, data: b"x" }, vec![]),
        (S::Write { stream: 2, data: b"" }, vec![]),
        (S::Exited, vec![]),
        (S::Ready, vec![]),
        (S::Flags { bits: 0x1_0000 }, vec![]),
        (S::Unknown { kind: MessageType(0), payload: b"" }, vec![]),
        (S::Unknown { kind: MessageType(4_711), payload: &[0xff; 100] }, vec![]),
        (S::Unknown { kind: MessageType::COMMAND, payload: b"" }, vec![]),
    ] {
        let mut script = Script::new(false, NO_LIMIT);
        assert_eq!(script.hear(&server), Ok(None), "{server:?}");
        script.says(&client);
        let printed = if matches!(server, S::Write { .. }) { script.0.has_output() } else { true };
        assert!(printed || matches!(server, S::Write { data: b"", .. }));
        assert!(matches!(script.hear(&EXIT), Ok(Some(_))), "{server:?} and then EXIT");
    }
}

#[test]
fn what_does_not_belong_into_the_conversation_ends_it_by_name() {
    for server in [
        S::Detach { session: b"main" },
        S::DetachKill { session: b"main" },
        S::Exec { command: b"rm", shell: b"/bin/sh" },
        S::Lock { command: b"lock" },
        S::Suspend,
        S::Shell { path: b"/bin/sh" },
        S::Write { stream: 5, data: b"never opened" },
    ] {
        let mut script = Script::new(true, NO_LIMIT);
        assert_eq!(script.hear(&server), unexpected(server.kind()));
        script.says(&[]);
    }
}

#[test]
fn stdout_and_stderr_are_kept_apart_and_other_streams_are_stdout_until_they_close() {
    let mut script = Script::new(false, NO_LIMIT);
    for message in [
        OPEN_1,
        OPEN_2,
        S::Write { stream: 2, data: b"no " },
        S::Write { stream: 1, data: b"a" },
        OPEN_5,
        S::Write { stream: 5, data: b"b" },
        S::WriteClose { stream: 5 },
        S::Write { stream: 2, data: b"good" },
        S::Write { stream: 1, data: b"c" },
    ] {
        assert_eq!(script.hear(&message), Ok(None));
    }
    let ready = |stream| C::WriteReady { stream, errno: 0 };
    script.says(&[ready(1), ready(2), ready(5)]);
    let late = S::Write { stream: 5, data: b"after its close" };
    assert_eq!(Script(script.0).hear(&late), unexpected(MessageType::WRITE));

    let mut script = Script::new(false, NO_LIMIT);
    for message in [S::Write { stream: 2, data: b"no good" }, S::Write { stream: 1, data: b"abc" }]
    {
        assert_eq!(script.hear(&message), Ok(None), "data comes without an open when it is pushed");
    }
    let ended = script.hear(&S::Exit { status: Some(1), text: None });
    assert_eq!(ended, Ok(Some(reply("abc", "no good", End::Exit { status: 1 }))));
}

#[test]
fn an_exit_is_its_status_unless_it_comes_with_words() {
    for (status, text, expected) in [
        (None, None, Ok(0)),
        (Some(0), None, Ok(0)),
        (Some(-1), None, Ok(-1)),
        (Some(i32::MAX), None, Ok(i32::MAX)),
        (Some(0), Some(&b""[..]), Ok(0)),
        (Some(0), Some(b"access not allowed"), Err("access not allowed")),
        (Some(1), Some(b"too far \xff behind"), Err("too far \u{fffd} behind")),
    ] {
        let mut script = Script::new(false, NO_LIMIT);
        let found = script.hear(&S::Exit { status, text });
        let expected = match expected {
            Ok(status) => Ok(Some(reply("", "", End::Exit { status }))),
            Err(text) => Err(ExchangeError::Refused { text: text.into() }),
        };
        assert_eq!(found, expected);
    }
}

#[test]
fn a_shutdown_at_any_step_is_an_end_of_its_own_and_keeps_what_was_printed() {
    let steps = [
        OPEN_1,
        S::Write { stream: 1, data: b"a" },
        OPEN_2,
        S::Write { stream: 2, data: b"b" },
        STDIN_3,
    ];
    for count in 0..=steps.len() {
        let mut script = Script::new(true, NO_LIMIT);
        for step in &steps[..count] {
            assert_eq!(script.hear(step), Ok(None));
        }
        let stdout = if count >= 2 { "a" } else { "" };
        let stderr = if count >= 4 { "b" } else { "" };
        let ended = script.hear(&S::Shutdown);
        assert_eq!(ended, Ok(Some(reply(stdout, stderr, End::Shutdown))), "after {count} steps");
    }
    // In odd cases it carries a status.
    let mut bytes = BytesMut::new();
    encode(Dialect::Modern, 210, false, &mut bytes, |to| to.extend_from_slice(&[1, 0, 0, 0]))
        .unwrap();
    let ended = Script::new(false, NO_LIMIT).0.receive(&bytes);
    assert_eq!(ended, Ok(Some(reply("", "", End::Shutdown))));
}

#[test]
fn another_protocol_version_is_named_however_it_is_told() {
    for (kind, peer_id, server) in
        [(12u32, 8u32, 8), (12, 7, 7), (12, 0x109, 9), (203, 9, 9), (304, 0, 0)]
    {
        let mut bytes = server_bytes(&[EXIT]);
        bytes[0..4].copy_from_slice(&kind.to_ne_bytes());
        bytes[8..12].copy_from_slice(&peer_id.to_ne_bytes());
        if kind == 12 {
            bytes[4..8].copy_from_slice(&16u32.to_ne_bytes());
            bytes.truncate(16);
        }
        let mut script = Script::new(false, NO_LIMIT);
        assert_eq!(
            script.0.receive(&bytes),
            Err(ExchangeError::Version { server }),
            "{kind} {peer_id}"
        );
    }
    // Only the low 8 bits count.
    let mut bytes = server_bytes(&[EXIT]);
    bytes[8..12].copy_from_slice(&0x1234_5608u32.to_ne_bytes());
    assert!(matches!(Script::new(false, NO_LIMIT).0.receive(&bytes), Ok(Some(_))));
}

#[test]
fn a_frame_that_cannot_be_and_a_message_that_is_not_one_end_the_conversation() {
    for length in [0u32, 15, 16_385, 65_552, u32::MAX >> 1] {
        let mut bytes = server_bytes(&[EXIT]);
        bytes[4..8].copy_from_slice(&length.to_ne_bytes());
        let found = Script::new(false, NO_LIMIT).0.receive(&bytes);
        assert_eq!(found, Err(ExchangeError::Frame(FrameError::Length { length })));
    }
    for (kind, payload, error) in [
        (203, &b"\0\0\0"[..], MessageError::TooShort { kind: MessageType::EXIT, length: 3 }),
        (203, b"\0\0\0\0words", MessageError::Text { kind: MessageType::EXIT }),
        (203, b"\0\0\0\0a\0b", MessageError::Trailing { kind: MessageType::EXIT, count: 1 }),
        (303, b"\0\0\0\0", MessageError::TooShort { kind: MessageType::WRITE_OPEN, length: 4 }),
        (304, b"\0\0", MessageError::TooShort { kind: MessageType::WRITE, length: 2 }),
        (300, b"\0\0\0\0\0\0\0\0-", MessageError::Text { kind: MessageType::READ_OPEN }),
    ] {
        let mut bytes = BytesMut::new();
        encode(Dialect::Modern, kind, false, &mut bytes, |to| to.extend_from_slice(payload))
            .unwrap();
        let found = Script::new(false, NO_LIMIT).0.receive(&bytes);
        assert_eq!(found, Err(ExchangeError::Message(error)));
    }
}

#[test]
fn the_reply_limit_is_exact_and_counts_all_streams_together() {
    for limit in [0, 1, 9, 10] {
        for streams in [[1, 1], [2, 2], [1, 2], [2, 5], [5, 5]] {
            for excess in [0, 1] {
                let mut script = Script::new(false, limit);
                script.hear(&OPEN_5).unwrap();
                let first = &b"0123456789x"[..limit / 2];
                let second = &b"0123456789x"[..limit - limit / 2 + excess];
                script.hear(&S::Write { stream: streams[0], data: first }).unwrap();
                let found = script.hear(&S::Write { stream: streams[1], data: second });
                let error = ExchangeError::ReplyTooLong { limit };
                let expected = if excess == 0 { Ok(None) } else { Err(error) };
                assert_eq!(found, expected, "limit {limit}, streams {streams:?}");
            }
        }
    }
}

#[test]
fn a_server_that_opens_without_end_is_followed_only_so_far() {
    let mut script = Script::new(false, NO_LIMIT);
    let open = |stream| S::WriteOpen { stream, fd: 1, flags: 0, path: Some(b"-") };
    for stream in 3..67 {
        assert_eq!(script.hear(&open(stream)), Ok(None), "{stream}");
    }
    assert_eq!(script.hear(&open(67)), unexpected(MessageType::WRITE_OPEN));

    let mut script = Script::new(false, NO_LIMIT);
    for stream in 3..1_000 {
        assert_eq!(script.hear(&open(stream)), Ok(None), "{stream}");
        assert_eq!(script.hear(&S::WriteClose { stream }), Ok(None));
    }

    // Answers that the server does not read are not piled up without end either.
    let refused = server_bytes(&vec![S::ReadOpen { stream: 3, fd: -1, path: b"/x" }; 1_000]);
    let mut script = Script::new(false, NO_LIMIT);
    let mut rounds = 0;
    let error = loop {
        match script.0.receive(&refused) {
            Ok(none) => assert_eq!(none, None),
            Err(error) => break error,
        }
        rounds += 1;
        assert!(rounds < 1_000, "{} bytes wait to be sent", script.0.outgoing().len());
    };
    assert_eq!(Err(error), unexpected(MessageType::READ_OPEN));
    assert!(script.0.outgoing().len() < 9 << 20, "{}", script.0.outgoing().len());
}

#[test]
fn what_follows_an_exit_is_not_read() {
    let mut bytes = server_bytes(&[S::Write { stream: 1, data: b"a" }, EXIT]);
    let whole = bytes.len();
    bytes.extend(server_bytes(&[S::Write { stream: 9, data: b"b" }, S::Shutdown]));
    bytes.extend([0xff; 64]);
    for cut in [bytes.len(), whole, whole + 5] {
        let found = Script::new(false, NO_LIMIT).0.receive(&bytes[..cut]);
        assert_eq!(found, Ok(Some(reply("a", "", End::Exit { status: 0 }))));
    }
}

#[test]
fn an_end_of_the_stream_at_any_byte_is_told_from_an_end_between_frames() {
    let messages =
        [OPEN_1, S::Write { stream: 1, data: b"abc" }, S::Flags { bits: 1 }, OPEN_2, EXIT];
    let bytes = server_bytes(&messages);
    let boundaries: Vec<usize> =
        (0..messages.len()).map(|n| server_bytes(&messages[..n]).len()).collect();
    for end in 0..bytes.len() {
        let mut script = Script::new(false, NO_LIMIT);
        assert_eq!(script.0.receive(&bytes[..end]), Ok(None), "{end}");
        let mid_frame = !boundaries.contains(&end);
        assert_eq!(script.0.ended(), ExchangeError::Ended { mid_frame }, "{end}");
    }
}

mod stdin {
    //! Standard input: asked for, given, taken back.

    use super::*;

    fn read(stream: i32, data: &[u8]) -> C<'_> {
        C::Read { stream, data }
    }

    fn done(stream: i32, errno: i32) -> C<'static> {
        C::ReadDone { stream, errno }
    }

    #[test]
    fn data_of_any_size_is_sent_in_frames_and_its_end_is_told_once() {
        for size in [0, 1, MAX_STREAM_DATA, MAX_STREAM_DATA + 1, 1 << 20] {
            let data: Vec<u8> = (0..size).map(|n| u8::try_from(n % 251).unwrap()).collect();
            let mut script = Script::new(true, NO_LIMIT);
            assert!(!script.0.wants_stdin(), "before it is asked for");
            script.hear(&STDIN_3).unwrap();
            script.says(&[]);
            assert!(script.0.wants_stdin());
            script.0.stdin(&data);
            script.0.stdin_ended(0);
            assert!(!script.0.wants_stdin());
            script.0.stdin_ended(0);
            script.0.stdin(b"more");
            let frames = data.chunks(MAX_STREAM_DATA).map(|data| read(3, data));
            script.says(&frames.chain([done(3, 0)]).collect::<Vec<_>>());
        }
        assert_eq!(MAX_STREAM_DATA, 16_364);
    }

    #[test]
    fn no_more_is_asked_for_while_much_waits_to_be_sent() {
        let mut script = Script::new(true, NO_LIMIT);
        script.hear(&STDIN_3).unwrap();
        let mut given = 0;
        while script.0.wants_stdin() {
            script.0.stdin(&[7; 1_000]);
            given += 1_000;
        }
        assert!((1_000..=100_000).contains(&given), "{given}");
        let _ = script.0.outgoing().split();
        assert!(script.0.wants_stdin(), "what was sent makes room");
    }

    #[test]
    fn data_that_nobody_asked_for_is_not_sent() {
        let mut script = Script::new(true, NO_LIMIT);
        script.0.stdin(b"too early");
        script.says(&[]);
        script.hear(&STDIN_3).unwrap();
        script.0.stdin(b"in time");
        script.says(&[read(3, b"in time")]);
        assert!(matches!(script.hear(&EXIT), Ok(Some(_))));
    }

    #[test]
    fn an_input_that_cannot_be_read_is_told_by_its_error_number() {
        let mut script = Script::new(true, NO_LIMIT);
        script.hear(&STDIN_3).unwrap();
        script.0.stdin(b"some");
        script.0.stdin_ended(5);
        script.says(&[read(3, b"some"), done(3, 5)]);
    }

    #[test]
    fn a_second_reader_is_told_to_wait_its_turn_and_later_that_nothing_is_left() {
        let second = S::ReadOpen { stream: 4, fd: 0, path: b"-" };
        let mut script = Script::new(true, NO_LIMIT);
        script.hear(&STDIN_3).unwrap();
        script.hear(&second).unwrap();
        script.says(&[done(4, EBUSY)]);
        script.0.stdin(b"x");
        script.0.stdin_ended(0);
        script.hear(&second).unwrap();
        script.says(&[read(3, b"x"), done(3, 0), done(4, 0)]);
        // A file is refused in each of these states too.
        script.hear(&S::ReadOpen { stream: 5, fd: -1, path: b"/etc/passwd" }).unwrap();
        script.says(&[done(5, EACCES)]);
    }

    #[test]
    fn reading_stops_when_the_server_cancels_it_and_only_for_the_stream_that_it_names() {
        let mut script = Script::new(true, NO_LIMIT);
        script.hear(&STDIN_3).unwrap();
        script.hear(&S::ReadCancel { stream: 4 }).unwrap();
        assert!(script.0.wants_stdin());
        script.0.stdin(b"x");
        script.hear(&S::ReadCancel { stream: 3 }).unwrap();
        assert!(!script.0.wants_stdin());
        script.0.stdin(b"y");
        script.0.stdin_ended(0);
        script.hear(&S::ReadCancel { stream: 3 }).unwrap();
        script.says(&[read(3, b"x"), done(3, 0)]);
    }
}

mod burst {
    //! What is sent first.

    use super::*;

    fn exchange(groups: &[CommandList]) -> Result<CommandExchange, CommandError> {
        CommandExchange::new(&Identify::new(&Client::default()).unwrap(), groups, false, NO_LIMIT)
    }

    #[test]
    fn identify_and_every_command_list_go_out_in_one_piece_in_order() {
        let groups =
            [CommandList::from(["a", "b;"]), CommandList::from(["c"]).then(Command::new("d"))];
        let mut exchange = exchange(&groups).unwrap();
        let identify = Identify::new(&Client::default()).unwrap();
        let sent = exchange.outgoing().split();
        let rest = sent.strip_prefix(identify.as_bytes()).unwrap();
        let mut expected = BytesMut::new();
        for group in groups {
            C::Command(group).encode(Dialect::Modern, &mut expected).unwrap();
        }
        assert_eq!(rest, expected);
    }

    #[test]
    fn lists_that_cannot_be_sent_are_refused_by_their_size() {
        let of = |length: usize| CommandList::from(["a".to_owned(), "x".repeat(length - 3)]);
        assert!(exchange(&[of(MAX_PACKED)]).is_ok());
        let error = CommandError::TooLong { length: MAX_PACKED + 1, limit: MAX_PACKED };
        assert_eq!(exchange(&[of(MAX_PACKED + 1)]).err(), Some(error));
        assert_eq!(MAX_PACKED, MAX_PAYLOAD - 4);
        assert_eq!(exchange(&[]).err(), Some(CommandError::Empty));
        let fits = exchange(&[of(MAX_PACKED), of(MAX_PACKED / 2)]);
        assert!(fits.is_ok());
        let error = exchange(&[of(MAX_PACKED), of(MAX_PACKED)]).err();
        let too_long =
            matches!(error, Some(CommandError::BurstTooLong { length, limit }) if length > limit);
        assert!(too_long, "{error:?}");
    }
}
