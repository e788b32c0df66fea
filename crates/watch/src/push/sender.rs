//! Sends what the feed has, waits for a receiver that fails, and never gives the sampling loop anything to wait for.

use std::sync::Arc;
use std::time::Duration;

use iostall_store::{CollectorState, History, StoreError};
use jiff::{SignedDuration, Timestamp};

use super::counts::{PushCounts, PushNow};
use super::feed::{Feed, Prepared};
use super::otlp::{self, Resource};
use super::pause::{Pauses, random};
use super::receiver::{Receiver, Reply};
use super::remote_write;
use super::runs::{self, Runs};
use super::series::Series;
use super::source::{self, PushSource};
use super::target::{Protocol, PushTarget};

/// A request before compression; a receiver that finds it too long gets less.
const REQUEST_BYTES_MAX: usize = 1 << 20;
const REQUEST_BYTES_MIN: usize = 16 << 10;
/// While samples are lost, it is said again how many, this often.
const SAY_AGAIN: SignedDuration = SignedDuration::from_mins(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushEvent {
    /// Nothing arrives; said once for each reason.
    Failing {
        receiver: String,
        reason: String,
    },
    TakesAgain {
        receiver: String,
    },
    /// It does not want samples, which are dropped: so many since the start.
    Refused {
        receiver: String,
        reason: String,
        samples: u64,
    },
    /// Samples waited for longer than they are kept for the receiver: so many since the start.
    TooOld {
        receiver: String,
        waited: Duration,
        samples: u64,
    },
    /// What did not arrive, at the end.
    Ended(PushNow),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    Done,
    /// The receiver, or the store, is tried again after this pause.
    Failed(Duration),
}

/// Why nothing was sent, and the pause that the receiver asks for.
struct Failed {
    reason: String,
    asked: Option<Duration>,
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self { reason: error.to_string(), asked: None }
    }
}

/// Whether a reason is the same as before but for what may be in it, such as a time.
fn is_like(known: Option<&str>, reason: &str) -> bool {
    let kind = |text: &str| text.split(": ").next().unwrap_or_default().to_owned();
    known.is_some_and(|known| kind(known) == kind(reason))
}

/// Whether what was said then is to be said again.
fn is_due(said: Option<Timestamp>, now: Timestamp) -> bool {
    said.is_none_or(|said| now.duration_since(said).abs() >= SAY_AGAIN)
}

pub(super) struct Sender<H, R> {
    feed: Feed<H>,
    /// Sources that are still to be found, and since when they are sent.
    wanted: Vec<(PushSource, Timestamp)>,
    receiver: R,
    target: PushTarget,
    runs: Option<Runs>,
    pauses: Pauses,
    bytes_max: usize,
    /// Why nothing arrives.
    trouble: Option<String>,
    /// What it refused last, and when that was said.
    refused: Option<(String, Timestamp)>,
    /// When it was said last that samples had waited for too long.
    said_too_old: Option<Timestamp>,
    counts: Arc<PushCounts>,
    events: Vec<PushEvent>,
}

impl<H: History + CollectorState, R: Receiver> Sender<H, R> {
    pub(super) fn new(feed: Feed<H>, receiver: R, target: PushTarget) -> Self {
        Self {
            feed,
            wanted: Vec::new(),
            receiver,
            runs: target.sends_runs.then(|| Runs::to(&target.identity())),
            counts: Arc::new(PushCounts::of(target.name())),
            target,
            pauses: Pauses::default(),
            bytes_max: REQUEST_BYTES_MAX,
            trouble: None,
            refused: None,
            said_too_old: None,
            events: Vec::new(),
        }
    }

    pub(super) fn events(&mut self) -> Vec<PushEvent> {
        std::mem::take(&mut self.events)
    }

    pub(super) fn counts(&self) -> Arc<PushCounts> {
        Arc::clone(&self.counts)
    }

    /// Says what did not arrive, if there is any of it.
    pub(super) fn end(&mut self, now: Timestamp) {
        self.look_at_backlog(now);
        let all = self.counts.now();
        if all.refused + all.too_old + all.backlog_s > 0 {
            self.events.push(PushEvent::Ended(all));
        }
    }

    /// What waits is counted from the store: that of a receiver that takes everything waits no longer than until the next look.
    fn look_at_backlog(&self, now: Timestamp) {
        let oldest = if self.is_failing() { self.feed.oldest_waiting().ok().flatten() } else { None };
        let waited = oldest.map_or(0, |oldest| now.duration_since(oldest).as_secs());
        self.counts.put_backlog(u64::try_from(waited).unwrap_or(0));
    }

    pub(super) fn is_failing(&self) -> bool {
        self.trouble.is_some()
    }

    /// Also sends this source, where that was never done from `since` on.
    pub(super) fn add(&mut self, source: PushSource, since: Timestamp) {
        self.wanted.push((source, since));
    }

    fn find_wanted(&mut self) -> Result<(), Failed> {
        while let Some((source, since)) = self.wanted.last() {
            self.feed.add(source, *since)?;
            self.wanted.pop();
        }
        Ok(())
    }

    /// Sends what waits, a batch of each source in turn, until nothing is left or `is_stopped`.
    pub(super) fn round(&mut self, now: Timestamp, is_stopped: &dyn Fn() -> bool) -> Round {
        let mut end = self.find_wanted();
        let mut is_left = true;
        while end.is_ok() && is_left && !is_stopped() {
            is_left = false;
            for source in 0..self.feed.sources() {
                match self.send_next(source, now) {
                    Ok(sent) => is_left |= sent,
                    Err(failed) => {
                        end = Err(failed);
                        break;
                    }
                }
                if is_stopped() {
                    break;
                }
            }
        }
        let saved = self.feed.save().map_err(Failed::from);
        let round = match end.and(saved).and_then(|()| self.send_runs(now, is_stopped)) {
            Ok(()) => Round::Done,
            Err(Failed { reason, asked }) => {
                if !is_like(self.trouble.as_deref(), &reason) {
                    let receiver = self.target.name();
                    self.events.push(PushEvent::Failing { receiver, reason: reason.clone() });
                    self.trouble = Some(reason);
                }
                Round::Failed(self.pauses.after_failure(asked, random()))
            }
        };
        self.look_at_backlog(now);
        round
    }

    fn send_next(&mut self, source: usize, now: Timestamp) -> Result<bool, Failed> {
        let next = self.feed.next(source, now)?;
        if let Some((waited, samples)) = self.feed.passed_over() {
            let samples = self.counts.add_too_old(samples);
            if is_due(self.said_too_old, now) {
                self.events.push(PushEvent::TooOld { receiver: self.target.name(), waited, samples });
                self.said_too_old = Some(now);
            }
        }
        let Some(prepared) = next else { return Ok(false) };
        self.send(&prepared, now)?;
        self.feed.done(source, prepared);
        Ok(true)
    }

    fn send_runs(&mut self, now: Timestamp, is_stopped: &dyn Fn() -> bool) -> Result<(), Failed> {
        let Some(runs) = &mut self.runs else { return Ok(()) };
        for stored in runs.new_in(self.feed.store(), now)? {
            if is_stopped() {
                return Ok(());
            }
            let latencies = runs::latencies(&stored.run);
            let is_new = self.runs.as_ref().is_some_and(|runs| runs.is_new(&stored.run));
            if is_new && !latencies.is_empty() {
                let about = source::of_runs();
                let resource = Resource { source: &about, labels: &self.target.labels };
                let times = (stored.run.started_utc, stored.run.ended_utc);
                let request = otlp::distributions(&latencies, times, &resource);
                self.post_run(&request, now)?;
            }
            if let Some(runs) = &mut self.runs {
                runs.done(self.feed.store(), stored.number)?;
            }
        }
        Ok(())
    }

    fn post_run(&mut self, request: &[u8], now: Timestamp) -> Result<(), Failed> {
        match self.reply(request, now)? {
            Reply::Taken => {}
            Reply::PartlyTaken(reason) | Reply::Refused(reason) => self.refused(reason, 1, now),
            Reply::TooLong => self.refused("it finds a request too long".into(), 1, now),
            Reply::Later { reason, asked } => {
                if let Some(runs) = &mut self.runs {
                    runs.again();
                }
                return Err(Failed { reason, asked });
            }
        }
        Ok(())
    }

    fn send(&mut self, prepared: &Prepared, now: Timestamp) -> Result<(), Failed> {
        let refusal = match self.post(prepared, &prepared.series, now)? {
            None => return Ok(()),
            // One old value is enough for a receiver to refuse all that came with it.
            Some(_) if prepared.count > 1 => self.post_one_by_one(prepared, now)?,
            refused => refused.map(|reason| (reason, 1)),
        };
        if let Some((reason, samples)) = refusal {
            self.refused(reason, samples, now);
        }
        Ok(())
    }

    fn refused(&mut self, reason: String, samples: usize, now: Timestamp) {
        let samples = self.counts.add_refused(samples);
        let (known, said) = self.refused.as_ref().map(|(known, said)| (known.as_str(), *said)).unzip();
        if !is_like(known, &reason) || is_due(said, now) {
            let receiver = self.target.name();
            self.events.push(PushEvent::Refused { receiver, reason: reason.clone(), samples });
            self.refused = Some((reason, now));
        }
    }

    /// What the receiver answers. One that has never taken anything may be none at all: a wrong path of a good receiver, or a proxy, refuses
    /// everything, and what it refuses waits until it is put right.
    fn reply(&mut self, request: &[u8], now: Timestamp) -> Result<Reply, Failed> {
        let reply = self.receiver.post(request, now);
        match &reply {
            Reply::Taken | Reply::PartlyTaken(_) => {
                self.feed.has_taken()?;
                self.taken();
            }
            Reply::Refused(reason) if !self.feed.has_ever_taken() => {
                let reason = format!("{reason} (it has taken nothing so far: is the address right?)");
                return Err(Failed { reason, asked: None });
            }
            // It answers, and what comes next may be what it takes.
            Reply::Refused(_) => self.pauses.after_success(),
            Reply::TooLong | Reply::Later { .. } => {}
        }
        Ok(reply)
    }

    /// Posts each time of `series` by itself. How many were refused, and why the last one was.
    fn post_one_by_one(
        &mut self,
        prepared: &Prepared,
        now: Timestamp,
    ) -> Result<Option<(String, usize)>, Failed> {
        let series = &prepared.series;
        let mut times: Vec<Timestamp> =
            series.iter().flat_map(|one| one.points.iter().map(|point| point.at)).collect();
        times.sort_unstable();
        times.dedup();
        let (mut refused, mut last) = (0, None);
        for time in times {
            let at_it = series.iter().filter_map(|one| {
                let points: Vec<_> = one.points.iter().filter(|point| point.at == time).copied().collect();
                (!points.is_empty()).then(|| Series { points, ..one.clone() })
            });
            if let Some(reason) = self.post(prepared, &at_it.collect::<Vec<_>>(), now)? {
                refused += 1;
                last = Some(reason);
            }
        }
        Ok(last.map(|reason| (reason, refused)))
    }

    /// Posts `series` in as many requests as they need. Why one of them was refused.
    fn post(
        &mut self,
        prepared: &Prepared,
        series: &[Series],
        now: Timestamp,
    ) -> Result<Option<String>, Failed> {
        let mut refusal = None;
        let labels = &self.target.labels;
        let requests = match self.target.protocol {
            Protocol::RemoteWrite => remote_write::requests(series, labels, self.bytes_max),
            Protocol::Otlp => {
                let resource = Resource { source: prepared.source(), labels };
                otlp::requests(series, &resource, self.bytes_max)
            }
        };
        for request in requests {
            match self.reply(&request, now)? {
                Reply::Taken => {}
                Reply::PartlyTaken(reason) => self.refused(reason, 1, now),
                Reply::Refused(reason) => refusal = Some(reason),
                Reply::TooLong if self.bytes_max > REQUEST_BYTES_MIN => {
                    self.bytes_max /= 2;
                    return self.post(prepared, series, now);
                }
                Reply::TooLong => refusal = Some("it finds a request too long".into()),
                Reply::Later { reason, asked } => return Err(Failed { reason, asked }),
            }
        }
        Ok(refusal)
    }

    fn taken(&mut self) {
        self.pauses.after_success();
        if self.trouble.take().is_some() {
            self.events.push(PushEvent::TakesAgain { receiver: self.target.name() });
        }
    }
}
