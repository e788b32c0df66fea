//! How much one server, or somebody unknown, may ask for.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use iostall_measure::{Clock, MonotonicClock};
use iostall_store::{Member, SecretHash};

/// So many at a time are remembered; then all begin again.
const REMEMBERED_MAX: usize = 20_000;
const NS_PER_S: u64 = 1_000_000_000;

/// Requests a second, and how many may come at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub(super) per_s: u64,
    pub(super) burst: u64,
}

#[derive(Debug)]
pub(super) struct Limits<K, C = MonotonicClock> {
    limit: Limit,
    clock: C,
    left: Mutex<HashMap<K, Left>>,
}

#[derive(Clone, Copy, Debug)]
struct Left {
    /// In nanoseconds: what was not asked for adds up.
    credit_ns: u64,
    at_ns: u64,
}

impl<K: Eq + Hash + Clone, C: Clock> Limits<K, C> {
    pub(super) fn new(limit: Limit, clock: C) -> Self {
        Self { limit, clock, left: Mutex::default() }
    }

    /// Whether `who` may ask now; if so, that is one request.
    pub(super) fn take(&self, who: &K) -> bool {
        self.take_some(who, 1)
    }

    /// Whether `who` may ask for so many now; if so, they are taken.
    pub(super) fn take_some(&self, who: &K, count: u64) -> bool {
        let each_ns = (NS_PER_S / self.limit.per_s).saturating_mul(count);
        let mut all = self.lock();
        let left = self.left(&all, who);
        if all.len() >= REMEMBERED_MAX && !all.contains_key(who) {
            all.clear();
        }
        let may = left.credit_ns >= each_ns;
        let credit_ns = if may { left.credit_ns - each_ns } else { left.credit_ns };
        all.insert(who.clone(), Left { credit_ns, ..left });
        may
    }

    pub(super) fn has_some(&self, who: &K) -> bool {
        self.left(&self.lock(), who).credit_ns >= NS_PER_S / self.limit.per_s
    }

    fn left(&self, all: &HashMap<K, Left>, who: &K) -> Left {
        let (now_ns, most_ns) = (self.clock.now_ns(), self.limit.burst * NS_PER_S / self.limit.per_s);
        match all.get(who) {
            None => Left { credit_ns: most_ns, at_ns: now_ns },
            Some(left) => {
                let credit_ns = left.credit_ns.saturating_add(now_ns.saturating_sub(left.at_ns));
                Left { credit_ns: credit_ns.min(most_ns), at_ns: now_ns }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Left>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// So long a server is not looked up again on its connection, nanoseconds. Whether it may send is looked up with each batch.
const SEEN_NS: u64 = 5_000_000_000;

#[derive(Debug, Default)]
pub(super) struct Seen(Option<(SecretHash, Member, u64)>);

impl Seen {
    pub(super) fn put(&mut self, key: SecretHash, member: &Member, now_ns: u64) {
        self.0 = Some((key, member.clone(), now_ns));
    }

    /// The server with this key, if that was looked up a short time ago.
    pub(super) fn with_key(&self, key: SecretHash, now_ns: u64) -> Option<&Member> {
        let (seen, member, at_ns) = self.0.as_ref()?;
        (*seen == key && now_ns.saturating_sub(*at_ns) < SEEN_NS).then_some(member)
    }
}

#[cfg(test)]
mod tests {
    use iostall_measure::ManualClock;

    use super::*;

    #[test]
    fn who_asks_too_often_waits_and_others_do_not() {
        let clock = ManualClock::new();
        let limits = Limits::new(Limit { per_s: 10, burst: 3 }, clock.clone());
        assert_eq!([(); 5].map(|()| limits.take(&"a")), [true, true, true, false, false]);
        assert!(!limits.has_some(&"a") && limits.has_some(&"b") && limits.take(&"b"));
        clock.advance_by(NS_PER_S / 10);
        assert!(limits.has_some(&"a"));
        assert_eq!([(); 2].map(|()| limits.take(&"a")), [true, false]);
        clock.advance_by(NS_PER_S * 3_600);
        assert_eq!([(); 4].map(|()| limits.take(&"a")), [true, true, true, false]);
    }
}
