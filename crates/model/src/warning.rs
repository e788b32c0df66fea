//! Warnings that are stored with the numbers.

use serde::{Deserialize, Serialize};

/// A reason to doubt a run's numbers, stored and shown with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    pub code: WarningCode,
    /// The role, target or database concerned; `None` for the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// One sentence: what was found and why it matters.
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The codes of a rank, each once, as they are written: `device-busy, target-small`.
pub fn names(codes: impl IntoIterator<Item = WarningCode>, is_meant: impl Fn(WarningCode) -> bool) -> String {
    let codes: std::collections::BTreeSet<WarningCode> =
        codes.into_iter().filter(|code| is_meant(*code)).collect();
    codes.into_iter().map(WarningCode::name).collect::<Vec<_>>().join(", ")
}

impl Warning {
    pub fn new(code: WarningCode, message: impl Into<String>) -> Self {
        Self { code, subject: None, message: message.into(), hint: None }
    }

    pub fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WarningCode {
    /// Requests were, or may have been, served from the page cache.
    PageCache,
    DirectRefused,
    /// The target fits into memory or another cache on the path.
    TargetSmall,
    /// Parts of the target were never written: reading them does not reach the device.
    TargetUnwritten,
    TargetSparse,
    /// The target was removed or replaced during the run: the numbers belong to another file.
    TargetReplaced,
    /// The target was truncated or parts of it were freed during the run: requests found no data.
    TargetCut,
    TargetGrew,
    MemoryFileSystem,
    CompressibleData,
    DepthNotReached,
    LatencyBatched,
    GeneratorBound,
    RateNotHeld,
    /// Too few samples for a percentile that is shown.
    FewSamples,
    ShortRun,
    /// The rate changed for good during the measured part, such as when burst credits run out.
    RateChanged,
    DeviceBusy,
    EngineFallback,
    IoErrors,
    UnfinishedRequests,
    SyncTooFast,
    /// Whether the cache that answered so fast survives a power failure cannot be found out from here.
    CacheUnverified,
    /// A database is set not to wait until its commits are durable.
    SyncOff,
    CgroupLimit,
    RequestsSplit,
    Interrupted,
    MetadataLost,
    /// Another process had the source of a copy open for writing.
    SourceInUse,
    /// A source to which a transfer gives way did not answer for some time.
    SourceSilent,
    /// The users of a source waited longer than required although the transfer was at its floor.
    FloorMissed,
    PartialList,
    /// Only one key opens an encrypted backup.
    OneRecipient,
    /// Pages of a database have a wrong checksum, and are in the backup as they were read.
    WrongPages,
    StoreReplaces,
    /// Something in a tree has no content that could be backed up.
    LeftOut,
    /// A restored database needs another step before a server may be started on it.
    NotPrepared,
    VisibilityMapsEmpty,
    NewerBackup,
    StripeRenamed,
    MissingGrant,
    /// A login that only reads may do anything.
    TooManyRights,
    SettingOff,
    CountersLost,
    NotCounted,
    /// A part of the watched server, named in `subject`, was not read this time.
    NotRead,
    /// Numbers of a drive that cannot all be true.
    Implausible,
    FirmwareChanged,
    /// What a drive says of itself: errors, or that it expects to fail.
    DriveReports,
    /// Several drives have one serial number.
    SerialShared,
    /// A load that was written for another tool is not in all the one that this tool would make.
    NotAsWritten,
}

/// How much a warning changes what the numbers mean. The most severe is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rank {
    /// They are not those of the storage, or not of what was asked for.
    Invalidates,
    /// They hold, but something else may be in them.
    Caution,
    Note,
}

impl WarningCode {
    /// As it is stored and shown.
    pub fn name(self) -> String {
        // The stored spelling is stable; a unit variant always serialises to a string.
        let code = serde_json::to_value(self).ok();
        code.and_then(|code| code.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Whether it changes how far the numbers can be relied on.
    pub fn is_more_than_note(self) -> bool {
        self.rank() != Rank::Note
    }

    /// Whether something else had the machine: then neither good nor bad can be said of the storage.
    pub fn is_disturbance(self) -> bool {
        matches!(self, Self::DeviceBusy | Self::GeneratorBound)
    }

    pub fn rank(self) -> Rank {
        match self {
            Self::PageCache
            | Self::DirectRefused
            | Self::TargetUnwritten
            | Self::TargetSparse
            | Self::TargetReplaced
            | Self::TargetCut
            | Self::MemoryFileSystem
            | Self::IoErrors => Rank::Invalidates,
            Self::TargetSmall
            | Self::TargetGrew
            | Self::CompressibleData
            | Self::DepthNotReached
            | Self::GeneratorBound
            | Self::RateNotHeld
            | Self::ShortRun
            | Self::RateChanged
            | Self::DeviceBusy
            | Self::UnfinishedRequests
            | Self::SyncTooFast
            | Self::SyncOff
            | Self::CgroupLimit
            | Self::Interrupted
            | Self::MetadataLost
            | Self::SourceInUse
            | Self::SourceSilent
            | Self::FloorMissed
            | Self::PartialList
            | Self::OneRecipient
            | Self::WrongPages
            | Self::StoreReplaces
            | Self::NewerBackup
            | Self::NotPrepared
            | Self::VisibilityMapsEmpty
            | Self::MissingGrant
            | Self::SettingOff
            | Self::CountersLost
            | Self::NotRead
            | Self::Implausible
            | Self::FirmwareChanged
            | Self::DriveReports
            | Self::SerialShared
            | Self::NotAsWritten => Rank::Caution,
            Self::LatencyBatched
            | Self::FewSamples
            | Self::EngineFallback
            | Self::RequestsSplit
            | Self::CacheUnverified
            | Self::LeftOut
            | Self::StripeRenamed
            | Self::TooManyRights
            | Self::NotCounted => Rank::Note,
        }
    }
}
