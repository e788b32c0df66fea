//! What happens while sources are pulled.

use serde::Serialize;

use crate::collector::CollectEvent;

/// What happens while sources are pulled.
#[derive(Debug)]
pub enum PullEvent<'a> {
    /// As when a collector samples.
    Collect(CollectEvent<'a>),
    /// Somebody else samples these sources: they are left alone until that ends.
    Elsewhere(Vec<String>),
    /// These are sampled from now on.
    Ours(Vec<String>),
    /// So many samples of a source are in the repository now.
    Sent { source: &'a str, samples: usize },
    /// The repository cannot be used, and is tried again. Said once.
    Cut { reason: &'a str, hint: Option<&'a str> },
    /// It can be used again.
    Continues,
    /// Where it is, again and again.
    Progress(PullProgress),
}

/// Who hears it.
pub type PullObserver<'o> = &'o mut dyn FnMut(PullEvent<'_>);

/// Where a puller is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PullProgress {
    pub sources: usize,
    /// Those that did not answer when they were last asked.
    pub failing: usize,
    /// Those that somebody else samples.
    pub elsewhere: usize,
    /// Samples sent to the repository.
    pub samples: u64,
    /// Whether the repository cannot be used now.
    pub is_cut: bool,
}

/// What became of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PulledState {
    /// The repository has its newest sample.
    Sent,
    /// Nothing of it has been sent: it was not asked so far, or the repository could not be used.
    Waiting,
    /// It did not answer when it was last asked.
    Failing,
    /// Somebody else samples it.
    Elsewhere,
}

/// A source, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PulledOutcome {
    pub source: String,
    /// The server that it belongs to in the repository.
    pub server: String,
    pub state: PulledState,
    /// Samples sent to the repository.
    pub samples: u64,
    /// Why it did not answer.
    pub error: Option<String>,
}
