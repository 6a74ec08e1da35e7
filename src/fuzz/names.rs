//! Reading cursors and URIs.

use std::fmt::{Debug, Display, Write as _};
use std::str::FromStr;

use data_encoding::BASE64URL_NOPAD;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::capture::Cursor;
use crate::mcp::page_cursor::PageCursor;
use crate::mcp::uri::{Subject, Uri};

/// Input: a cursor of either kind, or what a cursor of a place holds without its checksum, which no
/// fuzzer hits upon. Whatever is read is written just so, and no text is both.
pub fn cursors(data: &[u8]) {
    let check = (xxh3_64_with_seed(data, 0) & u64::from(u32::MAX)).to_le_bytes();
    let encoded = BASE64URL_NOPAD.encode(&[data, &check[..4]].concat());
    is_written_so::<Cursor>(&format!("m1.{encoded}"));
    let Ok(text) = std::str::from_utf8(data) else { return };
    let page = is_written_so::<PageCursor>(text);
    let place = is_written_so::<Cursor>(text);
    assert!(!(page && place), "{text}");
}

/// Whether it is one; then it must be written as it was read.
fn is_written_so<T: FromStr + Display + Debug + PartialEq>(text: &str) -> bool {
    match text.parse::<T>() {
        Ok(cursor) => {
            assert_eq!(cursor.to_string(), text);
            true
        }
        Err(_) => false,
    }
}

/// Input: a URI. Whatever is read has no other spelling.
pub fn uris(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    let Some(Uri { endpoint, generation, subject }) = Uri::read(text) else { return };
    let rest = match subject {
        Subject::Snapshot(entity) => format!("snapshots/{}", entity.name()),
        Subject::Page(cursor) => format!("pages/{}", encode(&cursor)),
        Subject::Screen(pane) => format!("panes/{}/screen", encode(&pane.to_string())),
    };
    assert_eq!(format!("tmux://{}/{generation}/{rest}", encode(&endpoint)), text);
}

fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        match byte {
            b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            byte if byte.is_ascii_alphanumeric() => encoded.push(byte.into()),
            // Writing to a string cannot fail.
            byte => drop(write!(encoded, "%{byte:02X}")),
        }
        encoded
    })
}
