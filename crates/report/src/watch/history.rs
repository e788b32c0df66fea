//! What belongs to a window beside its numbers: gaps, warnings, and how far back raw samples reach.

use iostall_model::Warning;
use jiff::Timestamp;
use serde::Serialize;

use crate::facts::moment;
use crate::format::shown;

/// Beats without a sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The first of them.
    pub at: Timestamp,
    /// The beginning of the last stretch of them; `at` where there is one stretch.
    pub until: Timestamp,
    /// How many.
    pub beats: u64,
    /// Why.
    pub reason: String,
}

impl Gap {
    /// One sentence.
    pub fn sentence(&self) -> String {
        let reason = shown(&self.reason);
        if self.until == self.at {
            let beats = if self.beats == 1 { "1 beat".to_owned() } else { format!("{} beats", self.beats) };
            return format!("no sample at {} ({beats}): {reason}", moment(self.at));
        }
        let (at, until) = (moment(self.at), moment(self.until));
        format!("no sample at {} beats from {at} to {until}: {reason}", self.beats)
    }
}

/// One source in one window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SourceHistory {
    /// Its name.
    pub name: String,
    /// Up to here the numbers come day by day, because neither hours nor raw samples are kept any more.
    pub days_until: Option<Timestamp>,
    /// Up to here, from there on, they come hour by hour, because raw samples are no longer kept.
    pub hours_until: Option<Timestamp>,
    /// Beats without a sample, in order.
    pub gaps: Vec<Gap>,
    /// What the source could not tell.
    pub warnings: Vec<Warning>,
}

impl SourceHistory {
    /// The gaps with neighbours of one reason joined: a server that is down for an hour is one sentence.
    pub fn gaps_joined(&self) -> Vec<Gap> {
        let mut joined: Vec<Gap> = Vec::new();
        for gap in &self.gaps {
            match joined.last_mut().filter(|last| last.reason == gap.reason) {
                Some(last) => {
                    last.until = gap.until;
                    last.beats = last.beats.saturating_add(gap.beats);
                }
                None => joined.push(gap.clone()),
            }
        }
        joined
    }

    /// Everything there is to say, a sentence each.
    pub fn sentences(&self) -> Vec<String> {
        let days = self
            .days_until
            .map(|until| format!("day by day up to {}: maxima are those of whole days", moment(until)));
        let hours = self
            .hours_until
            .map(|until| format!("hour by hour up to {}: maxima are those of whole hours", moment(until)));
        let gaps = self.gaps_joined().into_iter().map(|gap| gap.sentence());
        let warnings = self.warnings.iter().map(|warning| shown(&warning.message));
        days.into_iter().chain(hours).chain(gaps).chain(warnings).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_without_an_answer_is_one_sentence() {
        let gap = |second: i64, reason: &str| {
            let at = Timestamp::from_second(second).unwrap();
            Gap { at, until: at, beats: 1, reason: reason.into() }
        };
        let gaps = vec![gap(0, "refused"), gap(10, "refused"), gap(20, "refused"), gap(30, "timed out")];
        let history = SourceHistory { name: "db".into(), gaps, ..SourceHistory::default() };
        assert_eq!(
            history.sentences(),
            [
                "no sample at 3 beats from 1970-01-01 00:00:00 UTC to 1970-01-01 00:00:20 UTC: refused",
                "no sample at 1970-01-01 00:00:30 UTC (1 beat): timed out",
            ]
        );
    }
}
