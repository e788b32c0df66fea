//! Sends history as it comes, for as long as it may.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostall_engine::random_bytes;
use iostall_measure::Clock;
use iostall_store::{CollectorState, History, RunsToSend, SheetsToSend, SourceId, StoreError};
use jiff::Timestamp;

use crate::confirmed::put_confirmed;
use crate::destination::Destination;
use crate::error::WatchError;
use crate::fleet::{Heard, SendEvent, send_with};

/// After a failure it is tried again within a second, and then later each time, up to this, nanoseconds.
const PAUSE_NS_MAX: u64 = 300_000_000_000;
const PAUSE_NS_MIN: u64 = 1_000_000_000;
/// A destination hears of this store so often at least, also if there is nothing new, nanoseconds.
const SILENT_NS_MAX: u64 = 60_000_000_000;
/// What lies on what, notes and settings are said again so often, nanoseconds: the destination may have been restored from a backup.
const HEARD_NS_MAX: u64 = 3_600_000_000_000;
const LOOK_NS: u64 = 100_000_000;

#[derive(Debug)]
pub enum FollowEvent<'a> {
    Send(SendEvent<'a>),
    /// It could not be sent, and is tried again. Said once.
    Cut(&'a WatchError),
    Continues,
}

/// Sends what `to` lacks of `from`, looks again after `interval`, and so on until `stop` is set.
///
/// A destination that does not answer is tried again after a pause that grows, of a random length: all servers lose it at the same time,
/// and shall not come back at the same time.
pub fn follow_history<C: Clock>(
    from: &mut (impl History + CollectorState + RunsToSend + SheetsToSend),
    to: &mut impl Destination,
    interval: Duration,
    clock: &C,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(FollowEvent<'_>),
) -> Result<(), WatchError> {
    let mut follower = Follower::new(interval, clock);
    while !stop.load(Ordering::Relaxed) {
        let pause_ns = follower.look(from, to, clock, stop, observer)?;
        wait(clock, pause_ns, stop);
    }
    Ok(())
}

/// The same look by look, for who follows many stores: what is remembered of one between two looks.
#[derive(Debug)]
pub struct Follower {
    interval_ns: u64,
    failures: u32,
    said: String,
    sent: Option<(u64, Newest)>,
    heard: Heard,
    heard_ns: u64,
}

impl Follower {
    pub fn new(interval: Duration, clock: &impl Clock) -> Self {
        let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        let (heard, heard_ns) = (Heard::default(), clock.now_ns());
        Self { interval_ns, failures: 0, said: String::new(), sent: None, heard, heard_ns }
    }

    pub fn look<C: Clock>(
        &mut self,
        from: &mut (impl History + CollectorState + RunsToSend + SheetsToSend),
        to: &mut impl Destination,
        clock: &C,
        stop: &AtomicBool,
        observer: &mut dyn FnMut(FollowEvent<'_>),
    ) -> Result<u64, WatchError> {
        let (now_ns, newest) = (clock.now_ns(), newest(from)?);
        let is_done = self
            .sent
            .as_ref()
            .is_some_and(|(at_ns, sent)| *sent == newest && now_ns.saturating_sub(*at_ns) < SILENT_NS_MAX);
        if is_done {
            return Ok(self.interval_ns);
        }
        if now_ns.saturating_sub(self.heard_ns) > HEARD_NS_MAX {
            (self.heard, self.heard_ns) = (Heard::default(), now_ns);
        }
        let mut on_send = |event: SendEvent<'_>| observer(FollowEvent::Send(event));
        let sent = send_with(from, to, &mut self.heard, stop, &mut on_send);
        match sent.and_then(|confirmed| put_confirmed(from, to.remembered_as(), &confirmed)) {
            Ok(()) => {
                if self.failures > 0 {
                    observer(FollowEvent::Continues);
                }
                (self.failures, self.sent) = (0, Some((now_ns, newest)));
                self.said.clear();
                Ok(self.interval_ns)
            }
            Err(error) if error.may_pass() => {
                self.failures += 1;
                self.heard = Heard::default();
                let text = error.to_string();
                if text != self.said {
                    observer(FollowEvent::Cut(&error));
                    self.said = text;
                }
                Ok(pause_ns(self.failures, random_part()))
            }
            Err(error) => Err(error),
        }
    }
}

/// When the newest sample of each source was taken, and what changes when runs do, and when notes and settings do.
type Newest = (Vec<(SourceId, Option<Timestamp>)>, String, String);

fn newest(from: &(impl History + RunsToSend + SheetsToSend)) -> Result<Newest, StoreError> {
    let samples = from.sources()?.into_iter().map(|watched| (watched.source.id, watched.last)).collect();
    Ok((samples, from.runs_state()?, from.sheets_state()?))
}

pub(crate) fn wait(clock: &impl Clock, pause_ns: u64, stop: &AtomicBool) {
    let until_ns = clock.now_ns().saturating_add(pause_ns);
    while clock.now_ns() < until_ns && !stop.load(Ordering::Relaxed) {
        clock.sleep_until(until_ns.min(clock.now_ns() + LOOK_NS));
    }
}

/// The pause after so many failures; `part` is from 0 to 255.
pub(crate) fn pause_ns(failures: u32, part: u8) -> u64 {
    let longest_ns = PAUSE_NS_MIN.saturating_mul(1 << failures.min(16)).min(PAUSE_NS_MAX);
    longest_ns / 256 * (u64::from(part) + 1)
}

/// Without random numbers it is the middle.
pub(crate) fn random_part() -> u8 {
    random_bytes::<1>().map_or(127, |[part]| part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_minutes_and_differ() {
        assert_eq!(pause_ns(1, 255), 2 * PAUSE_NS_MIN);
        assert!(pause_ns(1, 0) < PAUSE_NS_MIN / 100);
        assert!(pause_ns(40, 255) > PAUSE_NS_MAX - 1_000 && pause_ns(40, 255) <= PAUSE_NS_MAX);
        assert!((0..30).all(|failures| pause_ns(failures, 9) <= pause_ns(failures + 1, 9)));
    }
}
