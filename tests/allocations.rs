//! How much memory calls take: bounded numbers of allocations, and bytes in proportion to the reply.
//!
//! Counts are of the thread that measures, and a reallocation counts as a new allocation beside the
//! old one. Each test says what was found on 2026-11-30; what it asserts leaves a little room for
//! other releases of the crates below.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use allocation_counter::{AllocationInfo, measure};
use bytes::{Bytes, BytesMut};
use muxwire::capture::{CaptureOptions, Differ, SinceOptions};
use muxwire::exchange::{Client, CommandExchange, End, Identify, Reply};
use muxwire::imsg::Dialect;
use muxwire::model::{Snapshot, SnapshotQuery};
use muxwire::protocol::{ClientMessage, CommandList, MAX_STREAM_DATA, STDOUT, ServerMessage};
use support::{Server, Tap, releases};

/// Measures `work` and gives what it gave.
fn measured<T>(work: impl FnOnce() -> T) -> (AllocationInfo, T) {
    let mut result = None;
    let info = measure(|| result = Some(work()));
    (info, result.unwrap())
}

/// One round as a driver without sockets plays it.
fn round(identify: &Identify, groups: &[CommandList], reply: &[u8], piece: usize) -> Reply {
    let mut exchange = CommandExchange::new(identify, groups, false, usize::MAX).unwrap();
    exchange.outgoing().clear();
    let mut pieces = reply.chunks(piece);
    pieces.find_map(|piece| exchange.receive(piece).unwrap()).unwrap()
}

/// What a server sends that prints `stdout`.
fn reply_of(stdout: &[u8]) -> BytesMut {
    let mut bytes = BytesMut::new();
    let mut send =
        |message: ServerMessage<'_>| message.encode(Dialect::Modern, &mut bytes).unwrap();
    send(ServerMessage::WriteOpen { stream: STDOUT, fd: 1, flags: 0, path: None });
    for data in stdout.chunks(MAX_STREAM_DATA) {
        send(ServerMessage::Write { stream: STDOUT, data });
    }
    send(ServerMessage::Exit { status: Some(0), text: None });
    bytes
}

#[test]
fn a_round_without_io_takes_a_handful_of_allocations() {
    let identify = Identify::new(&Client::default()).unwrap();
    let groups = [CommandList::from(["list-panes", "-a"])];
    let reply = reply_of(b"%0\n%1\n");
    let (info, found) = measured(|| round(&identify, &groups, &reply, usize::MAX));
    assert_eq!((&found.stdout[..], found.end), (&b"%0\n%1\n"[..], End::Exit { status: 0 }));
    // Found: 4 and 198 bytes.
    assert!(info.count_total <= 5, "{info:?}");
    assert!(info.bytes_max <= 512, "{info:?}");
}

#[test]
fn a_reply_takes_at_most_three_times_its_bytes_however_it_is_cut() {
    let identify = Identify::new(&Client::default()).unwrap();
    let groups = [CommandList::from(["capture-pane", "-p", "-S", "-"])];
    for lines in [70_000, 100_000, 140_000] {
        let stdout: Vec<u8> =
            (0..lines).flat_map(|line| format!("line {line:040}\n").into_bytes()).collect();
        let reply = reply_of(&stdout);
        for piece in [4_096, 65_536, usize::MAX] {
            let (info, found) = measured(|| round(&identify, &groups, &reply, piece));
            assert_eq!(found.stdout.len(), stdout.len());
            // Found: 1.95 to 2.74 times, at most 14: what holds the reply doubles as it grows.
            assert!(info.bytes_max <= 3 * stdout.len() as u64, "{info:?}");
            assert!(info.count_total <= 20, "{info:?}");
        }
    }
}

#[test]
fn a_call_takes_a_bounded_number_of_allocations() {
    let server = Server::start(releases().last().unwrap());
    let tmux = server.handle();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let call = || {
        let list = ["display-message", "-p", "#{session_name}"];
        runtime.block_on(tmux.run(list)).unwrap()
    };
    call(); // the runtime's own and the random bits
    for _ in 0..20 {
        let (info, output) = measured(call);
        assert_eq!(output.stdout, "main\n");
        // Found: 18 and 66 407 bytes, of which 65 536 are what is read into.
        assert!(info.count_total <= 22, "{info:?}");
        assert!(info.bytes_max <= 70_000, "{info:?}");
    }
}

#[test]
fn reading_a_pane_takes_a_bounded_number_of_allocations() {
    let mut tap = Tap::open(releases().last().unwrap(), 2_000);
    let tmux = tap.server.handle();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let plain = CaptureOptions::default();
    let with_view = CaptureOptions { view: true, ..plain };
    let pane = tap.pane;
    let capture = |options| runtime.block_on(tmux.capture(pane, options)).unwrap();
    let text: String = (1..=20).map(|number| format!("line {number:040}\r\n")).collect();
    tap.show(text);
    capture(&with_view); // the runtime's own and the random bits

    let (info, screen) = measured(|| capture(&plain));
    assert_eq!(screen.lines.len(), 20);
    // Found: 64 and 70 378 bytes, 20 of them lines, and 65 536 bytes what is read into.
    assert!(info.count_total <= 72, "{info:?}");
    assert!(info.bytes_max <= 80_000, "{info:?}");

    let (info, screen) = measured(|| capture(&with_view));
    // Found: 140 and 71 256 bytes.
    assert!(info.count_total <= 156, "{info:?}");
    assert!(info.bytes_max <= 80_000, "{info:?}");

    let earlier = Some(screen.view.unwrap().into());
    let options = SinceOptions::default();
    let since = || runtime.block_on(tmux.since(pane, earlier.as_ref(), &options)).unwrap();
    let (info, delta) = measured(since);
    assert_eq!((delta.lines.len(), delta.missed), (0, None));
    // Found: 143 and 71 516 bytes.
    assert!(info.count_total <= 160, "{info:?}");
    assert!(info.bytes_max <= 80_000, "{info:?}");

    tap.show(b"\x1b7\x1b[5;1Hanew\x1b8");
    let (info, delta) = measured(since);
    assert_eq!((delta.lines.len(), delta.missed), (1, None));
    // Found: 149 and 71 516 bytes.
    assert!(info.count_total <= 166, "{info:?}");
    assert!(info.bytes_max <= 80_000, "{info:?}");
}

#[test]
fn a_differ_allocates_nothing_for_rows_that_are_as_they_were() {
    let rows: Vec<String> = (0..50).map(|number| format!("{number:0200}")).collect();
    let mut differ = Differ::default();
    differ.update(&rows);
    differ.update(&rows);
    let (info, difference) = measured(|| differ.update(&rows));
    assert_eq!(difference.scrolled, Some(0));
    assert_eq!(info.count_total, 0, "{info:?}");

    // Where they moved: the list in which it is looked for, its borders, and what was found.
    let mut other = rows.clone();
    other.rotate_left(10);
    let (info, difference) = measured(|| differ.update(&other));
    assert_eq!(difference.scrolled, Some(10));
    // Found: 3 and 2 392 bytes.
    assert!(info.count_total <= 3, "{info:?}");
    assert!(info.bytes_max <= 2_400, "{info:?}");
}

/// The rows that a server prints for `query`, `count` of each kind.
///
/// `name` is what every text is. One pane in each window and one window in each session.
fn rows(query: &SnapshotQuery, count: usize, name: &str) -> Bytes {
    let mut frame = BytesMut::new();
    ClientMessage::Command(query.commands()).encode(Dialect::Modern, &mut frame).unwrap();
    let arguments = std::str::from_utf8(&frame[20..]).unwrap();
    let formats = arguments.split('\0').filter(|argument| argument.contains("#{"));
    let mut rows = String::new();
    for format in formats {
        for number in 0..count {
            let mut pieces = format.split("#{");
            rows.push_str(pieces.next().unwrap());
            for piece in pieces {
                let (field, rest) = piece.split_once('}').unwrap();
                match field {
                    "session_id" => rows.push_str(&format!("${number}")),
                    "window_id" => rows.push_str(&format!("@{number}")),
                    "pane_id" => rows.push_str(&format!("%{number}")),
                    _ if field.starts_with("q:") => rows.push_str(name),
                    "pane_dead_status" => {}
                    _ => rows.push('1'),
                }
                rows.push_str(rest);
            }
            rows.push('\n');
        }
    }
    rows.into()
}

#[test]
fn a_row_takes_no_allocation_of_its_own_but_for_texts_with_escapes() {
    let server = Server::start(releases().last().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let query = SnapshotQuery::new().unwrap();
    let output = runtime.block_on(server.handle().run(query.commands())).unwrap();
    let server = output.server.unwrap();
    let parse = |count: usize, name: &str| -> (AllocationInfo, Snapshot) {
        let rows = rows(&query, count, name);
        let (info, found) =
            measured(|| query.decode(&rows, server.encoding, server.clone()).unwrap());
        assert_eq!(found.check(), Ok(()));
        assert_eq!(found.panes.len(), count);
        // What it says it holds is no less than what it holds: the reply, and what was allocated.
        let held = i64::try_from(rows.len()).unwrap() + info.bytes_current;
        assert!(i64::try_from(found.held_bytes()).unwrap() >= held, "{info:?}");
        (info, found)
    };

    // Found: 50, and 10 more for each time the lists double twice. Texts share the reply.
    let (plain, _) = parse(1_000, "name");
    assert!(plain.count_total <= 60, "{plain:?}");
    let (more, _) = parse(4_000, "name");
    assert!(more.count_total <= plain.count_total + 12, "{more:?}");

    // A text with an escape is a copy: its bytes, and the count of who shares them. Each session
    // has two texts, each window two, each pane three and each client two.
    let (escaped, found) = parse(1_000, "a\\ b");
    assert_eq!(found.panes[0].title.as_bytes(), b"a b");
    assert!(escaped.count_total <= plain.count_total + 2 * 9 * 1_000, "{escaped:?}");
}

#[test]
fn criteria_are_asked_in_a_bounded_number_of_allocations() {
    let server = Server::start(releases().last().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let query = SnapshotQuery::new().unwrap();
    let output = runtime.block_on(server.handle().run(query.commands())).unwrap();
    let server = output.server.unwrap();
    let rows = rows(&query, 4_000, "name");
    let snapshot = query.decode(&rows, server.encoding, server).unwrap();
    for (filter, matches, most) in [
        // Found: 2 for the lists by window, and 11 as what matches grows to 4 000.
        (r#"{"title":"name","pid":1}"#, 4_000, 20),
        (r#"{"title":"other"}"#, 0, 4),
        (r#"{"window":{"is":{"windowLinks":{"some":{"sessionId":"$7"}}}}}"#, 1, 20),
    ] {
        let document = format!(
            r#"{{"profile":"libtmux-ruby.where","version":1,"entity":"pane","where":{filter}}}"#
        );
        let criteria = muxwire::query::Criteria::from_json(document.as_bytes()).unwrap();
        let (info, found) = measured(|| criteria.positions(&snapshot).unwrap());
        assert_eq!(found.len(), matches, "{filter}");
        assert!(info.count_total <= most, "{filter} {info:?}");
        assert!(info.bytes_max <= 512 << 10, "{filter} {info:?}");
    }
}

#[test]
fn what_criteria_remember_is_two_bits_for_each_filter_and_thing() {
    let server = Server::start(releases().last().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let query = SnapshotQuery::new().unwrap();
    let output = runtime.block_on(server.handle().run(query.commands())).unwrap();
    let server = output.server.unwrap();
    let rows = rows(&query, 4_000, "name");
    let snapshot = query.decode(&rows, server.encoding, server).unwrap();
    // Each of them is asked of each window, and of each pane behind it.
    let filter = r#"{"window":{"is":{"panes":{"some":{"title":"other"}}}}}"#;
    let document = |filters: usize| {
        let filters = vec![filter; filters].join(",");
        format!(
            r#"{{"profile":"libtmux-ruby.where","version":1,"entity":"pane","where":{{"or":[{filters}]}}}}"#
        )
    };
    let asked = |filters: usize| {
        let document = document(filters);
        let criteria = muxwire::query::Criteria::from_json(document.as_bytes()).unwrap();
        let (info, found) = measured(|| criteria.positions(&snapshot).unwrap());
        assert!(found.is_empty());
        info
    };
    // Found: 66 032 bytes with one, and 2 032 more with each other: twice 4 000 times two bits.
    let (one, many) = (asked(1), asked(80));
    assert!(many.bytes_max <= one.bytes_max + 79 * 2_100, "{one:?} {many:?}");
    assert!(many.count_total <= one.count_total + 79 * 2, "{one:?} {many:?}");
}
