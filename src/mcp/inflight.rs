//! The requests that are being worked on, and how much memory they hold.
//!
//! rmcp keys its cancellations by request id and lets a second request take the place of a first one with the same
//! id; the second then never gets its answer. So ids are watched here, and a doubled one is refused.

use rmcp::model::RequestId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many requests may be unanswered at once.
pub(crate) const MAX_REQUESTS: usize = 256;
/// No request is taken on while the unanswered requests and unread answers hold this many bytes together. Those that
/// were taken on before may still add an answer each.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Why a request is not taken on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotTaken {
    /// Its id belongs to a request that is not answered yet.
    IdInUse,
    /// Too many requests or bytes are waiting.
    Full,
}

/// The table, shared by the transport and the tickets.
#[derive(Debug, Clone, Default)]
pub(crate) struct InFlight(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    requests: HashMap<RequestId, Entry>,
    bytes: usize,
    serial: u64,
}

#[derive(Debug)]
struct Entry {
    bytes: usize,
    serial: u64,
    /// No answer will be sent: the client cancelled.
    cancelled: bool,
    /// The handler is through.
    handled: bool,
}

/// Goes with a request to its handler; dropped with it.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    _end: Arc<End>,
}

#[derive(Debug)]
struct End {
    table: InFlight,
    id: RequestId,
    serial: u64,
}

impl InFlight {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes on a request that holds `bytes`.
    pub(crate) fn begin(&self, id: &RequestId, bytes: usize) -> Result<Ticket, NotTaken> {
        let mut table = self.table();
        if table.requests.contains_key(id) {
            return Err(NotTaken::IdInUse);
        }
        if table.requests.len() >= MAX_REQUESTS || table.bytes.saturating_add(bytes) > MAX_BYTES {
            return Err(NotTaken::Full);
        }
        table.bytes += bytes;
        table.serial += 1;
        let serial = table.serial;
        table
            .requests
            .insert(id.clone(), Entry { bytes, serial, cancelled: false, handled: false });
        Ok(Ticket { _end: Arc::new(End { table: self.clone(), id: id.clone(), serial }) })
    }

    /// The answer is ready and holds `bytes` until it is written.
    pub(crate) fn answer_waits(&self, id: &RequestId, bytes: usize) {
        let mut table = self.table();
        if let Some(entry) = table.requests.get_mut(id) {
            entry.bytes += bytes;
            table.bytes += bytes;
        }
    }

    /// The answer is written, or never will be.
    pub(crate) fn answered(&self, id: &RequestId) {
        self.table().remove(id);
    }

    /// The client cancelled: no answer follows.
    pub(crate) fn cancelled(&self, id: &RequestId) {
        let mut table = self.table();
        match table.requests.get_mut(id) {
            Some(entry) if entry.handled => table.remove(id),
            Some(entry) => entry.cancelled = true,
            None => {}
        }
    }
}

impl Table {
    fn remove(&mut self, id: &RequestId) {
        if let Some(entry) = self.requests.remove(id) {
            self.bytes = self.bytes.saturating_sub(entry.bytes);
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let mut table = self.table.table();
        match table.requests.get_mut(&self.id) {
            Some(entry) if entry.serial != self.serial => {}
            Some(entry) if entry.cancelled => table.remove(&self.id),
            Some(entry) => entry.handled = true,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(table: &InFlight) -> (usize, usize) {
        let table = table.table();
        (table.requests.len(), table.bytes)
    }

    #[test]
    fn an_id_is_taken_until_its_request_is_answered() {
        let (table, id) = (InFlight::default(), RequestId::Number(1));
        let ticket = table.begin(&id, 10).unwrap();
        assert_eq!(table.begin(&id, 1).unwrap_err(), NotTaken::IdInUse);
        drop(ticket);
        assert_eq!(table.begin(&id, 1).unwrap_err(), NotTaken::IdInUse);
        table.answer_waits(&id, 5);
        assert_eq!(held(&table), (1, 15));
        table.answered(&id);
        assert_eq!(held(&table), (0, 0));
    }

    #[test]
    fn a_cancelled_request_is_held_until_its_handler_is_through() {
        for handler_first in [false, true] {
            let (table, id) = (InFlight::default(), RequestId::Number(1));
            let ticket = table.begin(&id, 10).unwrap();
            if handler_first {
                drop(ticket);
                table.cancelled(&id);
            } else {
                table.cancelled(&id);
                assert_eq!(held(&table), (1, 10));
                drop(ticket);
            }
            assert_eq!(held(&table), (0, 0));
        }
    }

    #[test]
    fn a_late_handler_does_not_touch_the_next_request_of_its_id() {
        let (table, id) = (InFlight::default(), RequestId::Number(1));
        let first = table.begin(&id, 10).unwrap();
        table.answered(&id);
        let second = table.begin(&id, 7).unwrap();
        drop(first);
        table.cancelled(&id);
        assert_eq!(held(&table), (1, 7));
        drop(second);
        assert_eq!(held(&table), (0, 0));
    }

    #[test]
    fn requests_and_bytes_are_bounded() {
        let table = InFlight::default();
        assert_eq!(table.begin(&RequestId::Number(0), MAX_BYTES + 1).unwrap_err(), NotTaken::Full);
        let tickets: Vec<_> = (0..i64::try_from(MAX_REQUESTS).unwrap())
            .map(|n| table.begin(&RequestId::Number(n), 1).unwrap())
            .collect();
        assert_eq!(table.begin(&RequestId::Number(-1), 1).unwrap_err(), NotTaken::Full);
        drop(tickets);
    }
}
