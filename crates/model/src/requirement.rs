//! Requirements: the grammar of `--require` for every command that measures.
//!
//! ```text
//! requirements = requirement *( "," requirement )
//! requirement  = "no-regression" | "steady" | [ subject "." ] metric bound value
//! metric       = "iops" | "throughput" | "min" | "mean" | "max" | "p" percent | "failed" | "stall" | "headroom" | "days"
//!                | "used"
//! bound        = "<" | "<=" | ">" | ">="
//! ```
//!
//! The subject is a role, a target or whatever else a run kind has several of; without one the requirement
//! applies to the whole. A latency and a stall have a unit (`1ms`), a throughput is bytes a second (`400MiB`,
//! `400MB/s`), the others are plain numbers.

use std::fmt;
use std::str::FromStr;

use iostall_measure::{Nanos, Percentile, Throughput};
use thiserror::Error;

use crate::verdict::FigureUnit;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LatencyMetric {
    Min,
    Mean,
    Max,
    /// This percentage of requests was no slower.
    Percentile(Percentile),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    Iops,
    Throughput,
    /// Latency, nanoseconds: response if requests had an intended start, otherwise service.
    Latency(LatencyMetric),
    Failed,
    /// Stall per I/O as a database reports it, nanoseconds.
    Stall,
    /// Measured capacity divided by observed load.
    Headroom,
    /// Of a drive's life that are left.
    Days,
    /// Of a drive's life, percent.
    Used,
}

impl Metric {
    pub fn unit(self) -> FigureUnit {
        match self {
            Self::Iops => FigureUnit::PerSecond,
            Self::Throughput => FigureUnit::BytesPerSecond,
            Self::Latency(_) | Self::Stall => FigureUnit::Nanoseconds,
            Self::Failed | Self::Headroom | Self::Days | Self::Used => FigureUnit::Count,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    Run,
    Comparison,
    Window,
    Drive,
}

impl Basis {
    fn has(self, metric: Metric) -> bool {
        match metric {
            Metric::Iops | Metric::Throughput => matches!(self, Self::Run | Self::Window),
            Metric::Latency(_) | Metric::Failed => self == Self::Run,
            Metric::Stall => self == Self::Window,
            Metric::Days | Metric::Used => self == Self::Drive,
            Metric::Headroom => false,
        }
    }

    fn has_instead(self) -> &'static str {
        match self {
            Self::Run => "a run has iops, throughput, latencies (p99, mean, max) and failed",
            Self::Comparison => "a comparison has no-regression",
            Self::Window => "a report on watched sources has iops, throughput and stall",
            Self::Drive => "a drive has days (that are left) and used (percent)",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    Below,
    AtMost,
    Above,
    AtLeast,
}

impl Bound {
    fn holds(self, figure: f64, value: f64) -> bool {
        match self {
            Self::Below => figure < value,
            Self::AtMost => figure <= value,
            Self::Above => figure > value,
            Self::AtLeast => figure >= value,
        }
    }

    const SIGNS: [(&str, Self); 4] =
        [("<=", Self::AtMost), (">=", Self::AtLeast), ("<", Self::Below), (">", Self::Above)];
}

#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// `None` means the whole.
    pub subject: Option<String>,
    pub metric: Metric,
    pub bound: Bound,
    /// In the metric's unit: requests a second, bytes a second, nanoseconds, or none.
    pub value: f64,
    /// As typed, for messages.
    text: String,
}

impl Limit {
    /// Whether `figure` is further on the wrong side than `other`; a missing number is furthest.
    pub fn is_worse(&self, figure: Option<f64>, other: Option<f64>) -> bool {
        match (figure, other, self.bound) {
            (_, None, _) => false,
            (None, Some(_), _) => true,
            (Some(figure), Some(other), Bound::Below | Bound::AtMost) => figure > other,
            (Some(figure), Some(other), Bound::Above | Bound::AtLeast) => figure < other,
        }
    }

    /// A missing number does not meet it.
    pub fn is_met_by(&self, figure: Option<f64>) -> bool {
        figure.is_some_and(|figure| self.bound.holds(figure, self.value))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Requirement {
    /// A comparison finds nothing significantly worse.
    NoRegression,
    Steady,
    Limit(Limit),
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text:?} is not a requirement: {why}")]
pub struct RequirementError {
    text: String,
    why: String,
}

impl RequirementError {
    fn new(text: &str, why: impl Into<String>) -> Self {
        Self { text: text.to_owned(), why: why.into() }
    }

    pub fn hint(&self) -> &'static str {
        "write such as 'log.p99<1ms,data.iops>3000,throughput>=400MiB'; metrics are iops, throughput, min, mean, max, \
         p50 to p99.999, failed, stall, headroom, days, used; no-regression and steady stand alone"
    }
}

impl Requirement {
    /// Parses one of a comma-separated list, for a command that judges by `basis`.
    pub fn parse_for(basis: Basis, text: &str) -> Result<Self, RequirementError> {
        let requirement: Self = text.parse()?;
        let has = match &requirement {
            Self::NoRegression => basis == Basis::Comparison,
            Self::Steady => basis == Basis::Run,
            Self::Limit(limit) => basis.has(limit.metric),
        };
        let refuse = || RequirementError {
            text: text.trim().to_owned(),
            why: format!("this command does not measure it; {}", basis.has_instead()),
        };
        if has { Ok(requirement) } else { Err(refuse()) }
    }
}

impl FromStr for Requirement {
    type Err = RequirementError;

    fn from_str(text: &str) -> Result<Self, RequirementError> {
        let text = text.trim();
        if text == "no-regression" {
            return Ok(Self::NoRegression);
        }
        if text == "steady" {
            return Ok(Self::Steady);
        }
        let found = Bound::SIGNS.iter().find_map(|(sign, bound)| Some((text.split_once(sign)?, *bound)));
        let Some(((left, value), bound)) = found else {
            return Err(RequirementError::new(text, "it has no <, <=, > or >="));
        };
        let (subject, metric) = named(left.trim())
            .ok_or_else(|| RequirementError::new(text, format!("{:?} is no metric", left.trim())))?;
        let value = value_of(metric, value.trim()).map_err(|why| RequirementError::new(text, why))?;
        Ok(Self::Limit(Limit { subject, metric, bound, value, text: text.to_owned() }))
    }
}

/// `p99.9` is a metric; `log.p99.9` is one of the subject `log`. A subject may contain dots itself, like a
/// file name.
fn named(text: &str) -> Option<(Option<String>, Metric)> {
    if let Some(metric) = metric(text) {
        return Some((None, metric));
    }
    text.match_indices('.').filter(|(dot, _)| *dot > 0).find_map(|(dot, _)| {
        let metric = metric(&text[dot + 1..])?;
        Some((Some(text[..dot].to_owned()), metric))
    })
}

fn metric(text: &str) -> Option<Metric> {
    Some(match text {
        "iops" => Metric::Iops,
        "throughput" => Metric::Throughput,
        "min" => Metric::Latency(LatencyMetric::Min),
        "mean" | "avg" => Metric::Latency(LatencyMetric::Mean),
        "max" => Metric::Latency(LatencyMetric::Max),
        "failed" => Metric::Failed,
        "stall" => Metric::Stall,
        "headroom" => Metric::Headroom,
        "days" => Metric::Days,
        "used" => Metric::Used,
        other => {
            let percent =
                other.strip_prefix('p').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))?;
            Metric::Latency(LatencyMetric::Percentile(Percentile::new(percent.parse().ok()?)?))
        }
    })
}

fn value_of(metric: Metric, text: &str) -> Result<f64, String> {
    match metric {
        Metric::Latency(_) | Metric::Stall => {
            // A bare number would be seconds to one reader and milliseconds to the next.
            if text.ends_with(|c: char| c.is_ascii_digit()) {
                return Err(format!("{text:?} has no unit: write {text}ms or {text}us"));
            }
            text.parse::<Nanos>().map(|length| length.nanos() as f64).map_err(|error| error.to_string())
        }
        Metric::Throughput => {
            text.parse().map(Throughput::bytes_per_second).map_err(|error| error.to_string())
        }
        Metric::Iops | Metric::Failed | Metric::Headroom | Metric::Days | Metric::Used => {
            match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(number),
                _ => Err(format!("{text:?} is no number")),
            }
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRegression => f.write_str("no-regression"),
            Self::Steady => f.write_str("steady"),
            Self::Limit(limit) => limit.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(text: &str) -> Limit {
        match text.parse().unwrap() {
            Requirement::Limit(limit) => limit,
            Requirement::NoRegression | Requirement::Steady => panic!("no limit"),
        }
    }

    #[test]
    fn a_list_is_read_with_subjects_metrics_bounds_and_units() {
        assert_eq!(" no-regression".parse(), Ok(Requirement::NoRegression));
        assert_eq!("steady".parse(), Ok(Requirement::Steady));
        assert_eq!(limit("stall<=20ms").metric, Metric::Stall);
        let log = limit("log.p99<1ms");
        assert_eq!((log.subject.as_deref(), log.bound, log.value), (Some("log"), Bound::Below, 1e6));
        assert_eq!(log.metric, Metric::Latency(LatencyMetric::Percentile(Percentile::P99)));
        assert_eq!(limit("headroom>=1.5").value.to_bits(), 1.5_f64.to_bits());
        assert_eq!(limit("throughput>=1MiB").value.to_bits(), 1_048_576.0_f64.to_bits());
        assert_eq!(limit("throughput>1MB/s").value.to_bits(), 1e6_f64.to_bits());
    }

    #[test]
    fn a_dot_belongs_to_the_percentile_before_it_parts_a_subject() {
        assert_eq!(limit("p99.9<1ms").subject, None);
        let file = limit("data.dat.p99.9<1ms");
        assert_eq!(file.subject.as_deref(), Some("data.dat"));
        assert_eq!(file.metric, Metric::Latency(LatencyMetric::Percentile(Percentile::P99_9)));
    }

    #[test]
    fn bounds_hold_on_their_side_and_a_number_that_is_not_there_never_does() {
        for (text, below, at, above) in [
            ("iops<10", true, false, false),
            ("iops<=10", true, true, false),
            ("iops>10", false, false, true),
            ("iops>=10", false, true, true),
        ] {
            let limit = limit(text);
            assert_eq!(
                [9.0, 10.0, 11.0].map(|figure| limit.is_met_by(Some(figure))),
                [below, at, above],
                "{text}"
            );
            assert!(!limit.is_met_by(None) && !limit.is_met_by(Some(f64::NAN)));
        }
    }

    #[test]
    fn what_is_no_requirement_is_refused_with_its_reason() {
        for (text, why) in [
            ("", "no <"),
            ("iops", "no <"),
            ("speed>3", "no metric"),
            (".iops>3", "no metric"),
            ("p<1ms", "no metric"),
            ("p101<1ms", "no metric"),
            ("p99<1", "no unit"),
            ("iops>many", "no number"),
            ("iops>inf", "no number"),
            ("throughput>fast", "fast"),
        ] {
            let error = text.parse::<Requirement>().unwrap_err();
            assert!(error.to_string().contains(why), "{text}: {error}");
        }
    }

    /// A requirement that a command can never judge is refused before it measures for an hour.
    #[test]
    fn a_command_refuses_what_it_does_not_measure_and_says_what_it_does() {
        for (basis, good, bad) in [
            (Basis::Run, "log.p99<1ms", "no-regression"),
            (Basis::Run, "failed<=0", "headroom>=2"),
            (Basis::Comparison, "no-regression", "iops>3"),
            (Basis::Window, "sales.stall<20ms", "p99<1ms"),
            (Basis::Drive, "days>90", "iops>1"),
            (Basis::Drive, "used<80", "steady"),
        ] {
            assert!(Requirement::parse_for(basis, good).is_ok(), "{good}");
            let refused = Requirement::parse_for(basis, bad).unwrap_err().to_string();
            assert!(refused.contains("does not measure it; a "), "{refused}");
        }
    }

    #[test]
    fn the_worse_of_two_figures_is_on_the_wrong_side_of_the_bound() {
        let (most, least) = (limit("iops<10"), limit("iops>10"));
        assert!(most.is_worse(Some(9.0), Some(3.0)) && least.is_worse(Some(3.0), Some(9.0)));
        assert!(most.is_worse(None, Some(3.0)) && !most.is_worse(Some(3.0), None));
    }

    #[test]
    fn a_requirement_is_shown_as_typed() {
        assert_eq!("log.p99<1ms".parse::<Requirement>().unwrap().to_string(), "log.p99<1ms");
    }
}
