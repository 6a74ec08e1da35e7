//! Random bits from the system, many at a time.

use std::sync::Mutex;

use super::{Delivery, Error, ErrorKind};

/// Bytes that are asked of the system at one time: a call for each nonce would be felt.
const POOL: usize = 512;

struct Pool {
    bytes: [u8; POOL],
    used: usize,
}

static RANDOM: Mutex<Pool> = Mutex::new(Pool { bytes: [0; POOL], used: POOL });

/// 128 random bits that were never given before.
pub(crate) fn fresh_bits() -> Result<u128, Error> {
    let no_random = || {
        let message = "the system gives no random bits";
        Error::new(ErrorKind::Unsupported, Delivery::NotSent, message)
    };
    let mut pool = RANDOM.lock().map_err(|_| no_random())?;
    let used = pool.used;
    if let Some(bits) = pool.bytes.get(used..).and_then(|unused| unused.first_chunk()) {
        let bits = u128::from_ne_bytes(*bits);
        pool.used += size_of::<u128>();
        return Ok(bits);
    }
    getrandom::fill(&mut pool.bytes).map_err(|_| no_random())?;
    pool.used = size_of::<u128>();
    pool.bytes.first_chunk().map(|bits| u128::from_ne_bytes(*bits)).ok_or_else(no_random)
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_bits_come_twice() {
        let drawn: std::collections::HashSet<u128> =
            (0..1000).map(|_| super::fresh_bits().unwrap()).collect();
        assert_eq!(drawn.len(), 1000);
    }
}
