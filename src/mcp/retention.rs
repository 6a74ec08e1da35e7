//! What is kept for a while, so that it can be read on: metadata, whose pages are cut without asking tmux again, and what
//! is remembered of panes.

use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// How long metadata is kept after it was captured.
pub(crate) const TTL: Duration = Duration::from_secs(30);
/// How many captures of metadata are kept at most.
pub(crate) const MAX_CAPTURES: usize = 16;
/// How long what is known of panes is kept after it was last made.
pub(crate) const PANES_TTL: Duration = Duration::from_secs(3_600);
/// How many places in panes are kept at most. A cursor knows its place in short, too.
pub(crate) const MAX_PLACES: usize = 256;
/// How many observations and searches are kept at most. Their cursors are worth nothing without.
pub(crate) const MAX_FINDINGS: usize = 64;
/// How many bytes all may hold together.
pub(crate) const MAX_BYTES: usize = 8 * 1024 * 1024;

/// What is kept for how long, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Metadata of a server.
    Metadata,
    /// Places in the text of panes.
    Places,
    /// What was observed or found in many panes.
    Findings,
}

impl Kind {
    fn ttl(self) -> Duration {
        match self {
            Self::Metadata => TTL,
            Self::Places | Self::Findings => PANES_TTL,
        }
    }

    fn most(self) -> usize {
        match self {
            Self::Metadata => MAX_CAPTURES,
            Self::Places => MAX_PLACES,
            Self::Findings => MAX_FINDINGS,
        }
    }
}

/// All that is kept, oldest first. Time is told from outside.
#[derive(Debug)]
pub(crate) struct Retention<T> {
    kept: VecDeque<Kept<T>>,
    bytes: usize,
}

#[derive(Debug)]
struct Kept<T> {
    id: u128,
    kind: Kind,
    made: Instant,
    bytes: usize,
    what: T,
}

/// One holds more than all of them may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge;

impl<T> Default for Retention<T> {
    fn default() -> Self {
        Self { kept: VecDeque::new(), bytes: 0 }
    }
}

impl<T> Retention<T> {
    /// Keeps what is made now and holds `bytes`, in place of what had the same id. The oldest make room for it.
    ///
    /// # Errors
    /// [`TooLarge`]; then the others stay.
    pub(crate) fn keep(
        &mut self,
        id: u128,
        kind: Kind,
        what: T,
        bytes: usize,
        now: Instant,
    ) -> Result<(), TooLarge> {
        if bytes > MAX_BYTES {
            return Err(TooLarge);
        }
        self.forget_old(now);
        if let Some(same) = self.kept.iter().position(|kept| kept.id == id) {
            self.forget(same);
        }
        if self.kept.iter().filter(|kept| kept.kind == kind).count() >= kind.most()
            && let Some(oldest) = self.kept.iter().position(|kept| kept.kind == kind)
        {
            self.forget(oldest);
        }
        while !self.kept.is_empty() && self.bytes + bytes > MAX_BYTES {
            self.forget(0);
        }
        self.kept.push_back(Kept { id, kind, made: now, bytes, what });
        self.bytes += bytes;
        Ok(())
    }

    /// What has this id, if it is still kept.
    pub(crate) fn get(&mut self, id: u128, now: Instant) -> Option<&T> {
        self.forget_old(now);
        self.kept.iter().find(|kept| kept.id == id).map(|kept| &kept.what)
    }

    fn forget_old(&mut self, now: Instant) {
        let age = |kept: &Kept<T>| now.saturating_duration_since(kept.made);
        self.kept.retain(|kept| {
            let is_young = age(kept) < kept.kind.ttl();
            self.bytes -= if is_young { 0 } else { kept.bytes };
            is_young
        });
    }

    fn forget(&mut self, at: usize) {
        if let Some(kept) = self.kept.remove(at) {
            self.bytes -= kept.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids that are kept.
    fn ids(retention: &mut Retention<&'static str>, now: Instant) -> Vec<u128> {
        (0..100).filter(|id| retention.get(*id, now).is_some()).collect()
    }

    #[test]
    fn a_capture_is_kept_for_30_seconds_after_it_was_made_however_often_it_is_read() {
        let (mut retention, start) = (Retention::default(), Instant::now());
        retention.keep(1, Kind::Metadata, "first", 10, start).unwrap();
        retention.keep(2, Kind::Metadata, "second", 10, start + Duration::from_secs(1)).unwrap();
        let almost = start + Duration::from_millis(29_999);
        assert_eq!(retention.get(1, almost), Some(&"first"));
        assert_eq!(ids(&mut retention, almost), [1, 2]);
        assert_eq!(ids(&mut retention, start + TTL), [2]);
        assert_eq!(retention.bytes, 10);
        assert_eq!(ids(&mut retention, start + TTL + Duration::from_secs(1)), []);
        assert_eq!(retention.bytes, 0);
    }

    #[test]
    fn the_17th_puts_out_the_oldest() {
        let (mut retention, now) = (Retention::default(), Instant::now());
        for id in 0..16 {
            retention.keep(id, Kind::Metadata, "", 1, now).unwrap();
        }
        assert_eq!(ids(&mut retention, now), (0..16).collect::<Vec<_>>());
        retention.keep(16, Kind::Metadata, "", 1, now).unwrap();
        assert_eq!(ids(&mut retention, now), (1..17).collect::<Vec<_>>());
    }

    #[test]
    fn the_oldest_make_room_for_bytes_and_no_more_of_them_than_needed() {
        let (mut retention, now) = (Retention::default(), Instant::now());
        for id in 0..4 {
            retention.keep(id, Kind::Metadata, "", MAX_BYTES / 4, now).unwrap();
        }
        assert_eq!(ids(&mut retention, now), [0, 1, 2, 3]);
        retention.keep(4, Kind::Metadata, "", MAX_BYTES / 4 + 1, now).unwrap();
        assert_eq!(ids(&mut retention, now), [2, 3, 4]);
        retention.keep(5, Kind::Metadata, "", MAX_BYTES, now).unwrap();
        assert_eq!(ids(&mut retention, now), [5]);
    }

    #[test]
    fn one_that_is_larger_than_the_budget_puts_out_nothing() {
        let (mut retention, now) = (Retention::default(), Instant::now());
        retention.keep(1, Kind::Metadata, "", 1, now).unwrap();
        assert_eq!(retention.keep(2, Kind::Metadata, "", MAX_BYTES + 1, now), Err(TooLarge));
        assert_eq!((ids(&mut retention, now), retention.bytes), (vec![1], 1));
    }

    #[test]
    fn places_in_panes_put_out_nothing_else_but_for_bytes_and_stay_longer() {
        let (mut retention, now) = (Retention::default(), Instant::now());
        retention.keep(0, Kind::Metadata, "", 1, now).unwrap();
        retention.keep(1, Kind::Findings, "", 1, now).unwrap();
        for id in 2..=99 {
            retention.keep(id, Kind::Places, "", 1, now).unwrap();
        }
        assert_eq!(ids(&mut retention, now), (0..=99).collect::<Vec<_>>());
        assert_eq!(ids(&mut retention, now + TTL), (1..=99).collect::<Vec<_>>());
        assert_eq!(ids(&mut retention, now + PANES_TTL), []);
        retention.keep(0, Kind::Metadata, "", 1, now).unwrap();
        retention.keep(1, Kind::Findings, "", 1, now).unwrap();
        for id in 0..300 {
            retention.keep(1_000 + id, Kind::Places, "", 1, now).unwrap();
        }
        assert_eq!(ids(&mut retention, now), [0, 1]);
        assert_eq!(retention.kept.len(), 2 + MAX_PLACES);
    }

    #[test]
    fn what_is_made_again_is_kept_once_and_is_young_again() {
        let (mut retention, now) = (Retention::default(), Instant::now());
        retention.keep(1, Kind::Metadata, "old", 10, now).unwrap();
        let later = now + Duration::from_secs(20);
        retention.keep(1, Kind::Metadata, "new", 20, later).unwrap();
        assert_eq!((retention.kept.len(), retention.bytes), (1, 20));
        assert_eq!(retention.get(1, now + TTL), Some(&"new"));
    }
}
