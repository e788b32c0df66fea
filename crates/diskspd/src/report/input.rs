//! What a DiskSpd report is made of.

use iostall_measure::Histogram;
use iostall_measure::platform::CpuTicks;
use jiff::Timestamp;
use jiff::tz::TimeZone;

pub use super::iops::IntervalBucket;
use crate::{DiskspdProfile, EffectiveRange};

/// What stands in place of results where a run ended in its warm-up.
pub(super) const NOT_BEGUN: &str =
    "The test was interrupted before the measurements began. No results are displayed.";

/// A whole report.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskspdReport {
    /// The words typed, the program's name first, joined by blanks.
    pub command_line: String,
    /// Host name.
    pub computer_name: String,
    /// When the run began. (DiskSpd shows its end.)
    pub started_utc: Timestamp,
    /// The machine's processors.
    pub topology: CpuTopology,
    /// Windows' power scheme; on Linux the frequency governor.
    pub power_scheme: PowerScheme,
    /// What was asked.
    pub profile: DiskspdProfile,
    /// What was measured: one a time span that was begun.
    pub time_spans: Vec<TimeSpanResult>,
}

impl DiskspdReport {
    /// The start as DiskSpd writes it.
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

/// Counts, and where each processor is if that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuTopology {
    /// Logical processors.
    pub cpu_count: u32,
    /// Physical cores.
    pub core_count: u32,
    /// Processor groups; 1 on Linux.
    pub group_count: u32,
    /// NUMA nodes.
    pub node_count: u32,
    /// Sockets.
    pub socket_count: u32,
    /// Where each processor is; empty where it is not told. Without it the table has no columns for it.
    pub processors: Vec<Processor>,
}

impl CpuTopology {
    /// Whether the cores are of more than one kind.
    pub fn is_heterogeneous(&self) -> bool {
        self.processors.windows(2).any(|pair| pair[0].efficiency_class != pair[1].efficiency_class)
    }

    /// The place of processor `id`.
    pub fn processor(&self, id: u32) -> Option<&Processor> {
        self.processors.iter().find(|processor| processor.id == id)
    }
}

/// One logical processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// Its number, as in [`CpuTicks`].
    pub id: u32,
    /// Socket.
    pub socket: u32,
    /// NUMA node.
    pub node: u32,
    /// Processor group.
    pub group: u32,
    /// Core.
    pub core: u32,
    /// The higher, the faster.
    pub efficiency_class: u32,
}

/// A name and Windows' identifier.
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

/// One time span.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeSpanResult {
    /// Length of the measured part as it was; 0: it was not reached.
    pub measured_ns: u64,
    /// Time of each processor over it.
    pub cpus: Vec<CpuTicks>,
    /// In order.
    pub threads: Vec<ThreadResult>,
    /// Width of an interval of the series.
    pub bucket_ms: u32,
    /// Reads of all threads, interval by interval; used where the threads have no series of their own.
    pub read_buckets: Vec<IntervalBucket>,
    /// Writes, likewise.
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

/// One thread.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadResult {
    /// Its number, over all targets.
    pub id: u32,
    /// The targets it worked on.
    pub targets: Vec<TargetResult>,
}

/// One thread's work on one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetResult {
    /// File or device.
    pub path: String,
    /// Its size.
    pub file_size_bytes: u64,
    /// Reads.
    pub read: OpResult,
    /// Writes.
    pub write: OpResult,
    /// Where requests went, with `-rd`.
    pub distribution: Vec<EffectiveRange>,
}

/// Requests of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpResult {
    /// Completed in the measured part.
    pub count: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Nanoseconds; as many as were completed.
    pub latency_ns: Histogram,
    /// Interval by interval; `None` where no such series was kept.
    pub buckets: Option<Vec<IntervalBucket>>,
}

impl OpResult {
    /// Adds another's requests; a series is kept only where both have one.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.latency_ns.merge(&other.latency_ns);
        self.buckets = match (self.buckets.take(), &other.buckets) {
            (Some(mine), Some(theirs)) => Some(super::iops::merge(&mine, theirs)),
            _ => None,
        };
    }

    /// Nothing yet, ready to be merged into.
    pub fn none() -> Self {
        Self { buckets: Some(Vec::new()), ..Self::default() }
    }

    /// The sum of several.
    pub fn sum<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        parts.into_iter().fold(Self::none(), |mut sum, part| {
            sum.merge(part);
            sum
        })
    }
}
