//! Reading format rows.

use bytes::Bytes;

use super::Input;
use crate::client::{Server, ServerIdentity};
use crate::exchange::{ServerStamp, TextEncoding};
use crate::imsg::Dialect;
use crate::model::{Snapshot, SnapshotQuery, unescape};
use crate::protocol::ClientMessage;

/// How releases print texts.
#[derive(Clone, Copy)]
struct Printing {
    /// What `q:` puts a backslash before.
    special: &'static [u8],
    encoding: TextEncoding,
}

/// Up to 3.3a and from 3.6 on; 3.8; 3.5; 3.4.
const PRINTINGS: [Printing; 4] = [
    Printing { special: SPECIAL, encoding: TextEncoding::Raw },
    Printing { special: b"|&;<>()$`\\\"'*?[# =%\t\n{}", encoding: TextEncoding::Raw },
    Printing { special: SPECIAL, encoding: TextEncoding::Escaped },
    Printing { special: SPECIAL, encoding: TextEncoding::EscapedDollar },
];
const SPECIAL: &[u8] = b"|&;<>()$`\\\"'*?[# =%";
/// Stands for the token in an input, since that is random.
const TOKEN: u8 = 1;

/// Input: a byte; if it is even, rows as a server might print them, else nine texts.
///
/// No rows make reading panic. Texts of any bytes come back from rows as each release prints them.
pub fn rows(data: &[u8]) {
    let mut input = Input(data);
    let Ok(query) = SnapshotQuery::new() else { panic!("no random bits") };
    let formats = formats(&query);
    if input.byte() & 1 == 0 {
        let token = token(&formats[0]);
        let mut printed = Vec::new();
        for &byte in input.rest() {
            match byte {
                TOKEN => printed.extend_from_slice(token.as_bytes()),
                byte => printed.push(byte),
            }
        }
        let printed = Bytes::from(printed);
        for Printing { encoding, .. } in PRINTINGS {
            assert!(unescape(&printed, encoding).len() <= printed.len());
            if let Ok(snapshot) = read(&query, &printed, encoding) {
                let _ = snapshot.check();
            }
        }
    } else {
        let texts: Vec<Vec<u8>> = (0..9).map(|_| input.text()).collect();
        for printing in PRINTINGS {
            check_texts(&query, &formats, &texts, printing);
        }
    }
}

fn read(query: &SnapshotQuery, rows: &Bytes, encoding: TextEncoding) -> Result<Snapshot, ()> {
    let identity = ServerIdentity { device: 0, inode: 0, pid: 1, start_time: 0 };
    let version = Bytes::from_static(b"3.8");
    let stamp = ServerStamp { pid: 1, start_time: 0, version, encoding };
    query.decode(rows, encoding, Server::new(identity, stamp)).map_err(|_| ())
}

/// The texts of one row of each kind come back.
fn check_texts(query: &SnapshotQuery, formats: &[String], texts: &[Vec<u8>], printing: Printing) {
    let mut rest = texts.iter();
    let mut printed = Vec::new();
    for format in formats {
        let mut pieces = format.split("#{");
        printed.extend_from_slice(pieces.next().unwrap_or_default().as_bytes());
        for piece in pieces {
            let Some((field, end)) = piece.split_once('}') else { panic!("not a format") };
            match field {
                "session_id" => printed.extend_from_slice(b"$0"),
                "window_id" => printed.extend_from_slice(b"@0"),
                "pane_id" => printed.extend_from_slice(b"%0"),
                _ if field.starts_with("q:") => {
                    let Some(text) = rest.next() else { panic!("more than nine texts") };
                    printed.extend_from_slice(&as_tmux_prints(text, printing));
                }
                _ => printed.push(b'1'),
            }
            printed.extend_from_slice(end.as_bytes());
        }
        printed.push(b'\n');
    }
    let printed = Bytes::from(printed);
    let Ok(snapshot) = read(query, &printed, printing.encoding) else {
        panic!("{printed:?} is not read")
    };
    let (session, window) = (&snapshot.sessions[0], &snapshot.windows[0]);
    let (pane, client) = (&snapshot.panes[0], &snapshot.clients[0]);
    let found = [
        Some(&session.name),
        session.group.as_ref(),
        Some(&window.name),
        Some(&window.layout),
        Some(&pane.current_command),
        pane.current_path.as_ref(),
        Some(&pane.title),
        Some(&client.name),
        client.tty.as_ref(),
    ];
    for (found, text) in found.iter().zip(texts) {
        let found = found.map(|text| text.as_bytes()).unwrap_or_default();
        assert_eq!(found.escape_ascii().to_string(), text.escape_ascii().to_string());
    }
    assert_eq!(snapshot.check(), Ok(()));
}

/// The formats of the query's commands.
fn formats(query: &SnapshotQuery) -> Vec<String> {
    let mut frame = bytes::BytesMut::new();
    let sent = ClientMessage::Command(query.commands()).encode(Dialect::Modern, &mut frame);
    assert_eq!(sent, Ok(()));
    let arguments = frame.as_ref().split(|&byte| byte == 0).map(String::from_utf8_lossy);
    let formats = arguments.filter(|argument| argument.contains("#{"));
    formats.map(std::borrow::Cow::into_owned).collect()
}

/// What ends a text in `format`.
fn token(format: &str) -> &str {
    let after = format.split_once("q:").and_then(|(_, rest)| rest.split_once('}'));
    after.and_then(|(_, rest)| rest.split("#{").next()).unwrap_or_default()
}

/// What a server prints for `#{q:…}` of a variable that holds `text`: what a shell would read gets a
/// backslash; then, on 3.4 and 3.5, whatever is neither printable nor valid UTF-8 becomes an escape,
/// and on 3.4 a `$` before what may start a name gets one backslash more.
fn as_tmux_prints(text: &[u8], Printing { special, encoding }: Printing) -> Vec<u8> {
    let mut quoted = Vec::new();
    for &byte in text {
        if special.contains(&byte) {
            quoted.push(b'\\');
        }
        quoted.push(byte);
    }
    if encoding == TextEncoding::Raw {
        return quoted;
    }
    let mut printed = Vec::new();
    for chunk in quoted.utf8_chunks() {
        let valid = chunk.valid();
        for (at, letter) in valid.char_indices() {
            let next = valid[at..].chars().nth(1);
            match letter {
                '$' if encoding == TextEncoding::EscapedDollar
                    && next
                        .is_some_and(|next| next.is_ascii_alphabetic() || "_{".contains(next)) =>
                {
                    printed.extend_from_slice(b"\\$");
                }
                '\u{7}' => printed.extend_from_slice(b"\\a"),
                '\u{8}' => printed.extend_from_slice(b"\\b"),
                '\u{b}' => printed.extend_from_slice(b"\\v"),
                '\u{c}' => printed.extend_from_slice(b"\\f"),
                '\r' => printed.extend_from_slice(b"\\r"),
                '\t' | '\n' => printed.extend_from_slice(letter.to_string().as_bytes()),
                _ if letter.is_ascii_control() => octal(&mut printed, u32::from(letter)),
                _ => printed.extend_from_slice(letter.to_string().as_bytes()),
            }
        }
        for &byte in chunk.invalid() {
            octal(&mut printed, u32::from(byte));
        }
    }
    printed
}

fn octal(printed: &mut Vec<u8>, byte: u32) {
    printed.extend_from_slice(format!("\\{byte:03o}").as_bytes());
}
