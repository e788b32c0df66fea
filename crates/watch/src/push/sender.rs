//! Sends what the feed has, waits for a receiver that fails, and never gives the sampling loop anything to wait for.

use std::time::Duration;

use iostall_remote::{Answer, Poster};
use iostall_store::{CollectorState, History, StoreError};
use jiff::Timestamp;

use super::feed::{Feed, Prepared};
use super::pause::{Pauses, asked, random};
use super::remote_write;
use super::series::Series;
use super::target::{Protocol, PushTarget};

/// A request before compression; a receiver that finds it too long gets less.
const REQUEST_BYTES_MAX: usize = 1 << 20;
const REQUEST_BYTES_MIN: usize = 16 << 10;
/// What is told of an answer.
const REASON_CHARS: usize = 200;

/// Events of a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushEvent {
    /// Nothing arrives; said once for each reason.
    Failing { receiver: String, reason: String },
    /// It takes samples again.
    TakesAgain { receiver: String },
    /// It does not want these samples: they are dropped. Said once for each reason until something is taken.
    Refused {
        receiver: String,
        reason: String,
        /// Number of the samples.
        samples: usize,
    },
    /// Samples of a source waited for longer than they are kept for the receiver.
    TooOld { receiver: String, waited: Duration },
}

/// What a receiver makes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Taken,
    /// It will never take this.
    Refused(String),
    TooLong,
    /// It may take it later.
    Later {
        reason: String,
        asked: Option<Duration>,
    },
}

/// The way to a receiver.
pub(super) trait Receiver {
    fn post(&mut self, body: &[u8], now: Timestamp) -> Reply;
}

/// Through HTTP.
pub(super) struct HttpReceiver {
    target: PushTarget,
    poster: Poster,
}

impl HttpReceiver {
    pub(super) fn new(target: PushTarget) -> Result<Self, String> {
        Ok(Self { poster: target.poster()?, target })
    }
}

impl Receiver for HttpReceiver {
    fn post(&mut self, body: &[u8], now: Timestamp) -> Reply {
        let authorization = match self.target.authorization() {
            Ok(authorization) => authorization,
            Err(reason) => return Reply::Later { reason, asked: None },
        };
        let mut headers = match self.target.protocol {
            Protocol::RemoteWrite => remote_write::HEADERS.to_vec(),
        };
        if let Some(value) = &authorization {
            headers.push(("Authorization", value));
        }
        match self.poster.post(&headers, body) {
            Ok(answer) => reply(&answer, now),
            Err(reason) => Reply::Later { reason, asked: None },
        }
    }
}

/// What a status means: 5xx and 429 may pass, and so does a login or an address that is put right. Other 4xx are about the samples.
fn reply(answer: &Answer, now: Timestamp) -> Reply {
    let text = String::from_utf8_lossy(&answer.body);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line: String = line.chars().filter(|c| !c.is_control()).take(REASON_CHARS).collect();
    let reason = format!("it answered {}: {line}", answer.status);
    let reason = reason.trim_end_matches([':', ' ']).to_owned();
    match answer.status {
        200..300 => Reply::Taken,
        413 => Reply::TooLong,
        401 | 403 | 404 | 405 | 407 | 408 | 425 | 429 => {
            let asked = answer.retry_after.as_deref().and_then(|header| asked(header, now));
            Reply::Later { reason, asked }
        }
        400..500 => Reply::Refused(reason),
        _ => {
            let asked = answer.retry_after.as_deref().and_then(|header| asked(header, now));
            Reply::Later { reason, asked }
        }
    }
}

/// How a round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// All is sent.
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

/// Sends to one receiver.
pub(super) struct Sender<H, R> {
    feed: Feed<H>,
    /// Sources that are still to be found, and since when they are sent.
    wanted: Vec<(String, Timestamp)>,
    receiver: R,
    target: PushTarget,
    pauses: Pauses,
    bytes_max: usize,
    /// Why nothing arrives, or what it refused last.
    trouble: Option<String>,
    refused: Option<String>,
    events: Vec<PushEvent>,
}

impl<H: History + CollectorState, R: Receiver> Sender<H, R> {
    pub(super) fn new(feed: Feed<H>, receiver: R, target: PushTarget) -> Self {
        Self {
            feed,
            wanted: Vec::new(),
            receiver,
            target,
            pauses: Pauses::default(),
            bytes_max: REQUEST_BYTES_MAX,
            trouble: None,
            refused: None,
            events: Vec::new(),
        }
    }

    /// Events since the last call.
    pub(super) fn events(&mut self) -> Vec<PushEvent> {
        std::mem::take(&mut self.events)
    }

    /// Whether the last try failed.
    pub(super) fn is_failing(&self) -> bool {
        self.trouble.is_some()
    }

    /// Also sends the source named `name`, where that was never done from `since` on.
    pub(super) fn add(&mut self, name: String, since: Timestamp) {
        self.wanted.push((name, since));
    }

    fn find_wanted(&mut self) -> Result<(), Failed> {
        while let Some((name, since)) = self.wanted.last() {
            self.feed.add(name, *since)?;
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
        match end.and(saved) {
            Ok(()) => Round::Done,
            Err(Failed { reason, asked }) => {
                if self.trouble.as_ref() != Some(&reason) {
                    let receiver = self.target.name();
                    self.events.push(PushEvent::Failing { receiver, reason: reason.clone() });
                    self.trouble = Some(reason);
                }
                Round::Failed(self.pauses.after_failure(asked, random()))
            }
        }
    }

    /// Sends the next batch of a source. Whether there was one.
    fn send_next(&mut self, source: usize, now: Timestamp) -> Result<bool, Failed> {
        if let Some(waited) = self.feed.skip_old(source, now)? {
            self.events.push(PushEvent::TooOld { receiver: self.target.name(), waited });
        }
        let Some(prepared) = self.feed.next(source, now)? else { return Ok(false) };
        self.send(&prepared, now)?;
        self.feed.done(source, prepared);
        Ok(true)
    }

    fn send(&mut self, prepared: &Prepared, now: Timestamp) -> Result<(), Failed> {
        let refusal = match self.post(&prepared.series, now)? {
            None => return Ok(()),
            // One old value is enough for a receiver to refuse all that came with it.
            Some(_) if prepared.count > 1 => self.post_one_by_one(&prepared.series, now)?,
            refused => refused.map(|reason| (reason, 1)),
        };
        if let Some((reason, samples)) = refusal
            && self.refused.as_ref() != Some(&reason)
        {
            let receiver = self.target.name();
            self.events.push(PushEvent::Refused { receiver, reason: reason.clone(), samples });
            self.refused = Some(reason);
        }
        Ok(())
    }

    /// Posts each time of `series` by itself. How many were refused, and why the last one was.
    fn post_one_by_one(
        &mut self,
        series: &[Series],
        now: Timestamp,
    ) -> Result<Option<(String, usize)>, Failed> {
        let mut times: Vec<Timestamp> =
            series.iter().flat_map(|one| one.points.iter().map(|(at, _)| *at)).collect();
        times.sort_unstable();
        times.dedup();
        let (mut refused, mut last) = (0, None);
        for time in times {
            let at_it = series.iter().filter_map(|one| {
                let points: Vec<_> = one.points.iter().filter(|(at, _)| *at == time).copied().collect();
                (!points.is_empty()).then(|| Series { points, ..one.clone() })
            });
            if let Some(reason) = self.post(&at_it.collect::<Vec<_>>(), now)? {
                refused += 1;
                last = Some(reason);
            }
        }
        Ok(last.map(|reason| (reason, refused)))
    }

    /// Posts `series` in as many requests as they need. Why one of them was refused.
    fn post(&mut self, series: &[Series], now: Timestamp) -> Result<Option<String>, Failed> {
        let mut refusal = None;
        let requests = match self.target.protocol {
            Protocol::RemoteWrite => remote_write::requests(series, &self.target.labels, self.bytes_max),
        };
        for request in requests {
            match self.receiver.post(&request, now) {
                Reply::Taken => self.taken(),
                Reply::Refused(reason) => {
                    refusal = Some(reason);
                    // It answers, and what comes next may be what it takes.
                    self.pauses.after_success();
                }
                Reply::TooLong if self.bytes_max > REQUEST_BYTES_MIN => {
                    self.bytes_max /= 2;
                    return self.post(series, now);
                }
                Reply::TooLong => refusal = Some("it finds a request too long".into()),
                Reply::Later { reason, asked } => return Err(Failed { reason, asked }),
            }
        }
        Ok(refusal)
    }

    fn taken(&mut self) {
        self.pauses.after_success();
        self.refused = None;
        if self.trouble.take().is_some() {
            self.events.push(PushEvent::TakesAgain { receiver: self.target.name() });
        }
    }
}
