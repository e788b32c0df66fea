//! How much room and time backups will take: the rules of retention applied to the backups of the coming months.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use thiserror::Error;

use crate::retention::{Rotation, Rules};

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
    /// The most room that is needed until then, bytes: an old backup goes only when the new one is whole, and rules of several
    /// periods together keep more on some days than on others.
    pub needed_bytes: u64,
    /// How many backups are kept when it is needed, without the next one.
    pub needed_kept: u64,
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
    let ends: Vec<u64> = [0].into_iter().chain(milestones).chain([last]).collect();
    let mut walk = Walk::new(&input, zone);
    let mut stages = Vec::new();
    for number in 0..=last.saturating_mul(DAY_S) / input.every_s {
        let at_s = number * input.every_s;
        let at = time_after(start, at_s).ok_or(PlanError::TooFar(last))?;
        walk.add(at, at_s);
        let is_last_of = |days: &u64| days * DAY_S / input.every_s == number;
        stages.extend(ends.iter().copied().filter(is_last_of).map(|days| walk.stage(days)));
    }
    time_after(start, last.saturating_mul(DAY_S)).ok_or(PlanError::TooFar(last))?;
    Ok(BackupPlan { stages, full_utc: walk.full_utc, input })
}

/// All backups, one after another. What is needed goes up and down with the calendar, so no day may be left out.
struct Walk<'a> {
    input: &'a PlanInput,
    rotation: Rotation<'a>,
    /// Bytes of each backup so far.
    stored: Vec<u64>,
    kept_bytes: u64,
    needed_bytes: u64,
    needed_kept: u64,
    full_utc: Option<Timestamp>,
}

impl<'a> Walk<'a> {
    fn new(input: &'a PlanInput, zone: &'a TimeZone) -> Self {
        let (rotation, stored) = (Rotation::new(input.rules, zone), Vec::new());
        Self { input, rotation, stored, kept_bytes: 0, needed_bytes: 0, needed_kept: 0, full_utc: None }
    }

    fn add(&mut self, at: Timestamp, at_s: u64) {
        let bytes = whole(self.input.stored_after(at_s as f64));
        let is_first = self.stored.is_empty();
        self.stored.push(bytes);
        let freed: u64 = self.rotation.add(at).into_iter().map(|number| self.stored[number]).sum();
        self.kept_bytes = self.kept_bytes.saturating_add(bytes).saturating_sub(freed);
        let needed = if is_first { self.kept_bytes } else { self.kept_bytes.saturating_add(bytes) };
        if needed > self.needed_bytes {
            (self.needed_bytes, self.needed_kept) = (needed, self.rotation.kept() as u64);
        }
        if self.full_utc.is_none() && self.input.space_bytes.is_some_and(|space| needed > space) {
            self.full_utc = Some(at);
        }
    }

    fn stage(&self, days: u64) -> Stage {
        let seconds = (days * DAY_S) as f64;
        let size = self.input.size_after(seconds);
        Stage {
            after_days: days,
            size_bytes: whole(size),
            backup_bytes: whole(self.input.stored_after(seconds)),
            kept: self.rotation.kept() as u64,
            kept_bytes: self.kept_bytes,
            needed_bytes: self.needed_bytes,
            needed_kept: self.needed_kept,
            backup_s: self.input.backup_bytes_per_s.filter(|rate| *rate > 0.0).map(|rate| size / rate),
            restore_s: self.input.restore_bytes_per_s.filter(|rate| *rate > 0.0).map(|rate| size / rate),
        }
    }
}

fn time_after(start: Timestamp, seconds: u64) -> Option<Timestamp> {
    start.checked_add(SignedDuration::from_secs(i64::try_from(seconds).ok()?)).ok()
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
    use crate::retention::{Kept, Proof, reasons};

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

    /// The story: `--keep-daily 7 --keep-weekly 5` was said to fit for 180 days, and the disk was full on day 36: the two rules together
    /// keep eleven backups on one day of the week, and ten on the others.
    #[test]
    fn the_most_room_is_that_of_the_worst_day_and_not_of_the_last() {
        let gib = 1_u64 << 30;
        let rules = Rules { daily: 7, weekly: 5, ..Rules::default() };
        let shop = PlanInput { size_bytes: 100 * gib, ratio: 1.0, rules, ..input() };
        for days in [36, 43, 180, 365] {
            let plan = planned(PlanInput { days, space_bytes: Some(1_150 * gib), ..shop });
            let last = plan.stages.last().unwrap();
            assert_eq!((last.needed_bytes, last.needed_kept), (1_200 * gib, 11), "{days} days");
            assert!(plan.full_utc.is_some(), "{days} days");
        }
    }

    /// What is kept after the backup `number`, by the rules of [`reasons`] and all backups until then.
    fn kept_naively(times: &[Timestamp], input: &PlanInput, zone: &TimeZone) -> Vec<usize> {
        let kept = |(number, at): (usize, &Timestamp)| Kept {
            id: format!("{number:012}"),
            source: String::new(),
            at: *at,
            base: None,
            proof: Proof::Unproven,
            is_doubted: false,
        };
        let sets: Vec<Kept> = times.iter().enumerate().map(kept).collect();
        let reasons = reasons(&sets, &input.rules, sets.last().unwrap().at, zone);
        (0..sets.len()).filter(|at| !reasons[*at].is_empty()).collect()
    }

    #[test]
    fn the_plan_of_any_rules_is_that_of_the_loop_over_all_days() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let start: Timestamp = "2026-09-20T01:30:00Z".parse().unwrap();
        let mut seed = 7_u64;
        let mut below = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            u32::try_from((seed >> 33) % bound).unwrap()
        };
        for round in 0..60 {
            let within = ["3d", "1w", "2mo", "30h"][below(4) as usize].parse().ok().filter(|_| below(3) == 0);
            let rules = Rules {
                last: below(4),
                hourly: below(5),
                daily: below(9),
                weekly: below(6),
                monthly: below(4),
                yearly: below(2),
                within,
            };
            let every_s = [3_600, 10_000, DAY_S, 2 * DAY_S][below(4) as usize];
            let days = u64::from(below(if every_s < DAY_S { 12 } else { 150 })) + 1;
            let growth_per_year = [0.0, 0.5, -0.3][below(3) as usize];
            let input =
                PlanInput { rules, every_s, days, growth_per_year, space_bytes: Some(6 * TIB), ..input() };
            let (mut most, mut full, mut times) = (0, None, Vec::new());
            for number in 0..=days * DAY_S / every_s {
                times.push(time_after(start, number * every_s).unwrap());
                let stored = |number: usize| whole(input.stored_after((number as u64 * every_s) as f64));
                let newest = times.len() - 1;
                let kept: u64 = kept_naively(&times, &input, &zone).into_iter().map(stored).sum();
                let needed = if newest == 0 { kept } else { kept + stored(newest) };
                most = most.max(needed);
                full = full.or_else(|| (needed > 6 * TIB).then_some(times[newest]));
            }
            let plan = plan(input, start, &zone).unwrap();
            assert_eq!(
                (plan.stages.last().unwrap().needed_bytes, plan.full_utc),
                (most, full),
                "round {round}: {input:?}"
            );
        }
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
