//! Results of a load, worker by worker.
//!
//! The basis is the [`Cell`]: one worker, one target, one operation. Roles, operations and totals are sums
//! over cells; nothing here is an average of averages.

use iostall_measure::platform::{CpuTicks, DeviceCounters, ProcessCpu};
use iostall_measure::{Histogram, Op, Percentile, Unavailable};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpanOutcome {
    /// Actual length of the measured part, nanoseconds. Rates divide by this.
    pub measured_ns: u64,
    /// Stopped before the end of its measured part.
    pub interrupted: bool,
    /// How much of each of the run's targets the span used, from its start, bytes. Empty in older runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_bytes: Vec<u64>,
    /// One per role, in the profile's order.
    pub roles: Vec<RoleOutcome>,
    pub cpus: Vec<CpuTicks>,
    /// User CPU time of this process over the measured part, nanoseconds.
    pub process_user_ns: u64,
    pub process_system_ns: u64,
    /// The processes that used the most CPU time during the span, our own included, the busiest first. Only if the processors were
    /// busy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub busiest: Vec<ProcessCpu>,
    /// Block layer counters of the targets' devices over the measured part.
    pub devices: Vec<DeviceCounters>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoleOutcome {
    pub name: String,
    pub engine: EngineUse,
    /// Results per worker, target and operation, from which all other numbers are computed.
    pub cells: Vec<Cell>,
    pub series: Vec<IntervalPoint>,
    /// Commit times: from the write's start (intended start in an open loop) to the end of the sync call that
    /// covers it. Only if the role syncs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Histogram>,
    /// Requested number of requests in flight: queue depth × workers × targets.
    pub depth_asked: u64,
    pub depth_mean: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoop>,
    /// User CPU time of the role's workers over the measured part, nanoseconds.
    pub cpu_user_ns: u64,
    pub cpu_system_ns: u64,
    /// Requests in flight at the end of the measured part.
    pub unfinished: u64,
    /// Age of the oldest of these, nanoseconds.
    pub unfinished_age_ns_max: u64,
    /// Failed and short requests, counted by kind; the first of each kind is described.
    pub errors: Vec<ErrorOutcome>,
    /// System calls made to submit and wait, for the batch size; 0 for an engine without any.
    pub submit_calls: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineUse {
    /// `io_uring`, `psync`, `null` or `sim`.
    pub name: String,
    /// Features it got: ring flags, registered files and buffers, huge pages.
    pub features: Vec<String>,
    /// Features it requested and did not get, with the cause.
    pub refused: Vec<Unavailable>,
}

/// One worker × target × operation over the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Index of the worker in the span.
    pub worker: u32,
    /// Index in the run's targets.
    pub target: u32,
    pub op: Op,
    /// Bytes moved by completed requests; 0 for sync.
    pub bytes: u64,
    pub failed: u64,
    /// Submit to completion, nanoseconds. Its count is the number of completed requests.
    pub service_ns: Histogram,
    /// Intended start to completion, nanoseconds. Open loop only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_ns: Option<Histogram>,
    /// By interval, if the span keeps worker series.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<CellInterval>,
}

/// One interval of a cell. Latencies are response times in an open loop, otherwise service times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellInterval {
    pub count: u64,
    pub latency_ns_sum: f64,
    pub latency_ns_sum_of_squares: f64,
    /// `None` without requests.
    pub latency_ns_min: Option<u64>,
    /// `None` without requests.
    pub latency_ns_max: Option<u64>,
}

impl CellInterval {
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

/// A sum of cells: one operation of a role, or of a whole span.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpOutcome {
    pub bytes: u64,
    pub failed: u64,
    /// Submit to completion, nanoseconds.
    pub service_ns: Histogram,
    /// Intended start to completion, nanoseconds; only if every cell has it.
    pub response_ns: Option<Histogram>,
}

impl OpOutcome {
    /// The sum of `cells`; `None` if there are none, or none did anything.
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

    pub fn count(&self) -> u64 {
        self.service_ns.count()
    }

    pub fn iops(&self, measured_ns: u64) -> Option<f64> {
        (measured_ns > 0).then(|| self.count() as f64 / (measured_ns as f64 / 1e9))
    }

    pub fn mebibytes_per_second(&self, measured_ns: u64) -> Option<f64> {
        (measured_ns > 0).then(|| self.bytes as f64 / 1_048_576.0 / (measured_ns as f64 / 1e9))
    }

    /// What a user waits for: response in an open loop, otherwise service.
    pub fn latency_ns(&self) -> &Histogram {
        self.response_ns.as_ref().unwrap_or(&self.service_ns)
    }
}

impl RoleOutcome {
    /// The sum of the role's `op` over workers and targets; `None` if there was none.
    pub fn op(&self, op: Op) -> Option<OpOutcome> {
        OpOutcome::sum(self.cells.iter().filter(|cell| cell.op == op))
    }

    /// Reads and writes together (a sync moves no data and is not counted as I/O); `None` if there were none.
    pub fn reads_and_writes(&self) -> Option<OpOutcome> {
        OpOutcome::sum(self.cells.iter().filter(|cell| cell.op != Op::Sync))
    }
}

/// One interval (a second, except the last) of a role's series. Only requests completed in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalPoint {
    /// From the start of the measured part, nanoseconds.
    pub start_ns: u64,
    pub length_ns: u64,
    /// One per operation that completed anything in it.
    pub ops: Vec<IntervalOp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalOp {
    pub op: Op,
    pub count: u64,
    pub bytes: u64,
    /// Latency (response in an open loop, otherwise service), nanoseconds.
    pub latency_ns_mean: f64,
    pub latency_ns_p50: u64,
    pub latency_ns_p99: u64,
    pub latency_ns_max: u64,
}

impl IntervalOp {
    /// From an interval's histogram; `None` if it is empty.
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

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// Requested arrivals per second.
    pub rate_asked_iops: f64,
    /// Arrivals due in the measured part.
    pub arrivals: u64,
    /// Of these, how many were submitted more than a millisecond late.
    pub late_starts: u64,
    pub lateness_ns_max: u64,
    /// Most arrivals due and not yet submitted at one time: the sum of the workers' maxima.
    pub backlog_max: u64,
    /// Arrivals due and not submitted at the end of the measured part.
    pub backlog_at_end: u64,
    /// Coefficient of variation of the planned gaps between arrivals: 0 for constant, 1 for Poisson.
    pub gap_coefficient_of_variation: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorOutcome {
    pub op: Op,
    pub kind: String,
    pub message: String,
    pub count: u64,
    /// Target of the first failure, as an index in the run's targets.
    pub first_target: u32,
    pub first_offset: u64,
    pub first_length: u32,
    /// Bytes that the first moved, if it was short.
    pub first_moved: u32,
}
