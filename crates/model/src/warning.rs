//! Doubts that travel with the numbers.

use serde::{Deserialize, Serialize};

/// A doubt about a run's numbers, kept with them and shown beside them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What kind of doubt; stable, for machines.
    pub code: WarningCode,
    /// The role or target it is about; `None`: the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// One sentence: what was seen and why it matters.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Warning {
    /// A doubt about the whole run.
    pub fn new(code: WarningCode, message: impl Into<String>) -> Self {
        Self { code, subject: None, message: message.into(), hint: None }
    }

    /// The same about one role or target.
    pub fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// The same with what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The kinds of doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WarningCode {
    /// The page cache answered, or may have.
    PageCache,
    /// Direct I/O was asked for and not had.
    DirectRefused,
    /// The target fits in memory or in a cache on the path.
    TargetSmall,
    /// Parts of the target were never written: reads of them do not reach the device.
    TargetUnwritten,
    /// The target has holes.
    TargetSparse,
    /// The target was removed during the run, or another file was put in its place: the numbers are of another file.
    TargetReplaced,
    /// The target was cut during the run, or parts of it were freed: requests met no data.
    TargetCut,
    /// The target grew during the run.
    TargetGrew,
    /// A memory file system answered.
    MemoryFileSystem,
    /// Written data can be compressed.
    CompressibleData,
    /// Fewer requests were in flight than asked for.
    DepthNotReached,
    /// Completions were waited for in batches, and latencies include that wait.
    LatencyBatched,
    /// The generator, not the device, was the limit.
    GeneratorBound,
    /// The rate asked for was not held.
    RateNotHeld,
    /// Too few samples for a percentile that is shown.
    FewSamples,
    /// The measured part was short.
    ShortRun,
    /// The device was busy before the run.
    DeviceBusy,
    /// The preferred I/O engine could not be had.
    EngineFallback,
    /// Requests failed or were cut short.
    IoErrors,
    /// Requests were still unanswered at the end of the measured part.
    UnfinishedRequests,
    /// A sync call returned faster than stable media can.
    SyncTooFast,
    /// A control group limits this process.
    CgroupLimit,
    /// The device split the requests.
    RequestsSplit,
    /// The run was interrupted.
    Interrupted,
    /// Something about a copied file beside its content could not be kept.
    MetadataLost,
    /// Another process had the source of a copy open for writing.
    SourceInUse,
    /// A manifest does not list the whole copy.
    PartialList,
    /// A privilege is missing, and with it part of what should be watched.
    MissingGrant,
    /// A setting of the watched server leaves part of the counters out.
    SettingOff,
    /// The watched server lost some of its own counters.
    CountersLost,
    /// The watched version does not count something.
    NotCounted,
}
