//! Captures that are kept for a while, so that their pages can be read on without asking tmux again.

use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// How long a capture is kept after it was made.
pub(crate) const TTL: Duration = Duration::from_secs(30);
/// How many are kept at most.
pub(crate) const MAX_CAPTURES: usize = 16;
/// How many bytes they may hold together.
pub(crate) const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The captures, oldest first. Time is told from outside.
#[derive(Debug)]
pub(crate) struct Retention<T> {
    kept: VecDeque<Kept<T>>,
    bytes: usize,
}

#[derive(Debug)]
struct Kept<T> {
    id: u128,
    made: Instant,
    bytes: usize,
    what: T,
}

/// A capture holds more than all of them may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLarge;

impl<T> Default for Retention<T> {
    fn default() -> Self {
        Self { kept: VecDeque::new(), bytes: 0 }
    }
}

impl<T> Retention<T> {
    /// Keeps a capture that is made now and holds `bytes`. The oldest make room for it.
    ///
    /// # Errors
    /// [`TooLarge`]; then the others stay.
    pub(crate) fn keep(
        &mut self,
        id: u128,
        what: T,
        bytes: usize,
        now: Instant,
    ) -> Result<(), TooLarge> {
        if bytes > MAX_BYTES {
            return Err(TooLarge);
        }
        self.forget_old(now);
        let is_full = |it: &Self| it.kept.len() >= MAX_CAPTURES || it.bytes + bytes > MAX_BYTES;
        while !self.kept.is_empty() && is_full(self) {
            self.forget_oldest();
        }
        self.kept.push_back(Kept { id, made: now, bytes, what });
        self.bytes += bytes;
        Ok(())
    }

    /// The capture of this id, if it is still kept.
    pub(crate) fn get(&mut self, id: u128, now: Instant) -> Option<&T> {
        self.forget_old(now);
        self.kept.iter().find(|kept| kept.id == id).map(|kept| &kept.what)
    }

    fn forget_old(&mut self, now: Instant) {
        let is_old = |kept: &Kept<T>| now.saturating_duration_since(kept.made) >= TTL;
        while self.kept.front().is_some_and(is_old) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.kept.pop_front() {
            self.bytes -= oldest.bytes;
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
        retention.keep(1, "first", 10, start).unwrap();
        retention.keep(2, "second", 10, start + Duration::from_secs(1)).unwrap();
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
            retention.keep(id, "", 1, now).unwrap();
        }
        assert_eq!(ids(&mut retention, now), (0..16).collect::<Vec<_>>());
        retention.keep(16, "", 1, now).unwrap();
        assert_eq!(ids(&mut retention, now), (1..17).collect::<Vec<_>>());
    }

    #[test]
    fn the_oldest_make_room_for_bytes_and_no_more_of_them_than_needed() {
        let (mut retention, now) = (Retention::default(), Instant::now());
        for id in 0..4 {
            retention.keep(id, "", MAX_BYTES / 4, now).unwrap();
        }
        assert_eq!(ids(&mut retention, now), [0, 1, 2, 3]);
        retention.keep(4, "", MAX_BYTES / 4 + 1, now).unwrap();
        assert_eq!(ids(&mut retention, now), [2, 3, 4]);
        retention.keep(5, "", MAX_BYTES, now).unwrap();
        assert_eq!(ids(&mut retention, now), [5]);
    }

    #[test]
    fn one_that_is_larger_than_the_budget_puts_out_nothing() {
        let (mut retention, now) = (Retention::default(), Instant::now());
        retention.keep(1, "", 1, now).unwrap();
        assert_eq!(retention.keep(2, "", MAX_BYTES + 1, now), Err(TooLarge));
        assert_eq!((ids(&mut retention, now), retention.bytes), (vec![1], 1));
    }
}
