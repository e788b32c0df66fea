//! How a database makes its log durable: the methods, what each delivered, and what a server is set to.

use iostall_measure::{Histogram, named};
use serde::{Deserialize, Serialize};

use crate::figures::per_second;

named! {
    /// How a write to the log is made durable, under the names of PostgreSQL's `wal_sync_method`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SyncMethod {
        /// A write, then `fdatasync`.
        Fdatasync = "fdatasync",
        /// One write with `O_DSYNC`.
        OpenDatasync = "open_datasync",
        /// The same with `O_DIRECT`.
        OpenDatasyncDirect = "open_datasync_direct",
        /// A write, then `fsync`.
        Fsync = "fsync",
        /// One write with `O_SYNC`.
        OpenSync = "open_sync",
        OpenSyncDirect = "open_sync_direct",
        /// A write, then `sync_file_range`, which does not flush the device's cache.
        SyncFileRange = "sync_file_range",
    }
}

impl SyncMethod {
    /// The method of a server with this `wal_sync_method`; `None` for a value that Linux does not have.
    pub fn of_setting(value: &str) -> Option<Self> {
        [Self::Fdatasync, Self::OpenDatasync, Self::Fsync, Self::OpenSync]
            .into_iter()
            .find(|method| method.name().eq_ignore_ascii_case(value))
    }

    /// Whether a completed commit survives a power failure, if the device does what it is asked to do.
    pub fn is_durable(self) -> bool {
        self != Self::SyncFileRange
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogLayout {
    /// All to one log: one flush makes the records of all waiting committers durable (group commit).
    Shared,
    Separate,
}

/// One method with one number of committers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SyncStep {
    pub method: SyncMethod,
    pub committers: u32,
    pub log: LogLayout,
    pub measured_ns: u64,
    /// From a committer's request to commit until its record is durable, nanoseconds.
    pub commit_ns: Histogram,
    /// Duration of each flush: the write and the call that makes it durable, nanoseconds.
    pub flush_ns: Histogram,
    pub slice_ns: u64,
    /// Commits of each whole slice of the measured part.
    pub slices: Vec<u64>,
    /// Why this machine or file system does not have the method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
    /// The error that ended it; the numbers are of the time before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl SyncStep {
    pub fn new(method: SyncMethod, committers: u32, log: LogLayout) -> Self {
        Self {
            method,
            committers,
            log,
            measured_ns: 0,
            commit_ns: Histogram::new(),
            flush_ns: Histogram::new(),
            slice_ns: 0,
            slices: Vec::new(),
            unavailable: None,
            failed: None,
        }
    }

    /// Commits a second; `None` without measurements.
    pub fn commits_per_s(&self) -> Option<f64> {
        let has_commits = !self.commit_ns.is_empty();
        has_commits.then(|| per_second(self.commit_ns.count() as f64, self.measured_ns)).flatten()
    }

    /// Mean number of commits that a flush made durable; `None` without flushes.
    pub fn commits_per_flush(&self) -> Option<f64> {
        let flushes = self.flush_ns.count();
        (flushes > 0).then(|| self.commit_ns.count() as f64 / flushes as f64)
    }

    /// The setting in words: `fdatasync, 8 committers`.
    pub fn label(&self) -> String {
        let name = self.method.name();
        match (self.committers, self.log) {
            (1, _) => format!("{name}, 1 committer"),
            (many, LogLayout::Shared) => format!("{name}, {many} committers"),
            (many, LogLayout::Separate) => format!("{name}, {many} committers with a log each"),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSync {
    pub data_directory: String,
    /// `wal_sync_method`, `fsync` and `synchronous_commit`.
    pub settings: Vec<ServerSetting>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSetting {
    pub name: String,
    pub value: String,
    /// The file and line, or `default`.
    pub source: String,
}

impl ServerSync {
    pub fn setting(&self, name: &str) -> Option<&ServerSetting> {
        self.settings.iter().find(|setting| setting.name == name)
    }

    /// The method that it uses; `None` if the value is unknown.
    pub fn method(&self) -> Option<SyncMethod> {
        SyncMethod::of_setting(&self.setting("wal_sync_method")?.value)
    }
}
