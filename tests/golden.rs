//! What real clients and servers said to each other, replayed: `tests/golden/README.md` tells how
//! it was recorded.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![cfg(target_endian = "little")] // as the machine on which it was recorded

use std::path::{Path, PathBuf};

use bytes::BytesMut;
use muxwire::exchange::{Client, CommandExchange, End, ExchangeError, Identify, Reply};
use muxwire::imsg::{Decoder, Dialect, MAX_FRAME};
use muxwire::model::Version;
use muxwire::protocol::{ClientMessage, CommandList, MessageType, ServerMessage};

/// Streams up to this length are cut at every place.
const SMALL: usize = 1_000;

struct Case {
    version: Version,
    name: String,
    client: Vec<u8>,
    server: Vec<u8>,
    printed: Reply,
}

impl Case {
    fn read(version: &Path, name: &str) -> Self {
        let part = |suffix: &str| {
            let path = version.join(format!("{name}.{suffix}"));
            std::fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
        };
        let status = String::from_utf8(part("status")).unwrap().trim().parse().unwrap();
        let printed = Reply {
            stdout: part("out").into(),
            stderr: part("err").into(),
            end: End::Exit { status },
        };
        let version = Version::parse(version.file_name().unwrap().to_str().unwrap());
        Self { version, name: name.into(), client: part("client"), server: part("server"), printed }
    }

    fn dialect(&self) -> Dialect {
        if self.version.at_least(3, 6) { Dialect::Modern } else { Dialect::Legacy }
    }

    /// What a client that does all that the server asks for has to print.
    fn expected(&self) -> Reply {
        let mut expected = self.printed.clone();
        if self.name == "show-buffer-thrice" {
            // The real client refused the second of three streams, so that the server complained,
            // then lost that complaint and put the third stream on stderr. Here every stream is
            // stdout and the complaint is kept.
            let Reply { stdout, stderr, .. } = &self.printed;
            expected.stdout = [&stdout[..], &stderr[..]].concat().into();
            expected.stderr = if self.version.at_least(3, 7) {
                (&b"Bad file descriptor: -\n"[..]).into()
            } else {
                (&b"-: Bad file descriptor\n"[..]).into()
            };
        }
        expected
    }

    /// The command list that the real client sent.
    fn commands(&self) -> CommandList {
        let mut decoder = Decoder::new(self.dialect());
        let mut input = &self.client[..];
        while let Some(frame) = decoder.decode(&mut input).unwrap() {
            if let ClientMessage::Command(list) = ClientMessage::decode(&frame).unwrap() {
                return list;
            }
        }
        panic!("{self}: no command list");
    }

    fn exchange(&self) -> CommandExchange {
        let identify = Identify::new(&Client::default()).unwrap();
        let offers_stdin = self.name.ends_with("-stdin");
        CommandExchange::new(&identify, &[self.commands()], offers_stdin, usize::MAX).unwrap()
    }

    /// Feeds the server's bytes in these pieces.
    fn replay<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> Option<Reply> {
        let mut exchange = self.exchange();
        let mut reply = None;
        for piece in pieces {
            assert_eq!(reply, None, "{self}: ended before its last byte");
            reply = exchange.receive(piece).unwrap_or_else(|error| panic!("{self}: {error}"));
            if exchange.wants_stdin() {
                exchange.stdin_ended(0);
            }
        }
        reply
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.version, self.name)
    }
}

fn cases() -> Vec<Case> {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut cases = Vec::new();
    for version in golden.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
        if !version.is_dir() {
            continue;
        }
        for file in version.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
            if file.extension().is_some_and(|suffix| suffix == "server") {
                cases.push(Case::read(&version, file.file_stem().unwrap().to_str().unwrap()));
            }
        }
    }
    assert!(cases.len() >= 5 * 17, "only {} recordings", cases.len());
    cases
}

#[test]
fn a_replayed_server_gives_what_the_real_client_printed_in_one_piece_and_byte_by_byte() {
    for case in cases() {
        let expected = Some(case.expected());
        assert_eq!(case.replay([&case.server[..]]), expected, "{case} in one piece");
        assert_eq!(case.replay(case.server.chunks(1)), expected, "{case} byte by byte");
        for size in [15, 16, 17, 4_096, MAX_FRAME - 1, MAX_FRAME] {
            assert_eq!(case.replay(case.server.chunks(size)), expected, "{case} by {size}");
        }
    }
}

#[test]
fn a_replayed_server_gives_the_same_wherever_it_is_cut_in_two() {
    let mut cut = 0;
    for case in cases().into_iter().filter(|case| case.server.len() <= SMALL) {
        let expected = Some(case.expected());
        for at in 1..case.server.len() {
            let (first, second) = case.server.split_at(at);
            assert_eq!(case.replay([first, second]), expected, "{case} cut at {at}");
        }
        cut += 1;
    }
    assert!(cut >= 5 * 15, "only {cut} small recordings");
}

#[test]
fn a_replayed_server_that_ends_early_is_seen_to_and_in_the_middle_of_a_frame_too() {
    for case in cases() {
        let mut boundaries = vec![0];
        let mut decoder = Decoder::new(Dialect::Modern);
        let mut input = &case.server[..];
        while decoder.decode(&mut input).unwrap().is_some() {
            boundaries.push(case.server.len() - input.len());
        }
        let step = if case.server.len() <= SMALL { 1 } else { 509 };
        for end in (0..case.server.len()).step_by(step) {
            let mut exchange = case.exchange();
            assert_eq!(exchange.receive(&case.server[..end]), Ok(None), "{case} up to {end}");
            let mid_frame = !boundaries.contains(&end);
            assert_eq!(exchange.ended(), ExchangeError::Ended { mid_frame }, "{case} up to {end}");
        }
    }
}

#[test]
fn every_message_of_a_real_client_is_read_and_written_back_byte_for_byte() {
    for case in cases() {
        let dialect = case.dialect();
        let mut decoder = Decoder::new(dialect);
        let mut input = &case.client[..];
        let mut written = BytesMut::new();
        let mut descriptors = 0;
        while let Some(frame) = decoder.decode(&mut input).unwrap() {
            let message = ClientMessage::decode(&frame).unwrap();
            if let ClientMessage::Unknown { kind, .. } = message {
                assert_eq!(kind.to_string(), "WRITE_DONE", "{case}");
            }
            descriptors += usize::from(frame.header.has_fd);
            message.encode(dialect, &mut written).unwrap();
        }
        assert!(!decoder.is_mid_frame(), "{case}");
        assert_eq!(written, case.client, "{case}");
        let passed = if case.version.at_least(3, 2) { 2 } else { 1 };
        assert_eq!(descriptors, passed, "{case}");
    }
}

#[test]
fn every_message_of_a_real_server_is_known_and_written_back_byte_for_byte() {
    for case in cases() {
        let mut decoder = Decoder::new(case.dialect());
        let mut input = &case.server[..];
        let mut written = BytesMut::new();
        while let Some(frame) = decoder.decode(&mut input).unwrap() {
            let message = ServerMessage::decode(&frame).unwrap();
            assert!(!matches!(message, ServerMessage::Unknown { .. }), "{case}: {message:?}");
            message.encode(case.dialect(), &mut written).unwrap();
        }
        assert_eq!(written, case.server, "{case}");
    }
}

#[test]
fn our_command_list_is_packed_as_the_real_client_packed_it() {
    for case in cases() {
        let ours = match case.name.as_str() {
            "one-print" => vec!["display-message", "-p", "hello"],
            "semicolons" => {
                vec!["display-message", "-p", "a\\;", ";", "display-message", "-p", "x;y"]
            }
            "kill-server" => vec!["kill-server"],
            _ => continue,
        };
        assert_eq!(CommandList::from_command_line(ours), case.commands(), "{case}");
    }
}

#[test]
fn identify_names_to_the_server_what_a_real_client_names() {
    let ours: Vec<MessageType> = {
        let identify = Identify::new(&Client::default()).unwrap();
        let mut decoder = Decoder::new(Dialect::Modern);
        let mut input = identify.as_bytes();
        let mut kinds = Vec::new();
        while let Some(frame) = decoder.decode(&mut input).unwrap() {
            kinds.push(MessageType(frame.header.kind));
        }
        kinds
    };
    // Nothing is named that no real client names, and what is needed is named by all of them.
    for case in cases() {
        let mut theirs = Vec::new();
        let mut decoder = Decoder::new(case.dialect());
        let mut input = &case.client[..];
        while let Some(frame) = decoder.decode(&mut input).unwrap() {
            theirs.push(MessageType(frame.header.kind));
        }
        for kind in &ours {
            let either = [MessageType::IDENTIFY_FLAGS, MessageType::IDENTIFY_LONGFLAGS];
            let known = theirs.contains(kind) || either.contains(kind);
            assert!(known, "{case}: its client does not say {kind}");
        }
    }
}
