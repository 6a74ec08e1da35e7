//! What holds for any frames, any command lists and any cut of a stream.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bytes::{Bytes, BytesMut};
use muxwire::exchange::{
    Client, CommandExchange, Identify, Nonce, Proof, ServerStamp, TextEncoding,
};
use muxwire::imsg::{Decoder, Dialect, MAX_PAYLOAD, encode};
use muxwire::model::unescape;
use muxwire::protocol::{ClientMessage, Command, CommandList, ServerMessage};
use proptest::collection::vec;
use proptest::prelude::*;

type Piece = (u32, bool, Vec<u8>);

fn dialect() -> impl Strategy<Value = Dialect> {
    prop_oneof![Just(Dialect::Legacy), Just(Dialect::Modern)]
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let length = prop_oneof![4 => 0..40usize, 1 => 0..=MAX_PAYLOAD];
    let payload = length.prop_flat_map(|length| vec(any::<u8>(), length));
    vec((any::<u32>(), any::<bool>(), payload), 0..8)
}

fn written(dialect: Dialect, pieces: &[Piece]) -> BytesMut {
    let mut out = BytesMut::new();
    for (kind, has_fd, payload) in pieces {
        encode(dialect, *kind, *has_fd, &mut out, |to| to.extend_from_slice(payload)).unwrap();
    }
    out
}

/// Cuts a stream at these places, taken modulo its length.
fn cut<'a>(stream: &'a [u8], at: &[usize]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = at.iter().map(|place| place % (stream.len() + 1)).collect();
    at.push(0);
    at.push(stream.len());
    at.sort_unstable();
    at.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect()
}

/// An argument of any bytes but NUL, with many at the places that matter.
fn argument() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![2 => 1..=255u8, 1 => Just(b';'), 1 => Just(b'\\')];
    vec(byte, 0..12)
}

fn commands() -> impl Strategy<Value = Vec<Vec<Vec<u8>>>> {
    let name = argument().prop_map(|mut name| {
        name.insert(0, b'n');
        name
    });
    let command = (name, vec(argument(), 0..6)).prop_map(|(name, mut arguments)| {
        arguments.insert(0, name);
        arguments
    });
    vec(command, 1..6)
}

/// How tmux reads packed arguments: one that ends in `;` ends a command, unless the `;` is
/// escaped, which makes it a part of the argument.
fn as_tmux_reads(packed: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut commands = vec![Vec::new()];
    for argument in packed.strip_suffix(b"\0").unwrap().split(|&byte| byte == 0) {
        let (argument, ends) = match argument {
            [before @ .., b'\\', b';'] => ([before, b";"].concat(), false),
            [before @ .., b';'] => (before.to_vec(), true),
            _ => (argument.to_vec(), false),
        };
        if !ends || !argument.is_empty() {
            commands.last_mut().unwrap().push(argument);
        }
        if ends {
            commands.push(Vec::new());
        }
    }
    commands.retain(|command| !command.is_empty());
    commands
}

fn exchange() -> CommandExchange {
    let identify = Identify::new(&Client::default()).unwrap();
    CommandExchange::new(&identify, &[CommandList::from(["a"])], true, 1 << 20).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_come_out_as_they_went_in_however_the_stream_is_cut(
        dialect in dialect(),
        pieces in pieces(),
        places in vec(any::<usize>(), 0..20),
    ) {
        let stream = written(dialect, &pieces);
        let mut decoder = Decoder::new(dialect);
        let mut found: Vec<Piece> = Vec::new();
        for mut part in cut(&stream, &places) {
            while let Some(frame) = decoder.decode(&mut part).unwrap() {
                found.push((frame.header.kind, frame.header.has_fd, frame.payload.to_vec()));
            }
            prop_assert!(part.is_empty());
        }
        prop_assert!(!decoder.is_mid_frame());
        prop_assert_eq!(found, pieces);
    }

    #[test]
    fn a_frame_without_a_descriptor_is_the_same_in_both_dialects(pieces in pieces()) {
        let bare: Vec<Piece> = pieces.into_iter().map(|(kind, _, payload)| (kind, false, payload)).collect();
        if cfg!(target_endian = "little") {
            prop_assert_eq!(written(Dialect::Legacy, &bare), written(Dialect::Modern, &bare));
        }
    }

    #[test]
    fn tmux_reads_the_very_arguments_that_were_given(commands in commands()) {
        let list: CommandList = commands
            .iter()
            .map(|command| Command::new(&command[0]).args(&command[1..]))
            .collect();
        let mut bytes = BytesMut::new();
        ClientMessage::Command(list.clone()).encode(Dialect::Modern, &mut bytes).unwrap();
        let packed = &bytes[20..];
        prop_assert_eq!(list.packed_len(), packed.len());
        prop_assert_eq!(as_tmux_reads(packed), &commands[..]);
        let names: Vec<_> = list.names().map(<[u8]>::to_vec).collect();
        let mut expected: Vec<_> = commands.iter().map(|command| command[0].clone()).collect();
        // A name that ends in `;` is given in its escaped form.
        for name in &mut expected {
            if name.ends_with(b";") {
                name.insert(name.len() - 1, b'\\');
            }
        }
        prop_assert_eq!(names, expected);
    }

    #[test]
    fn a_command_list_is_read_back_as_it_was_written(commands in commands()) {
        let line: Vec<Vec<u8>> = commands.into_iter().flatten().collect();
        let list = CommandList::from_command_line(&line);
        let mut bytes = BytesMut::new();
        ClientMessage::Command(list.clone()).encode(Dialect::Modern, &mut bytes).unwrap();
        let mut decoder = Decoder::new(Dialect::Modern);
        let mut input = &bytes[..];
        let frame = decoder.decode(&mut input).unwrap().unwrap();
        prop_assert_eq!(ClientMessage::decode(&frame), Ok(ClientMessage::Command(list)));
    }

    #[test]
    fn a_server_may_say_anything_in_any_pieces_and_the_outcome_does_not_depend_on_the_pieces(
        messages in vec((prop_oneof![Just(203u32), Just(210), 300..308u32, 200..220u32, any::<u32>()],
                         prop_oneof![3 => Just(0i32), 2 => 1..6i32, 1 => any::<i32>()],
                         vec(any::<u8>(), 0..30)), 0..12),
        places in vec(any::<usize>(), 0..20),
        garbage in vec(any::<u8>(), 0..40),
    ) {
        let mut stream = BytesMut::new();
        for (kind, stream_number, data) in &messages {
            encode(Dialect::Modern, *kind, false, &mut stream, |to| {
                to.extend_from_slice(&stream_number.to_ne_bytes());
                to.extend_from_slice(data);
            }).unwrap();
        }
        stream.extend_from_slice(&garbage);
        let whole = exchange().receive(&stream);
        let mut parts = exchange();
        let mut outcome = Ok(None);
        for part in cut(&stream, &places) {
            outcome = parts.receive(part);
            if !matches!(outcome, Ok(None)) {
                break;
            }
        }
        prop_assert_eq!(outcome, whole);
    }

    #[test]
    fn any_payload_of_any_type_is_a_message_or_an_error(
        kind in prop_oneof![0..20u32, 95..120u32, 195..225u32, 295..315u32],
        payload in vec(any::<u8>(), 0..64),
    ) {
        let stream = written(Dialect::Modern, &[(kind, false, payload)]);
        let mut decoder = Decoder::new(Dialect::Modern);
        let mut input = &stream[..];
        let frame = decoder.decode(&mut input).unwrap().unwrap();
        if let Ok(message) = ServerMessage::decode(&frame) {
            let mut again = BytesMut::new();
            message.encode(Dialect::Modern, &mut again).unwrap();
            // SHUTDOWN and the like may carry bytes that nobody reads.
            prop_assert!(again == stream || matches!(message, ServerMessage::Shutdown));
        }
        if let Ok(message) = ClientMessage::decode(&frame) {
            let mut again = BytesMut::new();
            message.encode(Dialect::Modern, &mut again).unwrap();
            let fd = matches!(message, ClientMessage::IdentifyStdin | ClientMessage::IdentifyStdout);
            prop_assert!(again == stream || fd);
        }
    }

    #[test]
    fn a_proof_is_found_behind_any_output_and_in_no_other(
        before in vec(any::<u8>(), 0..200),
        bits in any::<u128>(),
        other in any::<u128>(),
    ) {
        prop_assume!(bits != other);
        let proof = Proof::new(Nonce::from_bits(bits), 0);
        let mut stdout = before.clone();
        stdout.extend_from_slice(format!("{bits:032x} 0 42 1700000000 3.3a \u{1}$a\n").as_bytes());
        let stdout = Bytes::from(stdout);
        let (rest, stamp) = proof.take(&stdout).unwrap();
        prop_assert_eq!(rest, before);
        let expected = ServerStamp {
            pid: 42,
            start_time: 1_700_000_000,
            version: "3.3a".into(),
            encoding: TextEncoding::Raw,
        };
        prop_assert_eq!(stamp, expected);
        prop_assert_eq!(Proof::new(Nonce::from_bits(other), 0).take(&stdout), None);
    }

    #[test]
    fn any_text_comes_back_from_how_each_release_prints_it(text in vec(1..=255u8, 0..60)) {
        for encoding in [TextEncoding::Raw, TextEncoding::Escaped, TextEncoding::EscapedDollar] {
            let printed = Bytes::from(as_tmux_prints(&text, encoding));
            prop_assert_eq!(unescape(&printed, encoding), &text[..], "{:?}", encoding);
        }
    }
}

/// `#{q:…}`, then the release's treatment of what commands print.
fn as_tmux_prints(text: &[u8], encoding: TextEncoding) -> Vec<u8> {
    let quoted: Vec<u8> = text
        .iter()
        .flat_map(|&byte| {
            let special = b"|&;<>()$`\\\"'*?[# =%".contains(&byte);
            special.then_some(b'\\').into_iter().chain([byte])
        })
        .collect();
    if encoding == TextEncoding::Raw {
        return quoted;
    }
    let mut printed = Vec::new();
    for (at, &byte) in quoted.iter().enumerate() {
        let next = quoted.get(at + 1).copied().unwrap_or_default();
        match byte {
            b'$' if encoding == TextEncoding::EscapedDollar
                && (next.is_ascii_alphabetic() || matches!(next, b'_' | b'{')) =>
            {
                printed.extend_from_slice(b"\\$");
            }
            0x07 => printed.extend_from_slice(b"\\a"),
            0x08 => printed.extend_from_slice(b"\\b"),
            0x0b => printed.extend_from_slice(b"\\v"),
            0x0c => printed.extend_from_slice(b"\\f"),
            b'\r' => printed.extend_from_slice(b"\\r"),
            b'\t' | b'\n' => printed.push(byte),
            byte if !(0x20..0x7f).contains(&byte) => {
                printed.extend_from_slice(format!("\\{byte:03o}").as_bytes());
            }
            byte => printed.push(byte),
        }
    }
    printed
}
