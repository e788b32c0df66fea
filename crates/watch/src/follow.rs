//! Sends history as it comes, for as long as it may.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostall_engine::random_bytes;
use iostall_measure::Clock;
use iostall_store::{CollectorState, History, RunsToSend, SourceId, StoreError};
use jiff::Timestamp;

use crate::confirmed::put_confirmed;
use crate::destination::Destination;
use crate::error::WatchError;
use crate::fleet::{SendEvent, send_with};
use crate::placed::Placed;

/// After a failure it is tried again within a second, and then later each time, up to this, nanoseconds.
const PAUSE_NS_MAX: u64 = 300_000_000_000;
const PAUSE_NS_MIN: u64 = 1_000_000_000;
/// A destination hears of this store so often at least, also if there is nothing new, nanoseconds.
const SILENT_NS_MAX: u64 = 60_000_000_000;
/// What lies on what is said again so often, nanoseconds: the destination may have been restored from a backup.
const PLACED_NS_MAX: u64 = 3_600_000_000_000;
/// It is looked so often whether it is to stop, nanoseconds.
const LOOK_NS: u64 = 100_000_000;

/// What happened while history was sent as it came.
#[derive(Debug)]
pub enum FollowEvent<'a> {
    /// As when it is sent once.
    Send(SendEvent<'a>),
    /// It could not be sent, and is tried again. Said once.
    Cut(&'a WatchError),
    /// It can be sent again.
    Continues,
}

/// Sends what `to` lacks of `from`, looks again after `interval`, and so on until `stop` is set.
///
/// A destination that does not answer is tried again after a pause that grows, of a random length: all servers lose it at the same time,
/// and shall not come back at the same time.
///
/// # Errors
/// If it cannot be sent and another try would not help.
pub fn follow_history<C: Clock>(
    from: &mut (impl History + CollectorState + RunsToSend),
    to: &mut impl Destination,
    interval: Duration,
    clock: &C,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(FollowEvent<'_>),
) -> Result<(), WatchError> {
    let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    let (mut failures, mut said) = (0, String::new());
    let mut sent_before: Option<(u64, Newest)> = None;
    let (mut placed, mut placed_ns) = (Placed::default(), clock.now_ns());
    while !stop.load(Ordering::Relaxed) {
        let (now_ns, newest) = (clock.now_ns(), newest(from)?);
        let is_done = sent_before
            .as_ref()
            .is_some_and(|(at_ns, sent)| *sent == newest && now_ns.saturating_sub(*at_ns) < SILENT_NS_MAX);
        if is_done {
            wait(clock, interval_ns, stop);
            continue;
        }
        if now_ns.saturating_sub(placed_ns) > PLACED_NS_MAX {
            (placed, placed_ns) = (Placed::default(), now_ns);
        }
        let mut on_send = |event: SendEvent<'_>| observer(FollowEvent::Send(event));
        let sent = send_with(from, to, &mut placed, stop, &mut on_send);
        let pause_ns = match sent.and_then(|confirmed| put_confirmed(from, to.remembered_as(), &confirmed)) {
            Ok(()) => {
                if failures > 0 {
                    observer(FollowEvent::Continues);
                }
                (failures, said) = (0, String::new());
                sent_before = Some((now_ns, newest));
                interval_ns
            }
            Err(error) if error.may_pass() => {
                failures += 1;
                placed = Placed::default();
                let text = error.to_string();
                if text != said {
                    observer(FollowEvent::Cut(&error));
                    said = text;
                }
                pause_ns(failures, random_part())
            }
            Err(error) => return Err(error),
        };
        wait(clock, pause_ns, stop);
    }
    Ok(())
}

/// When the newest sample of each source was taken, and what changes when runs do.
type Newest = (Vec<(SourceId, Option<Timestamp>)>, String);

fn newest(from: &(impl History + RunsToSend)) -> Result<Newest, StoreError> {
    let samples = from.sources()?.into_iter().map(|watched| (watched.source.id, watched.last)).collect();
    Ok((samples, from.runs_state()?))
}

fn wait(clock: &impl Clock, pause_ns: u64, stop: &AtomicBool) {
    let until_ns = clock.now_ns().saturating_add(pause_ns);
    while clock.now_ns() < until_ns && !stop.load(Ordering::Relaxed) {
        clock.sleep_until(until_ns.min(clock.now_ns() + LOOK_NS));
    }
}

/// The pause after so many failures; `part` is from 0 to 255.
fn pause_ns(failures: u32, part: u8) -> u64 {
    let longest_ns = PAUSE_NS_MIN.saturating_mul(1 << failures.min(16)).min(PAUSE_NS_MAX);
    longest_ns / 256 * (u64::from(part) + 1)
}

/// Without random numbers it is the middle.
fn random_part() -> u8 {
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
