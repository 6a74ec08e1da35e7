//! Whole conversations with a server that says anything.

use bytes::BytesMut;

use super::{Input, cut};
use crate::exchange::{Client, CommandExchange, End, ExchangeError, Identify, Reply};
use crate::imsg::{Decoder, Dialect, PEER_ID};
use crate::protocol::{
    ClientMessage, CommandList, MAX_STREAM_DATA, MessageType, STDERR, ServerMessage,
};

/// Longest stream of a server: of one this long no answers pile up that end the conversation.
const LONGEST: usize = 1 << 20;
/// What requests for files are answered with, and requests for input that is not offered.
const EACCES: i32 = 13;
const EBADF: i32 = 9;
/// How the standard input ends that is offered: an error number, so that it is told from others.
const STDIN_ERRNO: i32 = 5;

/// How a conversation is held.
#[derive(Clone, Copy)]
struct Manner {
    /// Standard input is offered.
    stdin: bool,
    reply_limit: usize,
    /// What is to be sent is taken at once, not at the end.
    prompt: bool,
}

/// Input: options, lengths of pieces, then what a server says: bytes, or a script of messages.
///
/// Whatever it says, in whatever pieces, nothing panics, the outcome is the same, and the client
/// says nothing but what a client may: identify and the command lists, then an answer for each
/// request and data only of a standard input that was offered and asked for. A reply is what the
/// server wrote, and within its limit.
pub fn exchange(data: &[u8]) {
    let mut input = Input(data);
    let options = input.byte();
    let manner = Manner {
        stdin: options & 1 != 0,
        reply_limit: if options & 2 == 0 { LONGEST } else { 64 },
        prompt: options & 4 == 0,
    };
    let lengths = input.cuts();
    let said = match options & 8 {
        0 => BytesMut::from(input.bytes(LONGEST)),
        _ => script(&mut input),
    };
    let outcome = talk(manner, &[&said]);
    assert_eq!(talk(manner, &cut(&said, &lengths)), outcome);
    if let Ok(reply) = outcome {
        assert!(reply.stdout.len() + reply.stderr.len() <= manner.reply_limit);
        assert_eq!(reply, written(&said));
    }
}

/// Holds the conversation and looks at everything that the client says.
fn talk(manner: Manner, pieces: &[&[u8]]) -> Result<Reply, ExchangeError> {
    let Ok(identify) = Identify::new(&Client::default()) else { panic!("no identify") };
    let groups = [["display-message", "-p", "a"].into(), CommandList::from(["kill-pane;"])];
    let exchange = CommandExchange::new(&identify, &groups, manner.stdin, manner.reply_limit);
    let Ok(mut exchange) = exchange else { panic!("no exchange") };
    let mut said = Vec::new();
    let mut stdin = [1, MAX_STREAM_DATA + 1, 0, 100_000].into_iter();
    let mut outcome = None;
    for piece in pieces {
        match exchange.receive(piece) {
            Ok(None) => {}
            Ok(Some(reply)) => outcome = Some(Ok(reply)),
            Err(error) => outcome = Some(Err(error)),
        }
        while outcome.is_none() && exchange.wants_stdin() {
            match stdin.next() {
                Some(length) => exchange.stdin(&vec![b'x'; length]),
                None => exchange.stdin_ended(STDIN_ERRNO),
            }
        }
        assert!(exchange.outgoing().len() <= 2 * LONGEST, "too much waits to be sent");
        if manner.prompt {
            said.extend_from_slice(&exchange.outgoing().split());
        }
        if outcome.is_some() {
            break;
        }
    }
    said.extend_from_slice(exchange.outgoing());
    let outcome = outcome.unwrap_or_else(|| Err(exchange.ended()));
    check_client(&said, manner, &pieces.concat(), groups.len(), outcome.is_ok());
    outcome
}

/// Everything that the client said is what a client may say.
fn check_client(said: &[u8], manner: Manner, heard: &[u8], groups: usize, whole: bool) {
    let (mut identified, mut commands, mut ready, mut done) = (false, 0, 0, 0);
    let mut requests = Requests::of(heard);
    let mut rest = said;
    let mut decoder = Decoder::new(Dialect::Modern);
    while let Ok(Some(frame)) = decoder.decode(&mut rest) {
        assert!(!frame.header.has_fd && frame.header.peer_id == PEER_ID);
        let Ok(message) = ClientMessage::decode(&frame) else { panic!("not a message") };
        match message {
            ClientMessage::IdentifyDone if !identified => identified = true,
            ClientMessage::Command(_) if identified && commands < groups => commands += 1,
            ClientMessage::WriteReady { stream, errno } if commands == groups => {
                ready += 1;
                assert!([0, EACCES].contains(&errno), "{message:?}");
                requests.take(&(MessageType::WRITE_OPEN, stream, errno == 0));
            }
            ClientMessage::Read { stream, data } if commands == groups && manner.stdin => {
                assert!(requests.is_asked(stream), "{message:?}");
                assert!(!data.is_empty() && data.iter().all(|&byte| byte == b'x'));
            }
            ClientMessage::ReadDone { stream, errno } if commands == groups => {
                done += 1;
                requests.take(&(MessageType::READ_OPEN, stream, errno != EACCES));
                assert!(manner.stdin || [EBADF, EACCES].contains(&errno), "{message:?}");
            }
            _ => {
                let kind = message.kind();
                let identify = (100..112).contains(&kind.0) && kind != MessageType::IDENTIFY_DONE;
                assert!(!identified && identify, "{kind} out of turn");
            }
        }
    }
    assert!(rest.is_empty() && !decoder.is_mid_frame(), "the client stops in mid-frame");
    assert_eq!((identified, commands), (true, groups));
    if whole {
        assert_eq!(ready, Requests::of(heard).count(MessageType::WRITE_OPEN));
        // One may still be read for when the commands end.
        let asked = Requests::of(heard).count(MessageType::READ_OPEN);
        assert!(done == asked || manner.stdin && done + 1 == asked);
    }
}

/// What the server asked for up to its end, and the client has not yet answered: the request, its
/// stream, and whether it is for standard input or output and not for a file.
struct Requests(Vec<(MessageType, i32, bool)>);

impl Requests {
    fn of(heard: &[u8]) -> Self {
        let mut found = Vec::new();
        for_each_message(heard, |message| {
            let (stream, allowed) = match *message {
                ServerMessage::WriteOpen { stream, fd, path: Some(path), .. } => {
                    (stream, fd == 1 && path == b"-")
                }
                ServerMessage::WriteOpen { stream, fd, path: None, .. } => {
                    (stream, [1, 2].contains(&stream) && fd == stream)
                }
                ServerMessage::ReadOpen { stream, fd, path } => (stream, fd == 0 && path == b"-"),
                _ => return,
            };
            found.push((message.kind(), stream, allowed));
        });
        Self(found)
    }

    fn count(&self, kind: MessageType) -> usize {
        self.0.iter().filter(|request| request.0 == kind).count()
    }

    fn is_asked(&self, stream: i32) -> bool {
        self.0.contains(&(MessageType::READ_OPEN, stream, true))
    }

    /// Takes out a request that was answered.
    fn take(&mut self, request: &(MessageType, i32, bool)) {
        let found = self.0.iter().position(|found| found == request);
        let Some(at) = found else { panic!("an answer to what was not asked: {request:?}") };
        self.0.remove(at);
    }
}

/// The reply that the server wrote.
fn written(said: &[u8]) -> Reply {
    let (mut stdout, mut stderr, mut end) = (Vec::new(), Vec::new(), End::Shutdown);
    for_each_message(said, |message| match *message {
        ServerMessage::Write { stream: STDERR, data } => stderr.extend_from_slice(data),
        ServerMessage::Write { data, .. } => stdout.extend_from_slice(data),
        ServerMessage::Exit { status, .. } => end = End::Exit { status: status.unwrap_or(0) },
        _ => {}
    });
    Reply { stdout: stdout.into(), stderr: stderr.into(), end }
}

/// Hands the messages of a server to `look`, up to the one that ends the conversation.
fn for_each_message(said: &[u8], mut look: impl FnMut(&ServerMessage<'_>)) {
    let mut rest = said;
    let mut decoder = Decoder::new(Dialect::Modern);
    while let Ok(Some(frame)) = decoder.decode(&mut rest) {
        let Ok(message) = ServerMessage::decode(&frame) else { return };
        look(&message);
        if matches!(message, ServerMessage::Exit { .. } | ServerMessage::Shutdown) {
            return;
        }
    }
}

/// Messages of a server: for each, a byte that chooses its type, and its fields.
fn script(input: &mut Input<'_>) -> BytesMut {
    const STREAMS: [i32; 7] = [1, 2, 3, 4, 0, -1, i32::MAX];
    const FDS: [i32; 5] = [1, 2, 0, -1, 7];
    const PATHS: [&[u8]; 4] = [b"-", b"", b"/etc/passwd", b"a"];
    let mut said = BytesMut::new();
    while !input.is_empty() && said.len() < LONGEST - MAX_STREAM_DATA {
        let kind = input.byte();
        let stream = input.choice(&STREAMS);
        let text;
        let block = [b'y'; MAX_STREAM_DATA];
        let message = match kind % 14 {
            0 => {
                let optional = [None, Some(PATHS[0]), Some(PATHS[2])];
                let (fd, path) = (input.choice(&FDS), input.choice(&optional));
                ServerMessage::WriteOpen { stream, fd, flags: 0, path }
            }
            1 => ServerMessage::WriteOpen { stream: 1, fd: 1, flags: 0, path: None },
            2 => {
                text = input.text();
                ServerMessage::Write { stream, data: &text }
            }
            3 => ServerMessage::Write { stream, data: &block },
            4 => ServerMessage::WriteClose { stream },
            5 => ServerMessage::ReadOpen { stream, fd: 0, path: b"-" },
            6 => {
                let (fd, path) = (input.choice(&FDS), input.choice(&PATHS));
                ServerMessage::ReadOpen { stream, fd, path }
            }
            7 => ServerMessage::ReadCancel { stream },
            8 => ServerMessage::Exit { status: Some(stream), text: None },
            9 => {
                text = input.text();
                ServerMessage::Exit { status: Some(stream), text: Some(&text) }
            }
            10 => ServerMessage::Exit { status: None, text: None },
            11 => ServerMessage::Shutdown,
            12 => ServerMessage::Flags { bits: u64::from(kind) },
            _ => {
                let kinds = MessageType::ALL;
                let kind = input.choice(kinds);
                text = input.text();
                ServerMessage::Unknown { kind, payload: &text }
            }
        };
        assert_eq!(message.encode(Dialect::Modern, &mut said), Ok(()));
    }
    said
}
