//! What the evaluator remembers.

use std::collections::BTreeMap;

use crate::alert::instance::AlertInstance;
use crate::alert::source::RuleSource;
use crate::alert::volume_limit::VolumeCourse;
use crate::kind::Kind;

/// What a rule can be about: a group of rows on one class of storage.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    pub(super) kind: Kind,
    pub(super) group: String,
    pub(super) class: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) known: RuleSource,
    /// When it was last known to answer; at first, when the watch over it began.
    pub(super) answered_ns: u64,
    /// By rule: its alert instances.
    pub(super) instances: Vec<BTreeMap<Name, AlertInstance>>,
    /// By rule: whether it is silent; of the backups, whether they lack a drill.
    pub(super) silence: Vec<AlertInstance>,
    pub(super) is_retired: bool,
    /// By rule and volume: how it went lately.
    pub(super) courses: BTreeMap<(usize, Name), VolumeCourse>,
}
