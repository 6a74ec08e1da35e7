//! What was written since a pane was last read, case by case on every release.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use muxwire::capture::{Baseline, Cursor, Delta, Kind, Missed, SinceOptions};
use muxwire::model::PaneId;
use muxwire::{ErrorKind, Tmux};
use support::{
    CountingProxy, IDLE, Release, Tap, block_on, eventually, has_ended, on_each_release,
};

/// A reader that remembers where it stands.
struct Reader {
    tmux: Tmux,
    earlier: Option<Baseline>,
}

impl Reader {
    fn new(tap: &Tap) -> Self {
        Self { tmux: tap.server.handle(), earlier: None }
    }

    fn try_read(&mut self, tap: &Tap, options: SinceOptions) -> Result<Delta, muxwire::Error> {
        let delta = block_on(self.tmux.since(tap.pane, self.earlier.as_ref(), &options))?;
        self.earlier = Some(delta.view.clone().into());
        Ok(delta)
    }

    #[track_caller]
    fn read(&mut self, tap: &Tap) -> Delta {
        self.try_read(tap, SinceOptions::default()).expect("a delta")
    }

    /// Lines that were written, which nothing is missing of.
    #[track_caller]
    fn lines(&mut self, tap: &Tap) -> Vec<String> {
        let delta = self.read(tap);
        assert_eq!(delta.missed, None, "{:?}", delta.lines);
        delta.lines
    }

    /// Forgets all but the cursor's text, as a restart does.
    fn restart(&mut self, tap: &Tap) {
        let Some(Baseline::View(view)) = &self.earlier else { panic!("nothing was read") };
        let text = view.cursor().to_string();
        assert!(text.len() <= 120, "{text}");
        self.earlier = Some(text.parse::<Cursor>().expect("a cursor").into());
        self.tmux = tap.server.handle();
    }
}

/// A pane with a history of 2 000 lines, these lines in it, and a reader that has read them.
fn pane_with(release: &Release, lines: &[String]) -> (Tap, Reader) {
    let mut tap = Tap::open(release, 2_000);
    tap.lines(lines);
    let mut reader = Reader::new(&tap);
    reader.lines(&tap);
    (tap, reader)
}

fn numbered(range: std::ops::RangeInclusive<u32>) -> Vec<String> {
    range.map(|number| format!("line {number}")).collect()
}

#[test]
fn the_first_call_gives_the_screen_and_the_next_nothing() {
    on_each_release(|release| {
        let mut tap = Tap::open(release, 2_000);
        tap.lines(numbered(1..=100));
        let mut reader = Reader::new(&tap);
        assert_eq!(reader.lines(&tap), numbered(78..=100));
        for _ in 0..3 {
            assert_eq!(reader.lines(&tap), [""; 0]);
        }
        reader.restart(&tap);
        assert_eq!(reader.lines(&tap), [""; 0]);
    });
}

#[test]
fn what_has_scrolled_into_the_history_is_there_whole() {
    on_each_release(|release| {
        let mut tap = Tap::open(release, 2_000);
        let mut reader = Reader::new(&tap);
        assert_eq!(reader.lines(&tap), [""; 0]);
        for (from, to) in [(1, 3), (4, 20), (21, 26), (27, 60), (61, 61), (62, 400), (401, 1_000)] {
            tap.lines(numbered(from..=to));
            assert_eq!(reader.lines(&tap), numbered(from..=to));
            assert_eq!(reader.lines(&tap), [""; 0]);
        }
    });
}

/// What a shell shows that runs a command: behind the prompt the command, its output, a prompt.
fn session(output: &[String]) -> (String, Vec<String>) {
    let lines: Vec<String> = std::iter::once("$ make".to_owned())
        .chain(output.iter().cloned())
        .chain(["$".to_owned()])
        .collect();
    (format!("{}\r\n$ ", lines[..lines.len() - 1].join("\r\n").replacen("$ ", "", 1)), lines)
}

#[test]
fn a_full_history_under_an_unchanging_prompt_is_read_exactly() {
    on_each_release(|release| {
        for limit in [50, 100, 103, 1_000] {
            let mut tap = Tap::open(release, limit);
            tap.lines(numbered(1..=limit + limit / 2));
            tap.show("$ ");
            let (mut reader, mut restarted) = (Reader::new(&tap), Reader::new(&tap));
            reader.lines(&tap);
            restarted.lines(&tap);
            let mut number = 0;
            // As many rows as go from the history at one stroke, twice as many and others.
            for rows in [3, limit / 10, limit / 10 * 2, 1, limit / 10, limit / 10 + 1, limit / 5] {
                let output = numbered(number + 10_000..=number + 10_000 + rows - 2);
                number += rows;
                let (bytes, lines) = session(&output);
                tap.show(bytes);
                assert_eq!(reader.lines(&tap), lines, "{limit} {rows}");
                assert_eq!(reader.lines(&tap), [""; 0]);
                restarted.restart(&tap);
                let delta = restarted.read(&tap);
                if delta.missed.is_none() {
                    assert_eq!(delta.lines, lines, "{limit} {rows}");
                }
            }
        }
    });
}

#[test]
fn the_same_output_again_under_a_full_history_is_exact_or_said_to_be_ambiguous() {
    on_each_release(|release| {
        for limit in [100, 200] {
            let mut tap = Tap::open(release, limit);
            let output = numbered(1..=limit / 10 - 1);
            let (bytes, lines) = session(&output);
            tap.show("$ ");
            for _ in 0..15 {
                tap.show(&bytes);
            }
            let size = tap.value("#{history_size}");
            for times in [1, 2, 3, 5, 9, 12, 20] {
                let (mut reader, mut restarted) = (Reader::new(&tap), Reader::new(&tap));
                reader.lines(&tap);
                restarted.lines(&tap);
                restarted.restart(&tap);
                for _ in 0..times {
                    tap.show(&bytes);
                }
                assert_eq!(tap.value("#{history_size}"), size, "as if nothing was written");
                let expected: Vec<String> =
                    (0..times).flat_map(|_| lines[..lines.len() - 1].iter().cloned()).collect();
                for reader in [&mut reader, &mut restarted] {
                    let delta = reader.read(&tap);
                    match delta.missed {
                        Some(Missed::Ambiguous) => {}
                        missed => assert_eq!((missed, &delta.lines[..]), (None, &expected[..])),
                    }
                }
            }
        }
    });
}

#[test]
fn the_same_output_again_in_a_history_that_has_room_is_read_exactly() {
    on_each_release(|release| {
        let mut tap = Tap::open(release, 2_000);
        let (bytes, lines) = session(&numbered(1..=9));
        tap.show("$ ");
        let mut reader = Reader::new(&tap);
        assert_eq!(reader.lines(&tap), ["$"]);
        for times in [1, 1, 2, 3, 7, 1, 30, 1] {
            for _ in 0..times {
                tap.show(&bytes);
            }
            let mut expected: Vec<String> =
                (0..times).flat_map(|_| lines[..lines.len() - 1].iter().cloned()).collect();
            expected.push("$".to_owned());
            assert_eq!(reader.lines(&tap), expected);
        }
    });
}

#[test]
fn any_number_of_lines_at_once_is_exact_until_the_history_is_trimmed_and_then_said_to_be() {
    on_each_release(|release| {
        let known = numbered(1..=10);
        // With the 10 lines and the cursor's, the screen of 24 and a history of 2 000 hold 2 013.
        for count in [0, 1, 12, 13, 14, 23, 24, 25, 500, 1_999, 2_013, 2_014, 2_300, 5_000] {
            let (mut tap, mut reader) = pane_with(release, &known);
            tap.lines(numbered(11..=10 + count));
            let delta = reader.read(&tap);
            if count <= 2_013 {
                assert_eq!((delta.missed, delta.lines), (None, numbered(11..=10 + count)));
            } else {
                assert_eq!(delta.missed, Some(Missed::HistoryTrimmed), "{count}");
                assert_eq!(delta.lines, numbered(10 + count - 22..=10 + count));
            }
            tap.lines(["more"]);
            assert_eq!(reader.lines(&tap), ["more"]);
        }
    });
}

#[test]
fn a_burst_into_a_full_history_is_exact_as_long_as_it_all_stays() {
    on_each_release(|release| {
        let mut tap = Tap::open(release, 2_000);
        tap.lines(numbered(1..=2_500));
        let mut last = 2_500;
        for count in [1, 199, 200, 201, 1_000, 1_500, 1_700, 1_900, 2_100, 4_000] {
            let mut reader = Reader::new(&tap);
            reader.lines(&tap);
            tap.lines(numbered(last + 1..=last + count));
            let delta = reader.read(&tap);
            if count <= 1_700 {
                assert_eq!((delta.missed, delta.lines), (None, numbered(last + 1..=last + count)));
            } else if delta.missed.is_none() {
                assert_eq!(delta.lines, numbered(last + 1..=last + count));
            } else {
                assert_eq!(delta.missed, Some(Missed::HistoryTrimmed), "{count}");
                assert!(count > 1_800 - 24, "{count} lines are all there");
            }
            last += count;
        }
    });
}

#[test]
fn a_cleared_history_is_said_to_be_cleared() {
    on_each_release(|release| {
        let (mut tap, mut reader) = pane_with(release, &numbered(1..=10));
        tap.set("clear-history", &[]);
        tap.lines(numbered(11..=100));
        assert_eq!(reader.lines(&tap), numbered(11..=100), "there was none to clear");
        for more in [0, 5, 50, 500] {
            let number = 1_000 + more;
            tap.set("clear-history", &[]);
            tap.lines(numbered(number + 1..=number + more));
            assert_eq!(reader.read(&tap).missed, Some(Missed::HistoryCleared), "{more}");
            tap.lines(numbered(1..=100));
            assert_eq!(reader.lines(&tap), numbered(1..=100));
        }
        tap.show("\x1b[3J");
        assert_eq!(reader.read(&tap).missed, Some(Missed::HistoryCleared));
    });
}

#[test]
fn a_history_that_was_cleared_and_filled_with_the_same_block_is_said_to_be_cleared() {
    on_each_release(|release| {
        for long in [10, 100] {
            let line = |number: u32| format!("{}{number}", "x".repeat(long));
            let block: Vec<String> = (1..=60).map(line).collect();
            let (mut tap, mut reader) = pane_with(release, &numbered(1..=300));
            tap.lines(&block);
            assert_eq!(reader.lines(&tap), block);
            tap.set("clear-history", &[]);
            tap.lines(["some", "other", "lines"]);
            tap.lines(block);
            assert_eq!(reader.read(&tap).missed, Some(Missed::HistoryCleared));
        }
    });
}

#[test]
fn a_cleared_screen_goes_into_the_history_and_nothing_is_missed() {
    on_each_release(|release| {
        for clear in ["\x1b[H\x1b[2J", "\x1b[H\x1b[J", "\x1b[2J\x1b[H"] {
            let (mut tap, mut reader) = pane_with(release, &numbered(1..=30));
            tap.show(clear);
            assert_eq!(reader.lines(&tap), [""; 0], "{clear:?}");
            tap.lines(numbered(31..=33));
            assert_eq!(reader.lines(&tap), numbered(31..=33), "{clear:?}");
            // Unread lines on both sides.
            tap.lines(numbered(34..=40));
            tap.show(clear);
            tap.lines(numbered(41..=80));
            tap.show(clear);
            tap.lines(numbered(81..=82));
            assert_eq!(reader.lines(&tap), numbered(34..=82), "{clear:?}");
            for _ in 0..3 {
                tap.show(clear);
                assert_eq!(reader.lines(&tap), [""; 0], "{clear:?}");
            }
            // The last line was unfinished.
            tap.show("begun");
            assert_eq!(reader.lines(&tap), ["begun"]);
            tap.show(clear);
            tap.lines(["after"]);
            assert_eq!(reader.lines(&tap), ["after"], "{clear:?}");
        }
    });
}

#[test]
fn a_screen_that_is_cleared_in_place_is_said_to_be_cleared() {
    on_each_release(|release| {
        if !release.at_least(3, 3) {
            return;
        }
        for lines in [5, 100] {
            for clear in ["\x1b[H\x1b[2J", "\x1b[H\x1b[J"] {
                let (mut tap, mut reader) = pane_with(release, &numbered(1..=lines));
                tap.server.set(["set-option", "-g", "scroll-on-clear", "off"]);
                tap.show(clear);
                assert_eq!(reader.read(&tap).missed, Some(Missed::ScreenCleared), "{clear:?}");
                tap.lines(numbered(101..=105));
                assert_eq!(reader.lines(&tap), numbered(101..=105), "{clear:?}");
                tap.lines(numbered(106..=107));
                tap.show(clear);
                tap.lines(numbered(108..=109));
                let delta = reader.read(&tap);
                assert_eq!(delta.missed, Some(Missed::ScreenCleared), "{clear:?}");
                assert_eq!(delta.lines, numbered(108..=109));
            }
        }
    });
}

#[test]
fn a_pane_made_taller_and_shorter_loses_and_repeats_nothing() {
    on_each_release(|release| {
        for known in [3, 20, 100] {
            let (mut tap, mut reader) = pane_with(release, &numbered(1..=known));
            let mut last = known;
            for (height, lines) in
                [(50, 0), (10, 0), (3, 2), (30, 1), (24, 40), (60, 5), (5, 70), (200, 9), (24, 0)]
            {
                tap.set("resize-window", &["-y", &height.to_string()]);
                tap.lines(numbered(last + 1..=last + lines));
                let expected = numbered(last + 1..=last + lines);
                assert_eq!(reader.lines(&tap), expected, "{known} to {height}");
                last += lines;
                // Also where it changes twice between two calls.
                tap.set("resize-window", &["-y", "7"]);
                tap.lines(numbered(last + 1..=last + 3));
                tap.set("resize-window", &["-y", &height.to_string()]);
                assert_eq!(reader.lines(&tap), numbered(last + 1..=last + 3), "{known} {height}");
                last += 3;
            }
        }
    });
}

#[test]
fn lines_that_another_width_wraps_anew_are_not_given_again() {
    on_each_release(|release| {
        let long = |number: u32| format!("{number} {}.", "word ".repeat(30));
        for known in [4, 100] {
            let mut tap = Tap::open(release, 2_000);
            tap.lines((1..=known).map(long));
            // tmux may put a cursor that stands on a blank line on another (note 7.3).
            tap.show(">");
            let mut reader = Reader::new(&tap);
            reader.lines(&tap);
            let mut last = known;
            for (width, lines) in
                [(40, 0), (80, 0), (40, 1), (80, 1), (200, 2), (20, 3), (80, 3), (79, 30), (80, 0)]
            {
                tap.set("resize-window", &["-x", &width.to_string()]);
                assert_eq!(reader.lines(&tap), [""; 0], "{known} to {width}");
                let mut expected: Vec<String> = (last + 1..=last + lines).map(long).collect();
                expected.extend((lines > 0).then(|| ">".to_owned()));
                tap.show(format!("\r{}", expected.join("\r\n")));
                assert_eq!(reader.lines(&tap), expected, "{known} to {width}");
                last += lines;
                tap.set("resize-window", &["-x", "40"]);
                tap.set("resize-window", &["-x", &width.to_string()]);
                assert_eq!(reader.lines(&tap), [""; 0], "{known} at {width}");
            }
        }
    });
}

#[test]
fn a_row_that_is_rewritten_is_given_each_time_it_was_seen_to_change() {
    on_each_release(|release| {
        for known in [0, 10, 100] {
            let (mut tap, mut reader) = pane_with(release, &numbered(1..=known));
            for percent in [0, 7, 100] {
                tap.show(format!("\rat {percent}%"));
                assert_eq!(reader.lines(&tap), [format!("at {percent}%")], "{known}");
                assert_eq!(reader.lines(&tap), [""; 0]);
            }
            // The shorter text leaves an end of the longer; then it is erased.
            tap.show("\rdone");
            assert_eq!(reader.lines(&tap), ["done00%"]);
            tap.show("\r\x1b[Kok");
            assert_eq!(reader.lines(&tap), ["ok"]);
            tap.show("\rover\r\nnext");
            assert_eq!(reader.lines(&tap), ["over", "next"]);
        }
    });
}

/// Enters the alternate screen as a full-screen program does, and shows two rows there.
const ENTER: &str = "\x1b[?1049h\x1b[H\x1b[2Jfull screen\r\nsecond row";
const LEAVE: &str = "\x1b[?1049l";

#[test]
fn a_full_screen_program_hides_nothing_that_was_written_before_and_after_it() {
    on_each_release(|release| {
        for known in [3, 100] {
            let (mut tap, mut reader) = pane_with(release, &numbered(1..=known));
            let mut last = known;
            let mut more = |tap: &mut Tap, lines: u32| {
                let new = numbered(last + 1..=last + lines);
                tap.lines(&new);
                last += lines;
                new
            };
            // Opened and left between two calls.
            let before = more(&mut tap, 3);
            tap.show(ENTER);
            tap.show(LEAVE);
            let after = more(&mut tap, 2);
            assert_eq!(reader.lines(&tap), [before, after].concat());
            // Read before, during and after.
            let before = more(&mut tap, 40);
            tap.show(ENTER);
            assert_eq!(reader.lines(&tap), ["full screen", "second row"]);
            tap.show("\r\x1b[Kanother row\r\nthird");
            let delta = reader.read(&tap);
            assert!(delta.pane.alternate_on);
            assert_eq!(
                (delta.missed, &delta.lines[..]),
                (None, &["another row", "third"].map(str::to_owned)[..])
            );
            assert_eq!(reader.lines(&tap), [""; 0]);
            tap.show(LEAVE);
            assert_eq!(reader.lines(&tap), before);
            assert_eq!(reader.lines(&tap), [""; 0]);
            let after = more(&mut tap, 50);
            assert_eq!(reader.lines(&tap), after);
            // A restart in the alternate screen.
            tap.show(ENTER);
            assert_eq!(reader.lines(&tap), ["full screen", "second row"]);
            reader.restart(&tap);
            assert_eq!(reader.lines(&tap), [""; 0]);
            tap.show(LEAVE);
            let after = more(&mut tap, 5);
            reader.restart(&tap);
            assert_eq!(reader.lines(&tap), after);
        }
    });
}

#[test]
fn what_stood_below_an_alternate_screen_that_was_read_first_is_said_to_be_unknown() {
    on_each_release(|release| {
        let mut tap = Tap::open(release, 2_000);
        tap.lines(numbered(1..=50));
        tap.show(ENTER);
        let mut reader = Reader::new(&tap);
        assert_eq!(reader.lines(&tap), ["full screen", "second row"]);
        reader.restart(&tap);
        tap.show(LEAVE);
        let delta = reader.read(&tap);
        assert_eq!(delta.missed, Some(Missed::AlternateScreen));
        assert_eq!(delta.lines, numbered(28..=50));
    });
}

#[test]
fn a_line_that_an_alternate_screen_has_split_is_not_given_again() {
    on_each_release(|release| {
        let (mut tap, mut reader) = pane_with(release, &numbered(1..=30));
        let long = "0123456789".repeat(24);
        tap.lines([&long]);
        tap.lines(numbered(31..=52));
        assert_eq!(reader.lines(&tap), [vec![long.clone()], numbered(31..=52)].concat());
        // The line begins in the history and ends on the screen.
        tap.show(ENTER);
        tap.show(LEAVE);
        let rows = tap.server.tmux(["capture-pane", "-p", "-J", "-S", "-3", "-t", "%1"]).text();
        assert_eq!(rows.contains(&long), !release.at_least(3, 2), "{rows}");
        assert_eq!(reader.lines(&tap), [""; 0]);
        tap.lines(numbered(53..=60));
        assert_eq!(reader.lines(&tap), numbered(53..=60));
    });
}

#[test]
fn the_newest_lines_are_kept_and_what_was_cut_is_counted() {
    on_each_release(|release| {
        let (mut tap, mut reader) = pane_with(release, &numbered(1..=50));
        let mut read = |tap: &mut Tap, lines: &[&str], max_lines, max_bytes| {
            tap.lines(lines);
            let options = SinceOptions { max_lines, max_bytes, ..SinceOptions::default() };
            let delta = reader.try_read(tap, options).unwrap();
            assert_eq!(delta.missed, None);
            (delta.lines.join("|"), delta.truncated_lines, delta.truncated_bytes)
        };
        let of = |text: &str, lines, bytes| (text.to_owned(), lines, bytes);
        let words = ["one", "two", "three", "four"];
        assert_eq!(read(&mut tap, &words, Some(4), None), of("one|two|three|four", 0, 0));
        assert_eq!(read(&mut tap, &words, Some(2), None), of("three|four", 2, 6));
        assert_eq!(read(&mut tap, &words, Some(0), None), of("", 4, 15));
        assert_eq!(read(&mut tap, &words, None, Some(15)), of("one|two|three|four", 0, 0));
        assert_eq!(read(&mut tap, &words, None, Some(14)), of("two|three|four", 1, 3));
        assert_eq!(read(&mut tap, &words, None, Some(9)), of("three|four", 2, 6));
        // Only the newest line may lose its front, and never a part of a character.
        assert_eq!(read(&mut tap, &words, None, Some(3)), of("our", 3, 12));
        assert_eq!(read(&mut tap, &["häßlich 🙂é"], None, Some(2)), of("é", 0, 14));
        assert_eq!(read(&mut tap, &["häßlich 🙂é"], None, Some(5)), of("é", 0, 14));
        assert_eq!(read(&mut tap, &["häßlich 🙂é"], None, Some(6)), of("🙂é", 0, 10));
        assert_eq!(read(&mut tap, &["a", "漢字漢字"], Some(1), Some(7)), of("漢字", 1, 7));
        assert_eq!(read(&mut tap, &["a", "", "b"], None, Some(1)), of("|b", 1, 1));
        // None is left out between two that are kept.
        assert_eq!(read(&mut tap, &["one", "three", "two"], None, Some(7)), of("two", 2, 8));
        // What was cut is not given later.
        assert_eq!(read(&mut tap, &[], None, None), of("", 0, 0));
    });
}

#[test]
fn a_cursor_of_another_pane_program_or_server_is_refused() {
    on_each_release(|release| {
        let (tap, mut reader) = pane_with(release, &numbered(1..=5));
        let kind = |result: Result<Delta, muxwire::Error>| result.unwrap_err().kind();
        let earlier = reader.earlier.clone();
        let other =
            block_on(reader.tmux.since(PaneId::new(0), earlier.as_ref(), &Default::default()));
        assert_eq!(kind(other), ErrorKind::InvalidInput);
        tap.server.set(["kill-pane", "-t", "%0"]);

        tap.set("respawn-pane", &["-k", IDLE]);
        assert_eq!(kind(reader.try_read(&tap, Default::default())), ErrorKind::StaleCursor);
        reader.restart(&tap);
        assert_eq!(kind(reader.try_read(&tap, Default::default())), ErrorKind::StaleCursor);

        let mut reader = Reader::new(&tap);
        reader.lines(&tap);
        let pid = tap.server.pid();
        tap.server.set(["kill-server"]);
        eventually("the server's end", || has_ended(pid).then_some(()));
        assert_eq!(kind(reader.try_read(&tap, Default::default())), ErrorKind::NoServer);
        tap.server.set(["new-session", "-d", "-s", "again", IDLE]);
        tap.server.set(["new-window", "-d", IDLE]); // there is a pane %1 again
        assert_eq!(kind(reader.try_read(&tap, Default::default())), ErrorKind::ServerChanged);
        reader.restart(&tap);
        assert_eq!(kind(reader.try_read(&tap, Default::default())), ErrorKind::ServerChanged);

        tap.set("kill-pane", &[]);
        let mut reader = Reader::new(&tap);
        assert_eq!(kind(reader.try_read(&tap, Default::default())), ErrorKind::NotFound);
    });
}

#[test]
fn the_last_lines_of_a_dead_pane_are_read_and_the_banner_is_none_of_them() {
    on_each_release(|release| {
        for known in [3, 30] {
            let (mut tap, mut reader) = pane_with(release, &numbered(1..=known));
            let mut restarted = Reader { earlier: reader.earlier.clone(), ..Reader::new(&tap) };
            restarted.restart(&tap);
            tap.server.set(["set-option", "-g", "remain-on-exit", "on"]);
            tap.lines(["last", "words"]);
            tap.end();
            eventually("the pane's death", || {
                tap.server.reap();
                (tap.value("#{pane_dead_status}") == "0").then_some(())
            });
            assert_eq!(reader.lines(&tap), ["last", "words"]);
            assert_eq!(reader.lines(&tap), [""; 0]);
            let delta = restarted.read(&tap);
            if delta.missed.is_none() {
                assert_eq!(delta.lines, ["last", "words"]);
            }
            let mut first = Reader::new(&tap);
            let lines = first.lines(&tap);
            assert!(lines.ends_with(&["last".to_owned(), "words".to_owned()]), "{lines:?}");
        }
    });
}

#[test]
fn blank_lines_and_lines_that_are_all_the_same_are_each_given() {
    on_each_release(|release| {
        let (mut tap, mut reader) = pane_with(release, &numbered(1..=3));
        for line in ["", "y", ""] {
            for count in [1, 2, 5, 24, 30, 100] {
                let mut expected = vec![line.to_owned(); count];
                // Blank lines at the end are given when something follows them.
                expected.push("$".to_owned());
                tap.show(format!("{}$ \r", format!("{line}\r\n").repeat(count)));
                assert_eq!(reader.lines(&tap), expected, "{line:?}");
                assert_eq!(reader.lines(&tap), [""; 0]);
                tap.show("$ \r\n");
            }
        }
        for count in [1, 2, 5, 24, 30, 100] {
            tap.lines(vec!["y"; count]);
            assert_eq!(reader.lines(&tap), vec!["y"; count]);
        }
        // Those that have scrolled off are there; those on the screen may yet be written on.
        tap.lines([""; 40]);
        assert_eq!(reader.lines(&tap), [""; 17]);
        tap.lines(["y"]);
        assert_eq!(reader.lines(&tap), [vec![""; 23], vec!["y"]].concat());
    });
}

#[test]
fn a_pane_that_scrolls_while_it_is_read_is_read_whole() {
    on_each_release(|release| {
        let (mut tap, mut reader) = pane_with(release, &numbered(1..=30));
        let line = |number: u32| format!("scrolled {number}");
        let mut joined: Vec<String> = Vec::new();
        for number in 1..=200 {
            // A line in two writes; the reader never waits until they are shown.
            tap.write(format!("{}{number}", &line(number)[..9]));
            join(&mut joined, reader.lines(&tap));
            tap.write("\r\n");
            if number % 3 == 0 {
                join(&mut joined, reader.lines(&tap));
            }
        }
        tap.sync();
        join(&mut joined, reader.lines(&tap));
        assert_eq!(joined, (1..=200).map(line).collect::<Vec<_>>());
    });
}

/// Adds lines; the last one before may come again, longer.
fn join(joined: &mut Vec<String>, lines: Vec<String>) {
    if let (Some(last), Some(first)) = (joined.last(), lines.first())
        && first.starts_with(&**last)
    {
        joined.pop();
    }
    joined.extend(lines);
}

#[test]
fn characters_of_any_width_at_the_wrap_come_whole() {
    on_each_release(|release| {
        let (mut tap, mut reader) = pane_with(release, &numbered(1..=30));
        for wide in ["漢", "🙂", "e\u{301}", "한", "ﾊﾟ"] {
            for before in 76..=81 {
                let line = format!("{}{}.", "x".repeat(before), wide.repeat(50));
                tap.lines([&line]);
                let lines = reader.lines(&tap);
                if release.at_least(3, 2) {
                    assert_eq!(lines, [line]);
                } else {
                    // It fills a row that a wide character did not fit into (note 7.5).
                    assert_eq!(lines[0].replace(' ', ""), line);
                }
                assert_eq!(reader.lines(&tap), [""; 0]);
            }
        }
    });
}

#[test]
fn a_reader_that_has_but_its_cursor_reads_on() {
    on_each_release(|release| {
        for known in [0, 5, 30, 100] {
            let (mut tap, mut reader) = pane_with(release, &numbered(1..=known));
            let mut last = known;
            for lines in [0, 1, 5, 30, 0, 100] {
                tap.lines(numbered(last + 1..=last + lines));
                reader.restart(&tap);
                assert_eq!(reader.lines(&tap), numbered(last + 1..=last + lines), "{known}");
                last += lines;
            }
            tap.show("begun");
            reader.restart(&tap);
            assert_eq!(reader.lines(&tap), ["begun"]);
            tap.show(" and done\r\n");
            reader.restart(&tap);
            assert_eq!(reader.lines(&tap), ["begun and done"]);
            // A cursor knows finished lines of the screen only as a whole.
            tap.show("\x1b[2A\rrewritten\x1b[K\r\n\r\n");
            reader.restart(&tap);
            let delta = reader.read(&tap);
            if delta.missed.is_none() {
                assert!(delta.lines.contains(&"rewritten".to_owned()), "{:?}", delta.lines);
            }
        }
    });
}

#[test]
fn two_readers_do_not_know_of_each_other() {
    on_each_release(|release| {
        let (mut tap, mut often) = pane_with(release, &numbered(1..=30));
        let mut seldom = Reader::new(&tap);
        seldom.lines(&tap);
        for round in 0..5 {
            for step in 0..4 {
                let from = 31 + round * 40 + step * 10;
                tap.lines(numbered(from..=from + 9));
                assert_eq!(often.lines(&tap), numbered(from..=from + 9));
            }
            assert_eq!(seldom.lines(&tap), numbered(31 + round * 40..=70 + round * 40));
        }
    });
}

#[test]
fn an_unfinished_line_of_several_screens_grows() {
    on_each_release(|release| {
        for known in [0, 5, 100] {
            let (mut tap, mut reader) = pane_with(release, &numbered(1..=known));
            let mut line = String::new();
            for cells in [10, 200, 1_900, 100, 2_000, 4_000, 1, 8_000] {
                tap.show("x".repeat(cells));
                line.push_str(&"x".repeat(cells));
                let lengths: Vec<usize> = reader.lines(&tap).iter().map(String::len).collect();
                assert_eq!(lengths, [line.len()], "{known}");
                assert_eq!(reader.lines(&tap), [""; 0], "{known} {}", line.len());
            }
            tap.show("\r\nnext");
            let lengths: Vec<usize> = reader.lines(&tap).iter().map(String::len).collect();
            assert_eq!(lengths, [4], "{known}");
            tap.lines(numbered(1..=100).iter().map(|line| format!(" {line}")));
            let lines = reader.lines(&tap);
            assert_eq!((lines.len(), &*lines[0]), (100, "next line 1"), "{known}");
        }
    });
}

#[test]
fn splices_make_each_screen_of_the_one_before() {
    on_each_release(|release| {
        let mut tap = Tap::open(release, 2_000);
        let mut reader = Reader::new(&tap);
        let options = SinceOptions { kind: Kind::Screen, ..SinceOptions::default() };
        let mut rows: Vec<String> = Vec::new();
        let writes = [
            "",
            "one\r\n",
            "two\r\nthree\r\n",
            "",
            "\x1b[H2",
            "\x1b[10;1Hbelow",
            "\x1b[H\x1b[2J",
            "a\r\n\r\nb\r\n",
            &"wrapped ".repeat(40),
            "\r\n",
            ENTER,
            "\r\nmore",
            LEAVE,
            "\x1b[5;1H\x1b[L",
            "\x1b[M",
            "the end",
        ];
        for (step, bytes) in writes.into_iter().enumerate() {
            tap.show(bytes);
            let restarts = step % 5 == 4;
            if restarts {
                reader.restart(&tap);
            }
            let delta = reader.try_read(&tap, options).unwrap();
            assert_eq!((delta.missed, &delta.lines[..]), (None, &[][..]));
            let splice = delta.screen.expect("a splice");
            assert_eq!(splice.reset, step == 0 || restarts);
            if splice.reset {
                rows.clear();
            }
            rows.splice(splice.start..splice.start + splice.delete, splice.rows.clone());
            let screen = block_on(tap.server.handle().capture(tap.pane, &Default::default()));
            assert_eq!(rows, screen.unwrap().lines, "{bytes:?}");
            if bytes.is_empty() && step > 0 && !restarts {
                assert_eq!((splice.delete, splice.rows.len()), (0, 0));
            }
        }
    });
}

#[test]
fn a_pane_that_had_no_output_costs_little_and_is_still_seen_to_change() {
    on_each_release(|release| {
        let (mut tap, _) = pane_with(release, &numbered(1..=100));
        tap.show("$ ");
        let mut reader = Reader::new(&tap);
        // Whether a pane was active since is known in seconds.
        let settle = |reader: &mut Reader, tap: &Tap| {
            std::thread::sleep(std::time::Duration::from_millis(1_050));
            reader.read(tap);
        };
        settle(&mut reader, &tap);
        let proxy = CountingProxy::new(&tap.server);
        let mut counted = Reader { tmux: proxy.handle(), earlier: None };
        counted.read(&tap);
        let changed = proxy.next();
        assert_eq!(counted.lines(&tap), [""; 0]);
        let unchanged = proxy.next();
        assert_eq!((changed.round_trips, unchanged.round_trips), (1, 1));
        assert!(unchanged.to_client + 500 < changed.to_client, "{unchanged:?} {changed:?}");

        // Taller: rows come back from the history.
        tap.set("resize-window", &["-y", "30"]);
        let of_screen = SinceOptions { kind: Kind::Screen, ..SinceOptions::default() };
        let delta = reader.try_read(&tap, of_screen).unwrap();
        assert_eq!(delta.screen.map(|splice| splice.rows.len()), Some(6));
        tap.set("resize-window", &["-y", "24"]);
        reader.lines(&tap);

        tap.set("clear-history", &[]);
        assert_eq!(reader.read(&tap).missed, Some(Missed::HistoryCleared));
        tap.show("more\r\n$ ");
        assert_eq!(reader.lines(&tap), ["$ more", "$"]);

        // Moved to another window, whose activity is of another time.
        settle(&mut reader, &tap);
        let pane = tap.pane.to_string();
        tap.server.set(["join-pane", "-d", "-s", &pane, "-t", "%0"]);
        let delta = reader.read(&tap);
        assert_eq!((delta.missed, delta.pane.height < 24), (None, true));
        tap.show("joined\r\n$ ");
        assert_eq!(reader.lines(&tap), ["$ joined", "$"]);
        settle(&mut reader, &tap);
        tap.server.set(["break-pane", "-d", "-s", &pane]);
        assert_eq!(reader.read(&tap).pane.height, 24);
        tap.show("alone\r\n$ ");
        assert_eq!(reader.lines(&tap), ["$ alone", "$"]);

        settle(&mut reader, &tap);
        tap.set("send-keys", &["-R"]);
        let delta = reader.try_read(&tap, of_screen).unwrap();
        let screen = block_on(tap.server.handle().capture(tap.pane, &Default::default())).unwrap();
        assert_eq!((screen.lines.len(), delta.pane.cursor_y), (0, 0));
        assert!(delta.screen.unwrap().delete > 0);

        tap.show("back\r\n$ ");
        settle(&mut reader, &tap);
        tap.set("respawn-pane", &["-k", IDLE]);
        let error = reader.try_read(&tap, SinceOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StaleCursor);
    });
}

#[test]
fn a_pane_of_lines_that_repeat_themselves_is_read_exactly_at_any_height() {
    on_each_release(|release| {
        let mut tap = Tap::open(release, 2_000);
        let mut reader = Reader::new(&tap);
        let block = |count| numbered(1..=4).into_iter().cycle().take(count).collect::<Vec<_>>();
        tap.lines(block(400));
        reader.lines(&tap);
        for height in [7, 60, 24, 100, 3, 50] {
            tap.set("resize-window", &["-y", &height.to_string()]);
            assert_eq!(reader.lines(&tap), [""; 0], "{height}");
            tap.lines(block(12));
            assert_eq!(reader.lines(&tap), block(12), "{height}");
        }
    });
}

#[test]
fn lines_that_recur_where_others_stood_in_a_full_history_are_not_taken_for_them() {
    on_each_release(|release| {
        // Ten rows go at once, and the text repeats itself after ten.
        let mut tap = Tap::open(release, 100);
        tap.lines(numbered(1..=100));
        tap.lines(numbered(1..=10).iter().cycle().take(60));
        let mut reader = Reader::new(&tap);
        tap.lines(numbered(201..=210));
        reader.lines(&tap);
        for (height, count) in [(48, 20), (24, 30), (60, 60), (24, 0)] {
            tap.lines(numbered(301..=300 + count));
            tap.set("resize-window", &["-y", &height.to_string()]);
            let delta = reader.read(&tap);
            if delta.missed.is_none() {
                assert_eq!(delta.lines, numbered(301..=300 + count), "{height} {count}");
            }
            tap.lines(numbered(1..=10).iter().cycle().take(60));
            tap.lines(numbered(201..=210));
            reader.read(&tap);
        }
    });
}

#[test]
fn a_blank_pane_that_is_made_narrower_has_missed_nothing() {
    on_each_release(|release| {
        let tap = Tap::open(release, 2_000);
        let mut reader = Reader::new(&tap);
        assert_eq!(reader.lines(&tap), [""; 0]);
        tap.set("resize-window", &["-x", "40"]);
        assert_eq!(reader.lines(&tap), [""; 0]);
        reader.restart(&tap);
        tap.set("resize-window", &["-x", "60"]);
        assert_eq!(reader.lines(&tap), [""; 0]);
    });
}
