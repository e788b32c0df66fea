//! The parts of a result that a requirement can name, with their figures, and the verdicts on them.

use iostall_measure::percentile::SAMPLES_BEYOND_MIN;
use iostall_measure::{Histogram, Percentile};

use crate::requirement::{LatencyMetric, Limit, Metric, Requirement};
use crate::verdict::Verdict;

const NAMES_MAX: usize = 12;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PartName {
    #[default]
    Whole,
    OneOf(Vec<String>),
    /// By any of these words, joined with hyphens: `random-read-8K`.
    Words(Vec<String>),
}

/// One part of a result. A figure is `None` if this part has none of that kind.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub name: PartName,
    /// For messages; `None` is the whole.
    pub label: Option<String>,
    pub iops: Option<f64>,
    pub bytes_per_s: Option<f64>,
    pub latency_ns: Option<Histogram>,
    pub failed: Option<u64>,
    /// Stall per I/O as a database reports it, nanoseconds.
    pub stall_ns: Option<f64>,
    /// Whether it is passed over where it lacks the figure: a file without I/O waits for nothing.
    pub may_lack: bool,
}

impl Part {
    fn is_named(&self, subject: &str) -> bool {
        let has = |names: &[String], word: &str| names.iter().any(|name| name.eq_ignore_ascii_case(word));
        match &self.name {
            PartName::Whole => false,
            PartName::OneOf(names) => has(names, subject),
            PartName::Words(words) => subject.split('-').all(|word| has(words, word)),
        }
    }

    pub fn figure(&self, metric: Metric) -> Option<f64> {
        let latency = self.latency_ns.as_ref();
        match metric {
            Metric::Iops => self.iops,
            Metric::Throughput => self.bytes_per_s,
            Metric::Failed => self.failed.map(|count| count as f64),
            Metric::Stall => self.stall_ns,
            Metric::Latency(LatencyMetric::Min) => latency?.min().map(|ns| ns as f64),
            Metric::Latency(LatencyMetric::Mean) => latency?.mean(),
            Metric::Latency(LatencyMetric::Max) => latency?.max().map(|ns| ns as f64),
            Metric::Latency(LatencyMetric::Percentile(at)) => latency?.value_at(at).map(|ns| ns as f64),
            // A run says what the storage can do, not what is asked of it in production, and nothing of a drive's life.
            Metric::Headroom | Metric::Days | Metric::Used => None,
        }
    }

    /// The number of requests, if there are too few of them for the percentile that `metric` asks for.
    fn too_few(&self, metric: Metric) -> Option<(u64, Percentile)> {
        let Metric::Latency(LatencyMetric::Percentile(at)) = metric else { return None };
        let count = self.latency_ns.as_ref()?.count();
        (count > 0 && !at.is_supported_by(count)).then_some((count, at))
    }
}

/// The verdict on each limit of `requirements`, in their order. Of several parts with the same name, the worst decides.
pub fn verdicts(parts: &[Part], requirements: &[Requirement]) -> Vec<Verdict> {
    let one = |requirement: &Requirement| match requirement {
        Requirement::Limit(limit) => Some(verdict_on(parts, requirement, limit)),
        Requirement::NoRegression | Requirement::Steady => None,
    };
    requirements.iter().filter_map(one).collect()
}

fn verdict_on(parts: &[Part], requirement: &Requirement, limit: &Limit) -> Verdict {
    let mut verdict = Verdict {
        requirement: requirement.to_string(),
        met: false,
        subject: limit.subject.clone(),
        figure: None,
        unit: Some(limit.metric.unit()),
        reason: None,
    };
    let named = named(parts, limit.subject.as_deref());
    let has_figure = |part: &&Part| !part.may_lack || part.figure(limit.metric).is_some();
    let counting: Vec<&Part> = named.iter().copied().filter(has_figure).collect();
    let counting = if counting.is_empty() { named } else { counting };
    let worst = counting.into_iter().reduce(|left, right| {
        if limit.is_worse(right.figure(limit.metric), left.figure(limit.metric)) { right } else { left }
    });
    let Some(part) = worst else {
        verdict.reason = Some(format!("nothing of that name was measured; there is {}", names(parts)));
        return verdict;
    };
    verdict.subject.clone_from(&part.label);
    verdict.figure = part.figure(limit.metric);
    verdict.met = limit.is_met_by(verdict.figure);
    if verdict.figure.is_none() {
        verdict.reason = Some("it was not measured".to_owned());
    } else if let Some((count, at)) = part.too_few(limit.metric) {
        verdict.met = false;
        verdict.reason = Some(too_few(count, at));
    }
    verdict
}

/// The figure of too few requests is little more than their maximum, and the next run's may be far from it.
fn too_few(count: u64, at: Percentile) -> String {
    let needed = (SAMPLES_BEYOND_MIN / (1.0 - at.percent() / 100.0)).round();
    let plural = if count == 1 { "request is" } else { "requests are" };
    format!("{count} {plural} too few for a p{}, which needs {needed}: run longer", at.percent())
}

fn named<'a>(parts: &'a [Part], subject: Option<&str>) -> Vec<&'a Part> {
    let whole = || parts.iter().filter(|part| part.name == PartName::Whole);
    match subject {
        Some(subject) => parts.iter().filter(|part| part.is_named(subject)).collect(),
        None if whole().next().is_some() => whole().collect(),
        None => parts.iter().collect(),
    }
}

fn names(parts: &[Part]) -> String {
    let mut all: Vec<&str> = Vec::new();
    for part in parts {
        let (PartName::OneOf(names) | PartName::Words(names)) = &part.name else { continue };
        for name in names {
            if !all.contains(&name.as_str()) {
                all.push(name);
            }
        }
    }
    match all.len() {
        0 => "only the whole, without a name".to_owned(),
        1..=NAMES_MAX => all.join(", "),
        more => format!("{} and {} more", all[..NAMES_MAX].join(", "), more - NAMES_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, iops: f64, latencies_ms: &[u64]) -> Part {
        let mut latency_ns = Histogram::new();
        for ms in latencies_ms {
            latency_ns.record(ms * 1_000_000);
        }
        Part {
            name: PartName::OneOf(vec![name.to_owned()]),
            label: Some(name.to_owned()),
            iops: Some(iops),
            latency_ns: Some(latency_ns),
            failed: Some(0),
            ..Part::default()
        }
    }

    fn verdict(parts: &[Part], text: &str) -> Verdict {
        verdicts(parts, &[text.parse().unwrap()]).remove(0)
    }

    #[test]
    fn a_requirement_is_judged_by_the_part_that_it_names() {
        let parts = [part("data", 4000.0, &[2; 1000]), part("log", 900.0, &[3; 1000])];
        assert!(verdict(&parts, "data.iops>3000").met);
        let missed = verdict(&parts, "log.p99<1ms");
        assert_eq!((missed.met, missed.subject.as_deref()), (false, Some("log")));
        assert!(missed.figure.is_some_and(|ns| (3e6..3.1e6).contains(&ns)) && missed.reason.is_none());
    }

    /// With two spans or twenty cells the best one must not stand for the others.
    #[test]
    fn of_several_parts_the_worst_decides_and_a_figure_that_is_missing_is_the_worst() {
        let parts = [part("log", 900.0, &[1; 1000]), part("log", 700.0, &[9; 1000])];
        assert!(verdict(&parts, "log.iops>800").figure.is_some_and(|iops| (iops - 700.0).abs() < 1e-9));
        assert!(verdict(&parts, "max<5ms").figure.is_some_and(|ns| ns > 8e6));
        assert!(!verdict(&parts, "throughput>1MiB").met);
        let missing = [part("log", 900.0, &[1; 1000]), Part { iops: None, ..part("log", 0.0, &[1]) }];
        let missing = verdict(&missing, "log.iops>1");
        assert_eq!((missing.met, missing.reason.as_deref()), (false, Some("it was not measured")));
    }

    #[test]
    fn a_name_that_nothing_has_is_missed_and_the_names_there_are_are_listed() {
        let verdict = verdict(&[part("data", 1.0, &[1]), part("log", 1.0, &[1])], "lgo.p99<1ms");
        assert!(!verdict.met);
        let reason = verdict.reason.unwrap();
        assert!(reason.ends_with("there is data, log"), "{reason}");
    }

    #[test]
    fn a_cell_is_named_by_any_of_its_words() {
        let words = ["random", "read", "8K", "q32"].map(str::to_owned).to_vec();
        let cell = Part { name: PartName::Words(words), iops: Some(5.0), ..Part::default() };
        let parts = [cell];
        for (text, met) in [
            ("iops>1", true),
            ("read-8k.iops>1", true),
            ("q32-random.iops>1", true),
            ("write-8k.iops>1", false),
            ("read-8k-q1.iops>1", false),
        ] {
            assert_eq!(verdict(&parts, text).met, met, "{text}");
        }
    }

    /// Fifty fast requests met any p99.9.
    #[test]
    fn a_percentile_of_too_few_requests_is_not_met() {
        let few = verdict(&[part("log", 5.0, &[1; 50])], "log.p99<5ms");
        assert!(!few.met && few.figure.is_some());
        let reason = few.reason.unwrap();
        assert!(reason.starts_with("50 requests are too few for a p99, which needs 1000"), "{reason}");
        assert!(verdict(&[part("log", 5.0, &[1; 50])], "log.p50<5ms").met);
    }
}
