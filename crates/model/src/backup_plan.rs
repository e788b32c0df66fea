//! How much room and time backups will take: the rules of retention applied to the backups of the coming months.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use thiserror::Error;

use crate::retention::{Kept, Proof, Rules, reasons};

/// Backups that are counted one by one. Hourly ones of eleven years are fewer.
const BACKUPS_MAX: u64 = 100_000;
const YEAR_S: f64 = 365.25 * 86_400.0;
const DAY_S: u64 = 86_400;

/// Days after which the answer is given, as far as it was asked for.
const MILESTONES_DAYS: [u64; 9] = [7, 30, 90, 180, 365, 730, 1_095, 1_825, 3_650];

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlanInput {
    pub size_bytes: u64,
    /// Bytes of the source for each that is stored.
    pub ratio: f64,
    /// Growth of the source in a year, as a share of its size: 0.2 is 20 %. Negative if it shrinks.
    pub growth_per_year: f64,
    pub every_s: u64,
    pub rules: Rules,
    /// Bytes of the source that a backup reads in a second; `None` if nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_bytes_per_s: Option<f64>,
    /// Bytes that a restore writes in a second; `None` if nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restore_bytes_per_s: Option<f64>,
    pub days: u64,
    /// Room there is, bytes; `None` if it was not asked whether it fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Error)]
pub enum PlanError {
    #[error(
        "a plan over {days} days with a backup every {every_s} seconds has more than {BACKUPS_MAX} backups"
    )]
    TooMany { days: u64, every_s: u64 },
    #[error("a size, a ratio and a time between backups of zero give no plan")]
    Nothing,
    #[error("{0} days from now is beyond the calendar")]
    TooFar(u64),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BackupPlan {
    pub input: PlanInput,
    /// From the first backup to the last one that was asked for.
    pub stages: Vec<Stage>,
    /// When the room is too small for the first time; `None` if it suffices, or was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_utc: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stage {
    pub after_days: u64,
    pub size_bytes: u64,
    pub backup_bytes: u64,
    pub kept: u64,
    pub kept_bytes: u64,
    /// Room that is needed, bytes: an old backup goes only when the new one is whole.
    pub needed_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restore_s: Option<f64>,
}

impl PlanInput {
    fn size_after(&self, seconds: f64) -> f64 {
        self.size_bytes as f64 * (1.0 + self.growth_per_year).max(0.0).powf(seconds / YEAR_S)
    }

    fn stored_after(&self, seconds: f64) -> f64 {
        self.size_after(seconds) / self.ratio
    }
}

/// The plan for backups that begin at `start`, on the calendar of `zone`.
pub fn plan(input: PlanInput, start: Timestamp, zone: &TimeZone) -> Result<BackupPlan, PlanError> {
    let is_something = input.size_bytes > 0 && input.ratio > 0.0 && input.every_s > 0;
    if !is_something || !input.ratio.is_finite() || !input.growth_per_year.is_finite() {
        return Err(PlanError::Nothing);
    }
    if input.days.saturating_mul(DAY_S) / input.every_s > BACKUPS_MAX {
        return Err(PlanError::TooMany { days: input.days, every_s: input.every_s });
    }
    let last = input.days.max(1);
    let milestones = MILESTONES_DAYS.into_iter().filter(|days| *days < last);
    let stages: Result<Vec<Stage>, PlanError> = [0]
        .into_iter()
        .chain(milestones)
        .chain([last])
        .map(|days| stage(&input, start, zone, days))
        .collect();
    let stages = stages?;
    let full_utc = match input.space_bytes {
        Some(space) => first_full(&input, start, zone, (&stages, space))?,
        None => None,
    };
    Ok(BackupPlan { input, stages, full_utc })
}

/// The first day on which the room is too small. Room that is needed grows from one backup to the next except where a month or
/// a year ends, so the days between two stages are looked through one by one.
fn first_full(
    input: &PlanInput,
    start: Timestamp,
    zone: &TimeZone,
    (stages, space): (&[Stage], u64),
) -> Result<Option<Timestamp>, PlanError> {
    let Some(at) = stages.iter().position(|stage| stage.needed_bytes > space) else { return Ok(None) };
    let from = at.checked_sub(1).and_then(|before| stages.get(before)).map_or(0, |stage| stage.after_days);
    let (mut fits, mut full) = (from, stages[at].after_days);
    while full > fits + 1 {
        let middle = fits.midpoint(full);
        if stage(input, start, zone, middle)?.needed_bytes > space { full = middle } else { fits = middle }
    }
    let day = if at == 0 { 0 } else { full };
    time_after(start, day * DAY_S).ok_or(PlanError::TooFar(day)).map(Some)
}

fn time_after(start: Timestamp, seconds: u64) -> Option<Timestamp> {
    start.checked_add(SignedDuration::from_secs(i64::try_from(seconds).ok()?)).ok()
}

fn stage(input: &PlanInput, start: Timestamp, zone: &TimeZone, days: u64) -> Result<Stage, PlanError> {
    let end_s = days * DAY_S;
    let mut sets = Vec::new();
    let mut stored = Vec::new();
    for number in 0..=end_s / input.every_s {
        let at_s = number * input.every_s;
        let at = time_after(start, at_s).ok_or(PlanError::TooFar(days))?;
        // Numbers of equal length sort like the backups.
        let id = format!("{number:012}");
        sets.push(Kept { id, source: String::new(), at, base: None, proof: Proof::Unproven });
        stored.push(input.stored_after(at_s as f64));
    }
    let now = sets.last().map_or(start, |set| set.at);
    let kept: Vec<f64> = reasons(&sets, &input.rules, now, zone)
        .iter()
        .zip(&stored)
        .filter(|(reasons, _)| !reasons.is_empty())
        .map(|(_, bytes)| *bytes)
        .collect();
    let seconds = end_s as f64;
    let (size, backup) = (input.size_after(seconds), input.stored_after(seconds));
    let kept_bytes: f64 = kept.iter().sum();
    Ok(Stage {
        after_days: days,
        size_bytes: whole(size),
        backup_bytes: whole(backup),
        kept: kept.len() as u64,
        kept_bytes: whole(kept_bytes),
        needed_bytes: whole(if days == 0 { kept_bytes } else { kept_bytes + backup }),
        backup_s: input.backup_bytes_per_s.filter(|rate| *rate > 0.0).map(|rate| size / rate),
        restore_s: input.restore_bytes_per_s.filter(|rate| *rate > 0.0).map(|rate| size / rate),
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive number of bytes; a conversion of what is too large gives the largest"
)]
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIB: u64 = 1 << 40;

    fn input() -> PlanInput {
        PlanInput {
            size_bytes: 5 * TIB,
            ratio: 5.0,
            growth_per_year: 0.0,
            every_s: DAY_S,
            rules: Rules { daily: 7, weekly: 4, ..Rules::default() },
            backup_bytes_per_s: Some(618.0 * 1_048_576.0),
            restore_bytes_per_s: None,
            days: 365,
            space_bytes: None,
        }
    }

    fn planned(input: PlanInput) -> BackupPlan {
        plan(input, "2026-01-01T02:00:00Z".parse().unwrap(), &TimeZone::UTC).unwrap()
    }

    /// The story: 5 TB at 5 : 1 were planned for four boards of 320 GB. One backup fits, the second does not, and the first may
    /// go only when the second is whole.
    #[test]
    fn the_next_backup_needs_room_beside_all_that_are_kept() {
        let space_bytes = Some(4 * 320_000_000_000);
        let plan =
            planned(PlanInput { space_bytes, rules: Rules { last: 1, ..Rules::default() }, ..input() });
        assert_eq!((plan.stages[0].kept, plan.stages[0].needed_bytes), (1, TIB));
        assert_eq!((plan.stages[1].kept, plan.stages[1].needed_bytes), (1, 2 * TIB));
        assert_eq!(plan.full_utc, Some("2026-01-02T02:00:00Z".parse().unwrap()));
    }

    #[test]
    fn what_the_rules_keep_is_counted_on_the_calendar_and_times_are_those_of_the_source() {
        let plan = planned(input());
        let at = |days| plan.stages.iter().find(|stage| stage.after_days == days).unwrap();
        // Seven days, and the Sundays of the two weeks before these.
        assert_eq!((at(365).kept, at(365).kept_bytes), (9, 9 * TIB));
        assert_eq!((at(7).kept, at(0).kept), (7, 1));
        assert!((at(365).backup_s.unwrap() - 5.0 * 1_048_576.0 / 618.0).abs() < 1.0);
        assert_eq!(at(365).restore_s, None);
        assert_eq!(plan.full_utc, None);
    }

    #[test]
    fn growth_is_of_a_year_and_the_day_on_which_the_room_ends_is_named() {
        let rules = Rules { last: 2, ..Rules::default() };
        let grows = PlanInput { growth_per_year: 1.0, rules, ..input() };
        let plan = planned(PlanInput { space_bytes: Some(4 * TIB), ..grows });
        let last = plan.stages.last().unwrap();
        assert!((last.size_bytes as f64 / TIB as f64 - 10.0).abs() < 0.01, "{last:?}");
        // Three backups of 4/3 TiB each: 2^x = 4/3 after 0.415 years.
        let full = plan.full_utc.unwrap().to_string();
        assert!(full.starts_with("2026-06-0"), "{full}");
        assert_eq!(planned(PlanInput { space_bytes: Some(100 * TIB), ..grows }).full_utc, None);
    }

    #[test]
    fn what_cannot_be_planned_is_an_error() {
        let start = "2026-01-01T02:00:00Z".parse().unwrap();
        let error = |input| plan(input, start, &TimeZone::UTC).unwrap_err();
        assert!(matches!(error(PlanInput { every_s: 1, ..input() }), PlanError::TooMany { .. }));
        assert_eq!(error(PlanInput { ratio: 0.0, ..input() }), PlanError::Nothing);
        assert_eq!(error(PlanInput { growth_per_year: f64::NAN, ..input() }), PlanError::Nothing);
        let far = PlanInput { days: 4_000_000, every_s: 40 * DAY_S, ..input() };
        assert_eq!(error(far), PlanError::TooFar(4_000_000));
    }
}
