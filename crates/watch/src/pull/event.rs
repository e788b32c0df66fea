//! What happens while sources are pulled.

use serde::Serialize;

use crate::collector::CollectEvent;

#[derive(Debug)]
pub enum PullEvent<'a> {
    Collect(CollectEvent<'a>),
    /// Somebody else samples these sources: they are left alone until that ends.
    Elsewhere(Vec<String>),
    /// These are sampled from now on.
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
    /// Those that did not answer when they were last asked.
    pub failing: usize,
    /// Those that somebody else samples.
    pub elsewhere: usize,
    /// Samples sent to the repository.
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
    /// The server that it belongs to in the repository.
    pub server: String,
    pub state: PulledState,
    pub samples: u64,
    pub error: Option<String>,
}
