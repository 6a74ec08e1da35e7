//! What was written since a pane was last read, case by case on every release.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use muxwire::Tmux;
use muxwire::capture::{Baseline, Cursor, Delta, SinceOptions};
use support::{Tap, block_on, on_each_release};

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
