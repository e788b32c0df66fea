//! What is compared.

use iostall_measure::{Histogram, Percentile, named};
use serde::Serialize;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Metric {
        Iops = "IOPS",
        MibPerS = "MiB/s",
        LatencyNsMean = "mean latency",
        LatencyNsP50 = "p50 latency",
        /// 99th percentile of latency, nanoseconds.
        LatencyNsP99 = "p99 latency",
    }
}

impl Metric {
    pub fn is_rate(self) -> bool {
        matches!(self, Self::Iops | Self::MibPerS)
    }
}

/// Its value over everything measured; `None` if nothing was.
pub(super) fn value_of(
    metric: Metric,
    count: u64,
    bytes: u64,
    measured_ns: u64,
    latency_ns: &Histogram,
) -> Option<f64> {
    let per_second = |amount: f64| (measured_ns > 0).then(|| amount / (measured_ns as f64 / 1e9));
    match metric {
        Metric::Iops => per_second(count as f64),
        Metric::MibPerS => per_second(bytes as f64 / 1_048_576.0),
        Metric::LatencyNsMean => latency_ns.mean(),
        Metric::LatencyNsP50 => latency_ns.value_at(Percentile::P50).map(|ns| ns as f64),
        Metric::LatencyNsP99 => latency_ns.value_at(Percentile::P99).map(|ns| ns as f64),
    }
}
