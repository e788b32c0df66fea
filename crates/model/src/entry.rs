//! A run as a listing shows it, its id and its summary.

use std::fmt;
use std::str::FromStr;

use iostall_measure::{Op, Percentile};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::outcome::{OpOutcome, SpanOutcome};
use crate::point::Point;
use crate::profile::Profile;

/// The number a store gives a run, counted from 1 and never given twice. Written `#12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunNumber(pub u32);

impl fmt::Display for RunNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub number: RunNumber,
    pub id: RunId,
    pub kind: String,
    pub name: String,
    /// Time of the first request, UTC.
    pub started_utc: Timestamp,
    /// Time of the last completion, UTC.
    pub ended_utc: Timestamp,
    pub host: String,
    pub tool_version: String,
    pub interrupted: bool,
    pub warning_count: u32,
    /// The targets' paths in the run's order.
    pub targets: Vec<String>,
    pub summary: Summary,
}

/// The id of a run: globally unique, sorts by time (UUID version 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub Uuid);

impl RunId {
    pub fn new(at: Timestamp) -> Self {
        let seconds = u64::try_from(at.as_second()).unwrap_or(0);
        let nanos = u32::try_from(at.subsec_nanosecond()).unwrap_or(0);
        Self(Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos)))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RunId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        text.parse().map(Self)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Length of the measured parts of all spans, nanoseconds; `None` if nothing was measured.
    pub measured_ns: Option<u64>,
    /// Distinct block sizes of the roles as in the profile: `8K, 64K`.
    pub block_size: Option<String>,
    /// Reads and writes per second, all roles together, over `measured_ns`.
    pub iops: Option<f64>,
    /// MiB per second, all roles together, over `measured_ns`.
    pub mib_per_s: Option<f64>,
    /// 99th percentile of the latency of all reads and writes (response in an open loop, otherwise service),
    /// nanoseconds.
    pub latency_ns_p99: Option<u64>,
}

impl Summary {
    /// For moved data, which is counted in bytes and not in requests.
    pub fn of_moved(bytes: u64, elapsed_ns: u64) -> Self {
        let rate = (elapsed_ns > 0).then(|| bytes as f64 / 1_048_576.0 / (elapsed_ns as f64 / 1e9));
        Self { measured_ns: (elapsed_ns > 0).then_some(elapsed_ns), mib_per_s: rate, ..Self::default() }
    }

    /// For several settings, of which `best` is shown.
    pub fn of_points(points: &[Point], best: Option<&Point>) -> Self {
        let Some(best) = best else { return Self::default() };
        Self {
            measured_ns: Some(points.iter().map(Point::measured_ns).sum()),
            block_size: Some(best.block_size.to_string()),
            iops: best.iops(),
            mib_per_s: best.mib_per_s(),
            latency_ns_p99: best.latency_ns.value_at(Percentile::P99),
        }
    }

    pub fn of_spans(profile: &Profile, spans: &[SpanOutcome]) -> Self {
        let mut block_sizes: Vec<String> = Vec::new();
        for role in profile.spans.iter().flat_map(|span| &span.roles) {
            let text = role.block_size.to_string();
            if !block_sizes.contains(&text) {
                block_sizes.push(text);
            }
        }
        let measured_ns: u64 = spans.iter().map(|span| span.measured_ns).sum();
        let cells = spans.iter().flat_map(|span| &span.roles).flat_map(|role| &role.cells);
        let sum = OpOutcome::sum(cells.filter(|cell| cell.op != Op::Sync));
        Self {
            measured_ns: (measured_ns > 0).then_some(measured_ns),
            block_size: (!block_sizes.is_empty()).then(|| block_sizes.join(", ")),
            iops: sum.as_ref().and_then(|sum| sum.iops(measured_ns)),
            mib_per_s: sum.as_ref().and_then(|sum| sum.mebibytes_per_second(measured_ns)),
            latency_ns_p99: sum.as_ref().and_then(|sum| sum.latency_ns().value_at(Percentile::P99)),
        }
    }
}
