//! Applies alert rules to samples, and sends notices.

use iostall_model::Step;
use iostall_model::alert::{Notice, Now, RuleBook, RuleEvaluator, RuleSource};
use iostall_notify::{Channel, Delivery, Dispatcher, Message};

/// How often silence, repeats and mute hours are checked.
const LOOK_EVERY_NS: u64 = 1_000_000_000;

/// Events of alerting.
#[derive(Debug)]
pub enum AlertEvent<'a> {
    /// A message to send through its channels.
    Notice(&'a Message),
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
    /// Applies `book`, without sources so far.
    pub fn start(book: RuleBook, channels: Vec<Channel>, now: Now) -> Self {
        let evaluator = RuleEvaluator::new(book);
        Self { evaluator, dispatcher: Dispatcher::start(channels), looked_ns: now.clock_ns }
    }

    /// Adds a source that is sampled from `now` on. Sources are numbered in order of addition.
    pub(crate) fn add(&mut self, source: RuleSource, now: Now) {
        self.evaluator.add(source, now);
    }

    /// Source number `source` was sampled.
    pub(crate) fn step(&mut self, source: usize, step: &Step, now: Now, observer: Observer<'_>) {
        let notices = self.evaluator.sample(source, &step.sample.rows, &step.changes, now);
        self.notify(notices, observer);
    }

    pub(crate) fn gap(&mut self, source: usize, now: Now, observer: Observer<'_>) {
        let notices = self.evaluator.gap(source, now);
        self.notify(notices, observer);
    }

    /// Time has passed.
    pub(crate) fn look(&mut self, now: Now, observer: Observer<'_>) {
        if now.clock_ns.saturating_sub(self.looked_ns) >= LOOK_EVERY_NS {
            self.looked_ns = now.clock_ns;
            let notices = self.evaluator.tick(now);
            self.notify(notices, observer);
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

    fn notify(&self, notices: Vec<Notice>, observer: Observer<'_>) {
        for notice in notices {
            self.send(&notice.into(), observer);
        }
    }

    /// Sends `message` through its channels.
    pub(crate) fn send(&self, message: &Message, observer: Observer<'_>) {
        observer(AlertEvent::Notice(message));
        self.dispatcher.send(message);
    }
}
