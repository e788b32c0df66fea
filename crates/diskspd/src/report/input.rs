//! The input of a DiskSpd report.

use iostall_measure::Histogram;
use iostall_measure::platform::CpuTicks;
use jiff::Timestamp;
use jiff::tz::TimeZone;

pub use super::iops::IntervalBucket;
use crate::{DiskspdProfile, EffectiveRange};

/// Shown instead of results if a run ended during its warm-up.
pub(super) const NOT_BEGUN: &str =
    "The test was interrupted before the measurements began. No results are displayed.";

#[derive(Clone, Debug, PartialEq)]
pub struct DiskspdReport {
    /// The words typed, starting with the program's name, joined by blanks.
    pub command_line: String,
    pub computer_name: String,
    /// When the run began. (DiskSpd shows its end.)
    pub started_utc: Timestamp,
    pub topology: CpuTopology,
    /// Windows' power scheme; on Linux the frequency governor.
    pub power_scheme: PowerScheme,
    pub profile: DiskspdProfile,
    /// The results: one per time span that was started.
    pub time_spans: Vec<TimeSpanResult>,
}

impl DiskspdReport {
    /// The start in DiskSpd's format.
    pub(super) fn start_time(&self) -> String {
        let at = self.started_utc.to_zoned(TimeZone::UTC);
        let (date, time) = (at.date(), at.time());
        format!(
            "{}/{:02}/{:02} {:02}:{:02}:{:02} UTC",
            date.year(),
            date.month(),
            date.day(),
            time.hour(),
            time.minute(),
            time.second()
        )
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuTopology {
    pub cpu_count: u32,
    pub core_count: u32,
    /// Processor groups; 1 on Linux.
    pub group_count: u32,
    pub node_count: u32,
    pub socket_count: u32,
    /// Location of each processor; if empty, the table has no columns for it.
    pub processors: Vec<Processor>,
}

impl CpuTopology {
    pub fn is_heterogeneous(&self) -> bool {
        self.processors.windows(2).any(|pair| pair[0].efficiency_class != pair[1].efficiency_class)
    }

    pub fn processor(&self, id: u32) -> Option<&Processor> {
        self.processors.iter().find(|processor| processor.id == id)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// Its number, as in [`CpuTicks`].
    pub id: u32,
    pub socket: u32,
    pub node: u32,
    pub group: u32,
    pub core: u32,
    /// Higher is faster.
    pub efficiency_class: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PowerScheme {
    /// Such as `performance`.
    pub name: String,
    /// 8-4-4-4-12 hexadecimal digits; zeros for what Windows does not know.
    pub guid: String,
}

impl PowerScheme {
    /// A frequency governor in place of a power scheme.
    pub fn governor(name: Option<&str>) -> Self {
        Self {
            name: name.unwrap_or("unknown").to_owned(),
            guid: "00000000-0000-0000-0000-000000000000".to_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct TimeSpanResult {
    /// Actual length of the measured part; 0 if it was not reached.
    pub measured_ns: u64,
    pub cpus: Vec<CpuTicks>,
    pub threads: Vec<ThreadResult>,
    /// Width of an interval of the series.
    pub bucket_ms: u32,
    /// Reads of all threads by interval; used if the threads have no series of their own.
    pub read_buckets: Vec<IntervalBucket>,
    pub write_buckets: Vec<IntervalBucket>,
}

impl TimeSpanResult {
    /// Length of the measured part, seconds.
    pub fn seconds(&self) -> f64 {
        self.measured_ns as f64 / 1e9
    }

    /// Every target of every thread, in the order of the tables.
    pub fn targets(&self) -> impl Iterator<Item = &TargetResult> {
        self.threads.iter().flat_map(|thread| &thread.targets)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ThreadResult {
    /// Its number over all targets.
    pub id: u32,
    pub targets: Vec<TargetResult>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetResult {
    pub path: String,
    pub file_size_bytes: u64,
    pub read: OpResult,
    pub write: OpResult,
    /// Actual distribution of requests, with `-rd`.
    pub distribution: Vec<EffectiveRange>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpResult {
    /// Completed in the measured part.
    pub count: u64,
    pub bytes: u64,
    /// Nanoseconds, one value per completed request.
    pub latency_ns: Histogram,
    /// By interval; `None` if there is no such series.
    pub buckets: Option<Vec<IntervalBucket>>,
}

impl OpResult {
    /// Adds another's requests; a series is kept only if both have one.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.latency_ns.merge(&other.latency_ns);
        self.buckets = match (self.buckets.take(), &other.buckets) {
            (Some(mine), Some(theirs)) => Some(super::iops::merge(&mine, theirs)),
            _ => None,
        };
    }

    pub fn none() -> Self {
        Self { buckets: Some(Vec::new()), ..Self::default() }
    }

    pub fn sum<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        parts.into_iter().fold(Self::none(), |mut sum, part| {
            sum.merge(part);
            sum
        })
    }
}
