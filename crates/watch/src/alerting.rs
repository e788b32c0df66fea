//! Rules over what is sampled, and who is notified.

use std::collections::BTreeMap;

use iostall_model::Step;
use iostall_model::alert::{GoodDrill, Notice, Now, Rule, RuleEvaluator, RuleSource, SavedAlert};
use iostall_notify::{
    AlertFile, Channel, Delivery, DeliveryError, Dispatcher, Message, Pulse, Transport, deliver,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::WatchError;

const LOOK_EVERY_NS: u64 = 1_000_000_000;
/// How many messages that have not arrived are remembered over a restart.
const OUTBOX_MAX: usize = 1_000;

#[derive(Debug)]
pub enum AlertEvent<'a> {
    Notice(&'a Message),
    /// Whether one that was sent before arrived.
    Delivery(&'a Delivery),
    /// A rule has met nothing that it can measure.
    Unmet(String),
}

pub(crate) type Observer<'o> = &'o mut dyn FnMut(AlertEvent<'_>);

/// What the names of memories begin with.
pub(crate) const MEMORY: &str = "alerts of ";

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Memory {
    alerts: Vec<SavedAlert>,
    /// Messages of which nobody knows yet whether they arrived, each with one channel.
    outbox: Vec<Message>,
}

/// A sign of life, when it was sent last, and whether samples have come since.
struct Beating {
    pulse: Pulse,
    sent_ns: Option<u64>,
    is_due: bool,
}

pub struct Alerting {
    evaluator: RuleEvaluator,
    dispatcher: Dispatcher,
    pulses: Vec<Beating>,
    sources: Vec<RuleSource>,
    outbox: BTreeMap<u64, Message>,
    is_changed: bool,
    looked_ns: u64,
}

impl Alerting {
    pub fn start(file: AlertFile, now: Now) -> Self {
        let AlertFile { book, channels, pulses } = file;
        Self {
            evaluator: RuleEvaluator::new(book),
            dispatcher: Dispatcher::start(channels),
            pulses: pulses.into_iter().map(Beating::new).collect(),
            sources: Vec::new(),
            outbox: BTreeMap::new(),
            is_changed: false,
            looked_ns: now.clock_ns,
        }
    }

    /// Adds a source that is sampled from `now` on. Sources are numbered in order of addition.
    pub(crate) fn add(&mut self, source: RuleSource, now: Now) {
        self.sources.push(source.clone());
        self.evaluator.add(source, now);
    }

    pub(crate) fn update(&mut self, number: usize, source: RuleSource) {
        if let Some(known) = self.sources.get_mut(number) {
            known.clone_from(&source);
        }
        self.evaluator.update_source(number, source);
    }

    pub(crate) fn retire(&mut self, source: usize, now: Now, observer: Observer<'_>) {
        let notices = self.evaluator.retire(source, now);
        self.notify(notices, observer);
    }

    pub(crate) fn replace(&mut self, file: AlertFile, now: Now, observer: Observer<'_>) {
        let AlertFile { book, channels, pulses } = file;
        self.dispatcher.replace(channels);
        self.pulses.retain(|one| pulses.contains(&one.pulse));
        for pulse in pulses {
            if !self.pulses.iter().any(|one| one.pulse == pulse) {
                self.pulses.push(Beating::new(pulse));
            }
        }
        let notices = self.evaluator.replace_book(book, now);
        self.notify(notices, observer);
        self.is_changed = true;
    }

    /// Goes on where another collector ended, whose memory this is.
    pub(crate) fn remember(&mut self, memory: Memory, now: Now, observer: Observer<'_>) {
        let Memory { alerts, outbox } = memory;
        for message in outbox {
            self.send(&message, observer);
        }
        let notices = self.evaluator.restore(alerts, now);
        self.notify(notices, observer);
    }

    /// What the next collector has to know, if that has changed since it was kept last.
    pub(crate) fn memory(&self, now: Now) -> Option<String> {
        if !self.is_changed {
            return None;
        }
        let outbox = self.outbox.values().rev().take(OUTBOX_MAX).rev().cloned().collect();
        serde_json::to_string(&Memory { alerts: self.evaluator.saved(now), outbox }).ok()
    }

    /// The memory is stored, as it was asked for last.
    pub(crate) fn memory_is_kept(&mut self) {
        self.is_changed = false;
    }

    pub(crate) fn step(&mut self, source: usize, step: &Step, now: Now, observer: Observer<'_>) {
        let notices = self.evaluator.sample(source, &step.sample.rows, &step.changes, now);
        self.notify(notices, observer);
        for (rule, reason) in self.evaluator.unmet() {
            let said =
                format!("the rule {rule:?} has met nothing that it can measure, so it cannot fire: {reason}");
            observer(AlertEvent::Unmet(said));
        }
    }

    pub(crate) fn gap(&mut self, source: usize, now: Now, observer: Observer<'_>) {
        let notices = self.evaluator.gap(source, now);
        self.notify(notices, observer);
    }

    pub(crate) fn needs_drills(&self) -> bool {
        self.evaluator.needs_drills()
    }

    pub(crate) fn update_drills(&mut self, drills: Vec<GoodDrill>) {
        self.evaluator.update_drills(drills);
    }

    pub(crate) fn kept(&mut self, source: usize) {
        let Some(source) = self.sources.get(source) else { return };
        for one in self.pulses.iter_mut().filter(|one| one.pulse.of.fits_source(source)) {
            one.is_due = true;
        }
    }

    pub(crate) fn look(&mut self, now: Now, observer: Observer<'_>) {
        if now.clock_ns.saturating_sub(self.looked_ns) < LOOK_EVERY_NS {
            return;
        }
        self.looked_ns = now.clock_ns;
        let notices = self.evaluator.tick(now);
        self.notify(notices, observer);
        for channel in self.pulses.iter_mut().filter_map(|one| one.next(now)) {
            self.dispatcher.send(&Message::Heartbeat(channel));
        }
        for delivery in self.dispatcher.deliveries() {
            self.delivered(&delivery, observer);
        }
    }

    /// Has what waits delivered. What could not be is in the memory.
    pub(crate) fn finish(&mut self, observer: Observer<'_>) {
        let dispatcher = std::mem::replace(&mut self.dispatcher, Dispatcher::start(Vec::new()));
        for delivery in dispatcher.close() {
            self.delivered(&delivery, observer);
        }
    }

    fn delivered(&mut self, delivery: &Delivery, observer: Observer<'_>) {
        if !delivery.is_cut_short && self.outbox.remove(&delivery.number).is_some() {
            self.is_changed = true;
        }
        observer(AlertEvent::Delivery(delivery));
    }

    fn notify(&mut self, notices: Vec<Notice>, observer: Observer<'_>) {
        for notice in notices {
            self.send(&notice.into(), observer);
        }
    }

    pub(crate) fn send(&mut self, message: &Message, observer: Observer<'_>) {
        observer(AlertEvent::Notice(message));
        self.is_changed = true;
        for (number, channel) in self.dispatcher.send(message) {
            self.outbox.insert(number, message.only_to(&channel));
        }
    }
}

impl Beating {
    fn new(pulse: Pulse) -> Self {
        Self { pulse, sent_ns: None, is_due: false }
    }

    /// The channel to send a sign of life through now.
    fn next(&mut self, now: Now) -> Option<String> {
        let every_ns = u64::try_from(self.pulse.every.as_nanos()).unwrap_or(u64::MAX);
        let is_time = self.sent_ns.is_none_or(|sent_ns| now.clock_ns.saturating_sub(sent_ns) >= every_ns);
        if !self.is_due || !is_time {
            return None;
        }
        (self.sent_ns, self.is_due) = (Some(now.clock_ns), false);
        Some(self.pulse.channel.clone())
    }
}

/// Sends a notice through each channel once, of the rule that was named or of the first that notifies it. Whether all arrived.
pub fn test_channels(
    file: &AlertFile,
    rule: Option<&str>,
    now: Timestamp,
    observer: &mut dyn FnMut(&Channel, &Result<(), DeliveryError>),
) -> Result<bool, WatchError> {
    let all = &file.book.rules;
    let rules: Vec<&Rule> = all.iter().filter(|one| rule.is_none_or(|name| one.name == name)).collect();
    if rules.is_empty() && rule.is_some() {
        let known = all.iter().map(|rule| rule.name.clone()).collect();
        return Err(WatchError::NoRule { name: rule.unwrap_or_default().to_owned(), known });
    }
    let mut all_arrived = true;
    for channel in &file.channels {
        let of_channel = rules.iter().find(|rule| rule.channels.contains(&channel.name));
        if of_channel.is_none() && rule.is_some() {
            continue;
        }
        let message = match (&channel.transport, of_channel.or(rules.first())) {
            (Transport::Heartbeat(_), _) => Message::Heartbeat(channel.name.clone()),
            (_, Some(rule)) => Notice::test(rule, now).into(),
            (_, None) => continue,
        };
        // Somebody is waiting for the answer: once is enough.
        let once = Channel { attempts: 1, ..channel.clone() };
        let result = deliver(&once, &message).result;
        all_arrived &= result.is_ok();
        observer(channel, &result);
    }
    Ok(all_arrived)
}

#[cfg(test)]
mod tests {
    use iostall_measure::clock::utc_now;

    use super::*;

    /// The flag was taken before the document was stored: where the store was full for a moment, a restart forgot the alerts.
    #[test]
    fn a_memory_that_was_not_kept_is_still_to_be_kept() {
        let now = Now { utc: utc_now(), clock_ns: 0 };
        let mut alerting = Alerting::start(AlertFile::default(), now);
        assert!(alerting.memory(now).is_none());
        alerting.replace(AlertFile::default(), now, &mut |_| {});
        assert!(alerting.memory(now).is_some() && alerting.memory(now).is_some());
        alerting.memory_is_kept();
        assert!(alerting.memory(now).is_none());
    }
}
