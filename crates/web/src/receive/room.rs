//! What lies below a prefix, and what is on its way there: how much more a key may store.

use std::collections::{BTreeMap, HashMap};
use std::io;

use iostall_measure::{ByteCount, Clock as _, MonotonicClock};

use crate::tls_server::Refusal;

/// What lies there is counted again after this, nanoseconds: `prune` may have deleted some of it.
const COUNTED_NS: u64 = 10_000_000_000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Room {
    stored_bytes: u64,
    counted_ns: Option<u64>,
    /// For each upload the lengths of its parts.
    on_their_way: HashMap<String, BTreeMap<usize, u64>>,
    on_their_way_bytes: u64,
    clock: MonotonicClock,
}

impl Room {
    /// Takes note of a part of an upload, unless there were more than `quota` then. `count` tells how many bytes are stored.
    ///
    /// # Errors
    /// That there would be, or why they cannot be counted.
    pub(super) fn take(
        &mut self,
        (id, part): (&str, usize),
        bytes: u64,
        quota: Option<ByteCount>,
        count: impl Fn() -> io::Result<u64>,
    ) -> Result<(), Refusal> {
        let before = self.on_their_way.get(id).and_then(|parts| parts.get(&part)).copied().unwrap_or(0);
        let others = self.on_their_way_bytes - before;
        self.check(others + bytes, quota, count)?;
        self.on_their_way_bytes = others + bytes;
        self.on_their_way.entry(id.to_owned()).or_default().insert(part, bytes);
        Ok(())
    }

    /// Fails unless there is room for a byte more.
    ///
    /// # Errors
    /// As of [`Self::take`].
    pub(super) fn any(
        &mut self,
        quota: Option<ByteCount>,
        count: impl Fn() -> io::Result<u64>,
    ) -> Result<(), Refusal> {
        self.check(self.on_their_way_bytes + 1, quota, count)
    }

    /// Fails if with so many bytes on their way there were more than `quota`.
    fn check(
        &mut self,
        on_their_way_bytes: u64,
        quota: Option<ByteCount>,
        count: impl Fn() -> io::Result<u64>,
    ) -> Result<(), Refusal> {
        let Some(quota) = quota else { return Ok(()) };
        let now_ns = self.clock.now_ns();
        let is_old = self.counted_ns.is_none_or(|counted_ns| now_ns - counted_ns > COUNTED_NS);
        let is_over = |stored_bytes: u64| stored_bytes + on_their_way_bytes > quota.bytes();
        if is_old || is_over(self.stored_bytes) {
            self.stored_bytes = count().map_err(Refusal::from)?;
            self.counted_ns = Some(now_ns);
        }
        if is_over(self.stored_bytes) { Err(Refusal::over_quota(quota)) } else { Ok(()) }
    }

    /// Forgets an upload, which was given up or is stored now.
    pub(super) fn end(&mut self, id: &str, is_stored: bool) {
        let bytes: u64 = self.on_their_way.remove(id).unwrap_or_default().values().sum();
        self.on_their_way_bytes -= bytes;
        if is_stored {
            self.stored_bytes += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_and_what_is_on_its_way_count_together_and_a_part_counts_once() {
        let mut room = Room::default();
        let quota = Some(ByteCount(100));
        let take = |room: &mut Room, part, bytes, stored| room.take(part, bytes, quota, || Ok(stored));
        take(&mut room, ("a", 0), 40, 30).unwrap();
        take(&mut room, ("a", 0), 40, 30).unwrap();
        take(&mut room, ("b", 0), 30, 30).unwrap();
        assert!(take(&mut room, ("b", 1), 1, 30).is_err());
        // Prune made room.
        take(&mut room, ("b", 1), 1, 20).unwrap();
        room.end("a", true);
        assert!(take(&mut room, ("c", 0), 70, 60).is_err());
        room.end("b", false);
        take(&mut room, ("c", 0), 40, 60).unwrap();
        room.end("unknown", true);
        assert!(room.any(quota, || Ok(60)).is_err());
        room.any(quota, || Ok(59)).unwrap();
        room.take(("d", 0), 1000, None, || Ok(0)).unwrap();
    }
}
