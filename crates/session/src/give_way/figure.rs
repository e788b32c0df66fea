//! What a source reports about the waiting of its users.

use std::collections::VecDeque;

use iostall_collect::SourceError;
use iostall_model::requirement::{Bound, LatencyMetric, Limit, Metric, Requirement};
use iostall_model::{Counter, Counters, DeviceRole, Kind, Row, Sample, Scope, Step, Subject};
use thiserror::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    /// Until the log is on the medium.
    Commit,
    Read,
    Write,
    Sync,
}

impl Operation {
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "commit" => Self::Commit,
            "read" => Self::Read,
            "write" => Self::Write,
            "sync" => Self::Sync,
            _ => return None,
        })
    }

    fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Commit => &[Kind::PostgresWal, Kind::SqlServerFile, Kind::MysqlFile, Kind::LinuxDevice],
            Self::Read => &[Kind::PostgresDatabase, Kind::SqlServerFile, Kind::MysqlFile, Kind::LinuxDevice],
            Self::Write => &[
                Kind::PostgresIo,
                Kind::PostgresIoBlocks,
                Kind::SqlServerFile,
                Kind::MysqlFile,
                Kind::LinuxDevice,
            ],
            Self::Sync => &[Kind::PostgresWal, Kind::LinuxDevice],
        }
    }

    /// The time that counts in a row of this subject, and the operations that it belongs to.
    fn counters(self, subject: &Subject) -> Option<(&'static [Counter], Counter)> {
        Some(match (self, subject.kind) {
            (Self::Commit, Kind::PostgresWal) => (&[Counter::WriteStall, Counter::SyncStall], Counter::Syncs),
            (Self::Commit, Kind::SqlServerFile) if is_log(subject) => {
                (&[Counter::WriteStall], Counter::Writes)
            }
            (Self::Commit, Kind::MysqlFile) if is_log(subject) => {
                (&[Counter::WriteStall, Counter::SyncStall], Counter::Writes)
            }
            (Self::Commit | Self::Sync, Kind::LinuxDevice) | (Self::Sync, Kind::PostgresWal) => {
                (&[Counter::SyncStall], Counter::Syncs)
            }
            (Self::Read, _) => (&[Counter::ReadStall], Counter::Reads),
            (Self::Write, _) => (&[Counter::WriteStall], Counter::Writes),
            (Self::Commit | Self::Sync, _) => return None,
        })
    }
}

/// Whether it is a transaction log: SQL Server's, or the redo log of InnoDB.
fn is_log(subject: &Subject) -> bool {
    let name = last_component(&subject.name);
    match subject.kind {
        Kind::SqlServerFile => name.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("ldf")),
        _ => name.starts_with("ib_logfile") || name.starts_with("#ib_redo"),
    }
}

fn last_component(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    requirement: String,
    limit_ns: f64,
    /// A database, file, device or mount point; `None` is all of the source.
    name: Option<String>,
    operation: Operation,
    /// The share of operations that may not wait longer; `None` is the mean.
    quantile: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stalled {
    pub(crate) ns: u64,
    pub(crate) operations: u64,
    /// How long it was watched, if it is a log that one session at a time writes for all; otherwise 0.
    pub(crate) serial_ns: u64,
}

/// Readings over which the busy share of a log is taken: each has only what some sessions reported.
const BUSY_READINGS: usize = 10;

/// The share of the time in which a log was being written.
#[derive(Clone, Debug, Default)]
pub(crate) struct BusyShare(VecDeque<Stalled>);

impl BusyShare {
    /// The share of the last readings, `stalled` being the newest; 0 unless the log is written by one session at a time.
    pub(crate) fn with(&mut self, stalled: Stalled) -> f64 {
        self.0.push_back(stalled);
        if self.0.len() > BUSY_READINGS {
            self.0.pop_front();
        }
        let sum = |of: fn(&Stalled) -> u64| self.0.iter().map(of).sum::<u64>() as f64;
        let serial_ns = sum(|stalled| stalled.serial_ns);
        if serial_ns > 0.0 { (sum(|stalled| stalled.ns) / serial_ns).min(1.0) } else { 0.0 }
    }
}

impl Stalled {
    /// Stall per operation, nanoseconds; `None` without any.
    pub(crate) fn mean_ns(self) -> Option<f64> {
        (self.operations > 0).then(|| self.ns as f64 / self.operations as f64)
    }
}

impl Figure {
    pub(crate) fn of_requirements(requirements: &[Requirement]) -> Result<Vec<Self>, GiveWayError> {
        let mut figures = Vec::new();
        for requirement in requirements {
            let Requirement::Limit(limit) = requirement else { continue };
            let Some((name, operation)) = about(limit) else { continue };
            let requirement = requirement.to_string();
            if !matches!(limit.bound, Bound::Below | Bound::AtMost) || limit.value <= 0.0 {
                return Err(GiveWayError::NoUpperLimit { requirement });
            }
            let quantile = quantile(limit.metric);
            figures.push(Self { requirement, limit_ns: limit.value, name, operation, quantile });
        }
        if figures.is_empty() { Err(GiveWayError::NothingRequired) } else { Ok(figures) }
    }

    pub(crate) fn requirement(&self) -> &str {
        &self.requirement
    }

    pub(crate) fn kinds(&self) -> &'static [Kind] {
        self.operation.kinds()
    }

    /// What a user waits for an operation, if operations stall for `stall_ns` each.
    ///
    /// A log that one session at a time writes serves all commits that came meanwhile with the next flush. A commit that
    /// comes during a flush, which happens to a share `busy` of them, waits for the rest of that one first. With flushes of one
    /// length and commits at any moment of them, `busy` times `1 - x` of the commits wait for more than `x` of a flush.
    pub(crate) fn wait_ns(&self, stall_ns: f64, busy: f64) -> f64 {
        let rest = match self.quantile {
            None => busy / 2.0,
            Some(quantile) if busy > 1.0 - quantile => 1.0 - (1.0 - quantile) / busy,
            Some(_) => 0.0,
        };
        stall_ns * (1.0 + rest)
    }

    pub(crate) fn pressure(&self, wait_ns: f64) -> f64 {
        wait_ns / self.limit_ns
    }

    /// Whether the source reports it at all.
    pub(crate) fn is_in(&self, sample: &Sample) -> bool {
        sample.rows.iter().any(|row| {
            let counters = self.counters(row);
            counters.is_some_and(|(stalls, operations)| {
                stalls.iter().any(|stall| row.counters.get(*stall).is_some())
                    && row.counters.get(operations).is_some()
            })
        })
    }

    /// What was waited for since the reading before. Rows that began again at zero have no difference.
    pub(crate) fn of_step(&self, step: &Step) -> Stalled {
        let mut sum = Stalled::default();
        for (row, change) in step.rows() {
            let Some((stalls, operations)) = self.counters(row) else { continue };
            let Some(totals) = change.delta() else { continue };
            let amounts = &totals.amounts;
            if stalls.iter().all(|stall| amounts.get(*stall).is_none()) {
                continue;
            }
            sum.ns = sum.ns.saturating_add(stalls.iter().map(|stall| amounts.or_zero(*stall)).sum());
            sum.operations = sum.operations.saturating_add(done(amounts, operations));
            if self.operation == Operation::Commit && row.subject.kind == Kind::PostgresWal {
                sum.serial_ns = sum.serial_ns.saturating_add(totals.covered_ns);
            }
        }
        sum
    }

    fn counters(&self, row: &Row) -> Option<(&'static [Counter], Counter)> {
        let subject = &row.subject;
        let counters = self.operation.counters(subject)?;
        let is_wanted = self.kinds().contains(&subject.kind)
            && match &self.name {
                Some(name) => is_called(subject, name),
                // Partitions and stacked devices are already counted in the disks under them.
                None => subject.kind != Kind::LinuxDevice || subject.scope == Scope::Device(DeviceRole::Disk),
            };
        is_wanted.then_some(counters)
    }
}

/// A log that is opened for synchronous writing is written and never synced.
fn done(amounts: &Counters, operations: Counter) -> u64 {
    match amounts.or_zero(operations) {
        0 if operations == Counter::Syncs => amounts.or_zero(Counter::Writes),
        done => done,
    }
}

fn quantile(metric: Metric) -> Option<f64> {
    match metric {
        Metric::Latency(LatencyMetric::Percentile(at)) => Some(at.percent() / 100.0),
        Metric::Latency(LatencyMetric::Max) => Some(1.0),
        Metric::Latency(LatencyMetric::Mean | LatencyMetric::Min)
        | Metric::Stall
        | Metric::Iops
        | Metric::Throughput
        | Metric::Failed
        | Metric::Headroom
        | Metric::Days
        | Metric::Used => None,
    }
}

fn is_called(subject: &Subject, name: &str) -> bool {
    let is = |other: &str| other.eq_ignore_ascii_case(name);
    is(&subject.name)
        || is(last_component(&subject.name))
        || subject.scope.database().is_some_and(is)
        || subject.volume.as_deref().is_some_and(is)
}

/// The name and the operation of a limit that is about a source: `commit.p95`, `sda.sync.mean`.
fn about(limit: &Limit) -> Option<(Option<String>, Operation)> {
    if !matches!(limit.metric, Metric::Latency(_) | Metric::Stall) {
        return None;
    }
    let subject = limit.subject.as_deref()?;
    let (name, word) = match subject.rsplit_once('.') {
        Some((name, word)) => (Some(name.to_owned()), word),
        None => (None, subject),
    };
    Some((name, Operation::named(word)?))
}

#[cfg(test)]
mod tests;

/// Why a transfer cannot give way to a source. All are found before anything is moved.
#[derive(Debug, Error)]
pub enum GiveWayError {
    #[error("--yield-to needs a limit on what the users of the source wait for")]
    NothingRequired,
    #[error("{requirement:?} is no upper limit above zero, so nothing can be done to keep it")]
    NoUpperLimit {
        /// As typed.
        requirement: String,
    },
    #[error("{source_name} does not report what {requirement:?} is about{}", reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default())]
    NotReported { source_name: String, requirement: String, reason: Option<String>, hint: Option<String> },
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// What a source may be asked for.
const FIGURES: &str = "add --require 'commit.p95<5ms': commit, read, write or sync, for one database, file or device as in \
                       'sda.sync.p95<5ms', with mean, p95 (or any percentile) or max";

impl GiveWayError {
    pub fn hint(&self) -> String {
        match self {
            Self::NothingRequired => FIGURES.to_owned(),
            Self::NoUpperLimit { .. } => "write such as 'commit.p95<5ms'".to_owned(),
            Self::NotReported { hint: Some(hint), .. } => hint.clone(),
            Self::NotReported { hint: None, .. } => {
                "PostgreSQL from 14 reports commit, read and sync, and write from 16; SQL Server, MySQL and linux: report read \
                 and write by file or device; MariaDB does not report its log"
                    .to_owned()
            }
            Self::Source(error) => error.hint(),
        }
    }
}
