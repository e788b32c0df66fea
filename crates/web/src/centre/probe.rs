//! Asks the repository for who watches the centre, who has an answer also if the repository never gives one.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use iostall_measure::clock::utc_now;
use iostall_measure::{Clock as _, MonotonicClock};
use iostall_store::{KnownServer, MemberState};
use jiff::SignedDuration;

use super::checks::lock;
use super::requests::{Failed, Shared};

/// Whoever watches waits so long for the repository. Prometheus gives up after 10 s.
const LIMIT: Duration = Duration::from_secs(3);

/// It is looked so often whether the answer is there, nanoseconds.
const LOOK_NS: u64 = 10_000_000;
/// A server whose newest sample is older than this has fallen silent.
const SILENT: SignedDuration = SignedDuration::from_hours(1);

/// How many servers may send, and of how many of them nothing came of late; or why the repository does not say so.
type Found = Result<(u64, u64), String>;

#[derive(Default)]
pub(super) struct Probe {
    asked: Mutex<Asked>,
    clock: MonotonicClock,
}

#[derive(Default)]
struct Asked {
    /// When the question was put that has no answer yet.
    since_ns: Option<u64>,
    last: Option<Found>,
}

impl Probe {
    /// What the repository answers within [`LIMIT`]. One question is on its way at a time, however many want to know.
    pub(super) fn servers(self: &Arc<Self>, shared: &Arc<Shared>) -> Found {
        self.ask({
            let shared = Arc::clone(shared);
            move || found(&shared)
        })
    }

    fn ask(self: &Arc<Self>, question: impl FnOnce() -> Found + Send + 'static) -> Found {
        let mut asked = lock(&self.asked);
        let now_ns = self.clock.now_ns();
        let is_first = asked.since_ns.is_none();
        let since_ns = *asked.since_ns.get_or_insert(now_ns);
        if is_first {
            let probe = Arc::clone(self);
            let thread = std::thread::Builder::new().name("health".into());
            if let Err(error) = thread.spawn(move || probe.end(question())) {
                asked.since_ns = None;
                return Err(format!("cannot ask the repository: {error}"));
            }
        }
        drop(asked);
        let limit_ns = since_ns.saturating_add(u64::try_from(LIMIT.as_nanos()).unwrap_or(u64::MAX));
        loop {
            let now_ns = self.clock.now_ns();
            let asked = lock(&self.asked);
            match &asked.last {
                Some(found) if asked.since_ns != Some(since_ns) => return found.clone(),
                _ if now_ns >= limit_ns => {
                    let waited = Duration::from_nanos(now_ns.saturating_sub(since_ns));
                    return Err(format!("the repository has not answered for {} s", waited.as_secs()));
                }
                _ => {}
            }
            drop(asked);
            self.clock.sleep_until(now_ns + LOOK_NS);
        }
    }

    fn end(&self, found: Found) {
        let mut asked = lock(&self.asked);
        (asked.since_ns, asked.last) = (None, Some(found));
    }
}

/// It waits for the same locks and the same connection as servers do.
fn found(shared: &Shared) -> Found {
    drop(lock(&shared.appending));
    shared.servers().map(|all| of_servers(&all)).map_err(|error| match error {
        Failed::Store(error) => error.to_string(),
        Failed::Refused(refusal) => refusal.message,
        Failed::Connection(error) => error.to_string(),
    })
}

/// How many servers may send, and of how many of them nothing came of late.
fn of_servers(all: &[KnownServer]) -> (u64, u64) {
    let now = utc_now();
    let is_joined = |server: &&KnownServer| {
        server.membership.as_ref().is_some_and(|membership| membership.state == MemberState::Joined)
    };
    let is_silent =
        |server: &&KnownServer| server.newest_sample.is_none_or(|newest| now.duration_since(newest) > SILENT);
    let joined = all.iter().filter(is_joined);
    (joined.clone().count() as u64, joined.filter(is_silent).count() as u64)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// The database hung, and so did the page that should have said so.
    #[test]
    fn a_question_without_an_answer_is_put_once_and_who_asks_again_is_told_at_once() {
        let probe = Arc::new(Probe::default());
        let (release, held) = mpsc::channel::<()>();
        let begun_ns = probe.clock.now_ns();
        assert!(probe.ask(move || held.recv().map(|()| (1, 0)).map_err(|error| error.to_string())).is_err());
        assert!(probe.ask(|| unreachable!("one is on its way")).is_err());
        let waited = Duration::from_nanos(probe.clock.now_ns() - begun_ns);
        assert!(waited >= LIMIT && waited < LIMIT + Duration::from_secs(2), "{waited:?}");
        release.send(()).unwrap();
        while lock(&probe.asked).since_ns.is_some() {
            std::thread::yield_now();
        }
        assert_eq!(probe.ask(|| Ok((2, 1))), Ok((2, 1)));
    }
}
