//! What happens while sources are pulled, and what became of each.

use std::collections::BTreeMap;

use serde::Serialize;

use super::forwarder::{ForwardEvent, PulledSource};
use super::sender::SenderEvent;
use crate::collector::CollectEvent;

pub(super) struct Outcomes {
    sources: BTreeMap<String, PulledOutcome>,
    is_cut: bool,
}

#[derive(Default)]
pub(super) struct Change {
    pub(super) elsewhere: Vec<String>,
    pub(super) ours: Vec<String>,
}

impl Outcomes {
    pub(super) fn of(sources: &[PulledSource]) -> Self {
        let mut new = Self { sources: BTreeMap::new(), is_cut: false };
        new.replace(sources);
        new
    }

    pub(super) fn replace(&mut self, sources: &[PulledSource]) {
        self.sources.retain(|name, _| sources.iter().any(|one| one.name == *name));
        for PulledSource { name, server } in sources {
            let new = || PulledOutcome {
                source: name.clone(),
                server: server.clone(),
                state: PulledState::Waiting,
                samples: 0,
                error: None,
            };
            self.sources.entry(name.clone()).or_insert_with(new).server.clone_from(server);
        }
    }

    pub(super) fn collected(&mut self, event: CollectEvent<'_>, observer: PullObserver<'_>) {
        match &event {
            CollectEvent::Missed { source, missed } if missed.retry.is_some() => {
                if let Some(one) = self.sources.get_mut(*source) {
                    (one.state, one.error) = (PulledState::Failing, Some(missed.gap.reason.clone()));
                }
            }
            CollectEvent::AnswersAgain { source, .. } => {
                if let Some(one) = self.sources.get_mut(*source) {
                    (one.state, one.error) = (PulledState::Waiting, None);
                }
            }
            _ => {}
        }
        observer(PullEvent::Collect(event));
    }

    pub(super) fn hear(&mut self, events: Vec<SenderEvent>, observer: PullObserver<'_>) -> Change {
        let mut change = Change::default();
        for event in events {
            match event {
                SenderEvent::Cut { reason, hint } => {
                    self.is_cut = true;
                    observer(PullEvent::Cut { reason: &reason, hint: hint.as_deref() });
                }
                SenderEvent::Continues => {
                    self.is_cut = false;
                    observer(PullEvent::Continues);
                }
                SenderEvent::Forward(events) => self.forwarded(events, &mut change, observer),
            }
        }
        if !change.elsewhere.is_empty() {
            observer(PullEvent::Elsewhere(change.elsewhere.clone()));
        }
        if !change.ours.is_empty() {
            observer(PullEvent::Ours(change.ours.clone()));
        }
        observer(PullEvent::Progress(self.progress()));
        change
    }

    fn forwarded(&mut self, events: Vec<ForwardEvent>, change: &mut Change, observer: PullObserver<'_>) {
        for event in events {
            let (name, state) = match &event {
                ForwardEvent::Sent(name, samples) => {
                    observer(PullEvent::Sent { source: name, samples: *samples });
                    if let Some(one) = self.sources.get_mut(name) {
                        one.samples += *samples as u64;
                    }
                    (name, PulledState::Sent)
                }
                ForwardEvent::Elsewhere(name) => {
                    change.ours.retain(|one| one != name);
                    change.elsewhere.push(name.clone());
                    if let Some(one) = self.sources.get_mut(name) {
                        one.error = None;
                    }
                    (name, PulledState::Elsewhere)
                }
                ForwardEvent::Ours(name) => {
                    change.elsewhere.retain(|one| one != name);
                    change.ours.push(name.clone());
                    (name, PulledState::Waiting)
                }
            };
            // What was sent of a source that fails is older.
            if let Some(one) = self.sources.get_mut(name).filter(|one| one.error.is_none()) {
                one.state = state;
            }
        }
    }

    fn progress(&self) -> PullProgress {
        let count = |state| self.sources.values().filter(|one| one.state == state).count();
        PullProgress {
            sources: self.sources.len(),
            failing: count(PulledState::Failing),
            elsewhere: count(PulledState::Elsewhere),
            samples: self.sources.values().map(|one| one.samples).sum(),
            is_cut: self.is_cut,
        }
    }

    pub(super) fn finish(self) -> Vec<PulledOutcome> {
        self.sources.into_values().collect()
    }
}

#[derive(Debug)]
pub enum PullEvent<'a> {
    Collect(CollectEvent<'a>),
    /// Somebody else samples these sources: they are left alone until that ends.
    Elsewhere(Vec<String>),
    Ours(Vec<String>),
    Sent {
        source: &'a str,
        samples: usize,
    },
    /// The repository cannot be used, and is tried again. Said once.
    Cut {
        reason: &'a str,
        hint: Option<&'a str>,
    },
    Continues,
    Progress(PullProgress),
}

pub type PullObserver<'o> = &'o mut dyn FnMut(PullEvent<'_>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PullProgress {
    pub sources: usize,
    pub failing: usize,
    pub elsewhere: usize,
    pub samples: u64,
    pub is_cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PulledState {
    /// The repository has its newest sample.
    Sent,
    /// Nothing of it has been sent: it was not asked so far, or the repository could not be used.
    Waiting,
    Failing,
    Elsewhere,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PulledOutcome {
    pub source: String,
    pub server: String,
    pub state: PulledState,
    pub samples: u64,
    pub error: Option<String>,
}
