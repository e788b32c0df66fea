//! What load on storage gave, worker by worker.
//!
//! The base is the [`Cell`]: one worker, one target, one operation. Roles, operations and the whole are
//! sums over cells; nothing here is an average of averages.

use iostall_measure::platform::{CpuTicks, DeviceCounters};
use iostall_measure::{Histogram, Op, Percentile, Unavailable};
use serde::{Deserialize, Serialize};

/// One span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpanOutcome {
    /// Length of the measured part as it really was, nanoseconds. Rates divide by this.
    pub measured_ns: u64,
    /// Stopped before the end of its measured part.
    pub interrupted: bool,
    /// How much of each of the run's targets, from its start, the span used, bytes. Empty in runs kept before this was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_bytes: Vec<u64>,
    /// One a role, in the profile's order.
    pub roles: Vec<RoleOutcome>,
    /// Time of each processor over the measured part.
    pub cpus: Vec<CpuTicks>,
    /// This process's own processor time over the measured part, user and kernel, nanoseconds.
    pub process_user_ns: u64,
    /// Kernel part.
    pub process_system_ns: u64,
    /// What the block layer saw on the devices of the targets over the measured part.
    pub devices: Vec<DeviceCounters>,
}

/// One role of a span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoleOutcome {
    /// Its name in the profile.
    pub name: String,
    /// Engine that carried it out.
    pub engine: EngineUse,
    /// The base numbers.
    pub cells: Vec<Cell>,
    /// Second by second.
    pub series: Vec<IntervalPoint>,
    /// Write to sync, one commit: from the write's start (intended start in open loop) to the end of the sync call
    /// that covers it. Only where the role syncs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Histogram>,
    /// Requests in flight asked for: queue depth × workers × targets.
    pub depth_asked: u64,
    /// Mean requests in flight over the measured part (sum of service latencies / length: Little's law).
    pub depth_mean: f64,
    /// Open loop only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoop>,
    /// Processor time of the role's workers over the measured part, nanoseconds: user and kernel.
    pub cpu_user_ns: u64,
    /// Kernel part.
    pub cpu_system_ns: u64,
    /// Requests unanswered when the measured part ended.
    pub unfinished: u64,
    /// Age of the oldest of them, nanoseconds.
    pub unfinished_age_ns_max: u64,
    /// Requests that failed or were cut short, alike ones counted together; the first of each kind is described.
    pub errors: Vec<ErrorOutcome>,
    /// Calls into the kernel made to submit and wait, for the batch size; 0 where the engine makes none.
    pub submit_calls: u64,
}

/// Which engine carried out a role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineUse {
    /// `io_uring`, `psync`, `null` or `sim`.
    pub name: String,
    /// What it was granted: ring flags, registered files and buffers, huge pages.
    pub features: Vec<String>,
    /// What it asked for and did not get, with the cause.
    pub refused: Vec<Unavailable>,
}

/// One worker × target × operation over the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Worker, counted over the span.
    pub worker: u32,
    /// Index in the run's targets.
    pub target: u32,
    /// Operation.
    pub op: Op,
    /// Bytes moved by completed requests; 0 for sync.
    pub bytes: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Submit to completion, nanoseconds. Its count is the number of completed requests.
    pub service_ns: Histogram,
    /// Intended start to completion, nanoseconds. Open loop only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_ns: Option<Histogram>,
    /// Interval by interval, where the span keeps worker series.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<CellInterval>,
}

/// One interval of a cell. Latencies are responses in open loop, else services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellInterval {
    /// Completed requests.
    pub count: u64,
    /// Sum of their latencies, nanoseconds.
    pub latency_ns_sum: f64,
    /// Sum of the squares.
    pub latency_ns_sum_of_squares: f64,
    /// Smallest; `None` without requests.
    pub latency_ns_min: Option<u64>,
    /// Largest; `None` without requests.
    pub latency_ns_max: Option<u64>,
}

impl CellInterval {
    /// What an interval's histogram holds.
    pub fn of(latency_ns: &Histogram) -> Self {
        Self {
            count: latency_ns.count(),
            latency_ns_sum: latency_ns.sum() as f64,
            latency_ns_sum_of_squares: latency_ns.sum_of_squares(),
            latency_ns_min: latency_ns.min(),
            latency_ns_max: latency_ns.max(),
        }
    }
}

/// Cells added up: one operation of a role, or of a whole span.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpOutcome {
    /// Bytes moved.
    pub bytes: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Submit to completion, nanoseconds.
    pub service_ns: Histogram,
    /// Intended start to completion, nanoseconds; where every added cell has it.
    pub response_ns: Option<Histogram>,
}

impl OpOutcome {
    /// The sum of `cells`; `None` where there is none or none did anything.
    pub fn sum<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Option<Self> {
        let mut cells = cells.into_iter().filter(|cell| cell.failed > 0 || !cell.service_ns.is_empty());
        let first = cells.next()?;
        let mut sum = Self {
            bytes: first.bytes,
            failed: first.failed,
            service_ns: first.service_ns.clone(),
            response_ns: first.response_ns.clone(),
        };
        for cell in cells {
            sum.bytes += cell.bytes;
            sum.failed += cell.failed;
            sum.service_ns.merge(&cell.service_ns);
            match (&mut sum.response_ns, &cell.response_ns) {
                (Some(mine), Some(theirs)) => mine.merge(theirs),
                _ => sum.response_ns = None,
            }
        }
        Some(sum)
    }

    /// Completed requests.
    pub fn count(&self) -> u64 {
        self.service_ns.count()
    }

    /// Completed requests a second over `measured_ns`; `None` over no time.
    pub fn iops(&self, measured_ns: u64) -> Option<f64> {
        (measured_ns > 0).then(|| self.count() as f64 / (measured_ns as f64 / 1e9))
    }

    /// 2^20 bytes a second over `measured_ns`; `None` over no time.
    pub fn mebibytes_per_second(&self, measured_ns: u64) -> Option<f64> {
        (measured_ns > 0).then(|| self.bytes as f64 / 1_048_576.0 / (measured_ns as f64 / 1e9))
    }

    /// What a user waits for: response in open loop, else service.
    pub fn latency_ns(&self) -> &Histogram {
        self.response_ns.as_ref().unwrap_or(&self.service_ns)
    }
}

impl RoleOutcome {
    /// The role's `op`, all workers and targets; `None` where it did none.
    pub fn op(&self, op: Op) -> Option<OpOutcome> {
        OpOutcome::sum(self.cells.iter().filter(|cell| cell.op == op))
    }

    /// Reads and writes together (a sync moves no data and is no I/O of the count); `None` where it did none.
    pub fn reads_and_writes(&self) -> Option<OpOutcome> {
        OpOutcome::sum(self.cells.iter().filter(|cell| cell.op != Op::Sync))
    }
}

/// One interval (a second, but for the last) of a role's series. Only requests completed in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalPoint {
    /// From the start of the measured part, nanoseconds.
    pub start_ns: u64,
    /// Length, nanoseconds.
    pub length_ns: u64,
    /// One an operation that completed anything in it.
    pub ops: Vec<IntervalOp>,
}

/// One operation in one interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalOp {
    /// Operation.
    pub op: Op,
    /// Completed requests.
    pub count: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Latency (response in open loop, else service), nanoseconds.
    pub latency_ns_mean: f64,
    /// Median.
    pub latency_ns_p50: u64,
    /// 99th percentile.
    pub latency_ns_p99: u64,
    /// Largest.
    pub latency_ns_max: u64,
}

impl IntervalOp {
    /// What one interval's histogram shows; `None` where it is empty.
    pub fn of(op: Op, bytes: u64, latency_ns: &Histogram) -> Option<Self> {
        Some(Self {
            op,
            count: latency_ns.count(),
            bytes,
            latency_ns_mean: latency_ns.mean()?,
            latency_ns_p50: latency_ns.value_at(Percentile::P50)?,
            latency_ns_p99: latency_ns.value_at(Percentile::P99)?,
            latency_ns_max: latency_ns.max()?,
        })
    }
}

/// How an open loop kept its plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// Arrivals a second asked for.
    pub rate_asked_iops: f64,
    /// Arrivals that fell due in the measured part.
    pub arrivals: u64,
    /// Of them, how many were handed over more than a millisecond after they were due.
    pub late_starts: u64,
    /// The latest of them, nanoseconds.
    pub lateness_ns_max: u64,
    /// Most arrivals that were due and not yet handed over at one moment, the sum of the workers' own maxima.
    pub backlog_max: u64,
    /// Arrivals still due and not handed over at the end of the measured part.
    pub backlog_at_end: u64,
    /// Coefficient of variation of the gaps between arrivals as planned: 0 when constant, 1 when Poisson.
    pub gap_coefficient_of_variation: f64,
}

/// Requests that failed alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorOutcome {
    /// Operation.
    pub op: Op,
    /// `EIO`, `ENOSPC`, …, or `short` for a transfer that was cut.
    pub kind: String,
    /// The system's words for it.
    pub message: String,
    /// How many.
    pub count: u64,
    /// Index in the run's targets of the first.
    pub first_target: u32,
    /// Offset of the first, bytes.
    pub first_offset: u64,
    /// Length of the first, bytes.
    pub first_length: u32,
    /// Bytes that the first did move, where it was cut short.
    pub first_moved: u32,
}
