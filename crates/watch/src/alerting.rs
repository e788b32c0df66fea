//! Applies alert rules to samples, and sends notices.

use std::time::Duration;

use iostall_model::Step;
use iostall_model::alert::{Notice, Now, RuleBook, RuleEvaluator};
use iostall_notify::{Channel, Delivery, Dispatcher};

/// How often silence, repeats and mute hours are checked.
const LOOK_EVERY_NS: u64 = 1_000_000_000;

/// Events of alerting.
#[derive(Debug)]
pub enum AlertEvent<'a> {
    /// Being sent through the channels of its rule.
    Notice(&'a Notice),
    /// Whether an earlier notice was delivered.
    Delivery(&'a Delivery),
}

/// Who hears it.
pub(crate) type Observer<'o> = &'o mut dyn FnMut(AlertEvent<'_>);

/// The rules with their state, and the dispatcher for their notices.
pub struct Alerting {
    evaluator: RuleEvaluator,
    dispatcher: Dispatcher,
    looked_ns: u64,
}

impl Alerting {
    /// Applies `book` to the sources `names`, sampled every `interval`, starting at `now`.
    pub fn start(
        book: RuleBook,
        channels: Vec<Channel>,
        interval: Duration,
        names: &[&str],
        now: Now,
    ) -> Self {
        let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        let evaluator = RuleEvaluator::new(book, interval_ns, names, now);
        Self { evaluator, dispatcher: Dispatcher::start(channels), looked_ns: now.clock_ns }
    }

    /// Source number `source` was sampled.
    pub(crate) fn step(&mut self, source: usize, step: &Step, now: Now, observer: Observer<'_>) {
        let notices = self.evaluator.sample(source, &step.sample.rows, &step.changes, now);
        self.notify(&notices, observer);
    }

    pub(crate) fn gap(&mut self, source: usize, now: Now, observer: Observer<'_>) {
        let notices = self.evaluator.gap(source, now);
        self.notify(&notices, observer);
    }

    /// Time has passed.
    pub(crate) fn look(&mut self, now: Now, observer: Observer<'_>) {
        if now.clock_ns.saturating_sub(self.looked_ns) >= LOOK_EVERY_NS {
            self.looked_ns = now.clock_ns;
            let notices = self.evaluator.tick(now);
            self.notify(&notices, observer);
            for delivery in self.dispatcher.deliveries() {
                observer(AlertEvent::Delivery(&delivery));
            }
        }
    }

    /// Delivers queued notices, and ends.
    pub(crate) fn finish(self, observer: Observer<'_>) {
        for delivery in self.dispatcher.close() {
            observer(AlertEvent::Delivery(&delivery));
        }
    }

    fn notify(&self, notices: &[Notice], observer: Observer<'_>) {
        for notice in notices {
            observer(AlertEvent::Notice(notice));
            self.dispatcher.send(notice);
        }
    }
}
