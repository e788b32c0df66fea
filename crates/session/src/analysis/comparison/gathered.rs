//! Collects the numbers of one side by subject.

use std::collections::BTreeMap;

use iostall_measure::Histogram;
use iostall_model::{IntervalFigures, Measured, Run};

use super::metric::{Metric, value_of};

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
