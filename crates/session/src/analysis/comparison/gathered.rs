//! What runs gave, by subject and metric.

use std::collections::BTreeMap;

use iostall_measure::{Histogram, Percentile, named};
use iostall_model::{IntervalFigures, Measured, Run};
use serde::Serialize;

#[derive(Default)]
pub(super) struct Gathered {
    count: u64,
    bytes: u64,
    measured_ns: u64,
    latency_ns: Histogram,
    pub(super) runs: BTreeMap<Metric, Vec<f64>>,
    /// By metric: for each run one value a second, or an interval of a point.
    pub(super) seconds: BTreeMap<Metric, Vec<Vec<f64>>>,
}

impl Gathered {
    fn add(&mut self, one: &Measured) {
        for metric in Metric::ALL {
            if let Some(value) = value_of(metric, one.count, one.bytes, one.measured_ns, &one.latency_ns) {
                self.runs.entry(metric).or_default().push(value);
            }
            let seconds = one.intervals.iter().filter_map(|interval| interval_value(metric, interval));
            self.seconds.entry(metric).or_default().push(seconds.collect());
        }
        self.count += one.count;
        self.bytes += one.bytes;
        self.measured_ns += one.measured_ns;
        self.latency_ns.merge(&one.latency_ns);
    }

    pub(super) fn value(&self, metric: Metric) -> Option<f64> {
        value_of(metric, self.count, self.bytes, self.measured_ns, &self.latency_ns)
    }
}

fn interval_value(metric: Metric, interval: &IntervalFigures) -> Option<f64> {
    match metric {
        Metric::Iops => interval.iops,
        Metric::MibPerS => interval.mib_per_s,
        Metric::LatencyNsMean => interval.latency_ns_mean,
        Metric::LatencyNsP50 => interval.latency_ns_p50,
        Metric::LatencyNsP99 => interval.latency_ns_p99,
    }
}

#[derive(Default)]
pub(super) struct Subjects(pub(super) Vec<(String, Gathered)>);

impl Subjects {
    fn of(&mut self, subject: &str) -> &mut Gathered {
        let place = self.0.iter().position(|(name, _)| name == subject).unwrap_or_else(|| {
            self.0.push((subject.to_owned(), Gathered::default()));
            self.0.len() - 1
        });
        &mut self.0[place].1
    }

    pub(super) fn get(&self, subject: &str) -> Option<&Gathered> {
        self.0.iter().find(|(name, _)| name == subject).map(|(_, gathered)| gathered)
    }
}

pub(super) fn gather(runs: &[&Run]) -> Subjects {
    let mut all = Subjects::default();
    for one in runs.iter().flat_map(|run| run.body.outcome().measured()) {
        all.of(&one.name).add(&one);
    }
    all
}

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
