//! How a transfer gave way to a database.

use iostall_measure::Histogram;
use serde::{Deserialize, Serialize};

use crate::requirement::{LatencyMetric, Limit, Metric, Requirement};
use crate::verdict::Verdict;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GiveWay {
    pub source: String,
    pub kept: Vec<KeptFigure>,
    /// The rate that it fell to at the least, bytes a second.
    pub floor_bytes_per_s: u64,
    /// Time between two readings of the source, nanoseconds: longer than asked for if reading takes long.
    pub interval_ns: u64,
    pub readings: u64,
    pub failed_readings: u64,
    pub reading_ns_max: u64,
    pub reading_ns_sum: u64,
    /// Time under control, nanoseconds.
    pub governed_ns: u64,
    /// Of this, time at the floor, nanoseconds.
    pub floor_ns: u64,
    /// Of this, time without an answer from the source, nanoseconds.
    pub silent_ns: u64,
    /// Of the time at the floor, time in which the source was slower than required all the same, nanoseconds.
    pub missed_at_floor_ns: u64,
    pub decisions: Vec<Decision>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub decisions_left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptFigure {
    /// As typed.
    pub requirement: String,
    /// What users waited for an operation in each reading, as often as there were operations in it, nanoseconds.
    pub wait_ns: Histogram,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Since control began, nanoseconds.
    pub at_ns: u64,
    pub why: Why,
    /// What users waited for an operation, nanoseconds; absent if nothing is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<u64>,
    /// The rate from then on, bytes a second.
    pub bytes_per_s: u64,
    pub in_flight_max: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    Begin,
    Slower,
    /// The source could bear more.
    Faster,
    Idle,
    /// The source is slower than required although the transfer is at its floor.
    Missed,
    Silent,
    Answers,
}

impl Why {
    pub fn words(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Slower => "slower: users wait",
            Self::Faster => "faster: there is room",
            Self::Idle => "faster: nobody waits",
            Self::Missed => "at the floor, and users wait all the same",
            Self::Silent => "floor: no answer",
            Self::Answers => "answers again",
        }
    }
}

impl KeptFigure {
    /// The figure that `limit` is about; `None` if the source did nothing of that kind.
    pub fn figure(&self, limit: &Limit) -> Option<f64> {
        let wait_ns = &self.wait_ns;
        match limit.metric {
            Metric::Latency(LatencyMetric::Min) => wait_ns.min().map(|ns| ns as f64),
            Metric::Latency(LatencyMetric::Max) => wait_ns.max().map(|ns| ns as f64),
            Metric::Latency(LatencyMetric::Percentile(at)) => wait_ns.value_at(at).map(|ns| ns as f64),
            Metric::Latency(LatencyMetric::Mean)
            | Metric::Stall
            | Metric::Iops
            | Metric::Throughput
            | Metric::Failed
            | Metric::Headroom
            | Metric::Days
            | Metric::Used => wait_ns.mean(),
        }
    }
}

impl GiveWay {
    /// The verdict on `requirement`, if it is about the source. A source on which nothing happened was not
    /// held up, so its requirement is met.
    pub fn verdict(&self, requirement: &Requirement) -> Option<Verdict> {
        let Requirement::Limit(limit) = requirement else { return None };
        let text = requirement.to_string();
        let kept = self.kept.iter().find(|kept| kept.requirement == text)?;
        let figure = kept.figure(limit);
        Some(Verdict {
            requirement: text,
            met: figure.is_none() || limit.is_met_by(figure),
            subject: None,
            figure,
            unit: Some(limit.metric.unit()),
            reason: None,
        })
    }

    /// The share of the time that was spent reading the source, 0 to 1.
    pub fn reading_share(&self) -> Option<f64> {
        (self.governed_ns > 0).then(|| self.reading_ns_sum as f64 / self.governed_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gave_way(requirement: &str, waits_ms: &[u64]) -> GiveWay {
        let mut wait_ns = Histogram::new();
        for ms in waits_ms {
            wait_ns.record(ms * 1_000_000);
        }
        let kept = vec![KeptFigure { requirement: requirement.to_owned(), wait_ns }];
        GiveWay { kept, ..GiveWay::default() }
    }

    fn verdict(text: &str, waits_ms: &[u64]) -> Option<Verdict> {
        gave_way(text, waits_ms).verdict(&text.parse().unwrap())
    }

    /// A copy on a quiet Sunday ended with status 1, because there had been no commit to be fast.
    #[test]
    fn a_source_on_which_nothing_happened_was_not_held_up() {
        let quiet = verdict("commit.p95<5ms", &[]).unwrap();
        assert!(quiet.met && quiet.figure.is_none());
        assert!(verdict("commit.p95<5ms", &[1, 2, 3]).unwrap().met);
        assert!(!verdict("commit.mean<2ms", &[1, 2, 6]).unwrap().met);
        assert!(!verdict("commit.max<5ms", &[1, 2, 6]).unwrap().met);
    }

    #[test]
    fn a_requirement_on_the_transfer_itself_is_not_judged_by_the_source() {
        let asked = gave_way("commit.p95<5ms", &[1]);
        assert_eq!(asked.verdict(&"throughput>1MiB".parse().unwrap()), None);
        assert_eq!(asked.verdict(&"no-regression".parse().unwrap()), None);
    }
}
