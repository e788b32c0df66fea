//! The life of one drive, from its readings, its data sheet and what is to be written.

use jiff::Timestamp;
use serde::Serialize;

use super::history::{DriveHistory, WearInterval, WriteRates};
use super::plausibility::{self, Found};
use super::projection::{DaysBand, Ground, Route, routes};
use super::raid::RaidShare;
use super::rating::{Converted, DriveRating};
use super::reading::{DriveIdentity, DriveReading, Wear};
use crate::requirement::{Limit, Metric};
use crate::warning::{Warning, WarningCode};

/// Below this share of the rated bytes nothing is projected, unless a percent was added.
const WRITTEN_SHARE_MIN: f64 = 0.02;
/// Fewer percents over its life are no trend.
const USED_PERCENT_MIN: u64 = 2;
/// A shorter window may have been an unusual one, days.
const WINDOW_DAYS_GOOD: f64 = 7.0;

/// Writes that are expected in place of those observed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Planned {
    pub bytes_per_day: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raid: Option<RaidShare>,
}

impl Planned {
    /// To each drive, bytes a day.
    pub fn of_each_drive(&self) -> f64 {
        self.bytes_per_day * self.raid.map_or(1.0, RaidShare::of_each_drive)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriveState {
    Healthy,
    /// It has used up what it was made for, or its spare blocks.
    Worn,
    Failing,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Endurance {
    pub drive: DriveIdentity,
    pub state: DriveState,
    pub readings: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_utc: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_utc: Option<Timestamp>,
    pub wear: Wear,
    pub intervals: Vec<WearInterval>,
    pub rates: WriteRates,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<Found>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating: Option<DriveRating>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub converted: Option<Converted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<Planned>,
    /// What is expected to be written to this drive, bytes a day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Found>,
    /// Bytes that hosts can write in all, from the percentage used so far: likely, least and most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implied_bytes: Option<[f64; 3]>,
    pub routes: Vec<Route>,
    /// The route that ends first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Route>,
    /// The longest route's days over the shortest's, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub too_thin: Option<String>,
    pub warnings: Vec<Warning>,
}

impl Endurance {
    /// The figure that `limit` is about.
    fn figure(&self, limit: &Limit) -> Option<f64> {
        match limit.metric {
            Metric::Days => Some(self.answer.as_ref()?.days?.likely),
            Metric::Used => self.wear.used_percent().map(|used| used as f64),
            _ => None,
        }
    }

    /// Whether the drive meets `limit`; `None` if nobody can say. What has hardly been used has no projection yet, and meets one of days.
    pub fn meets(&self, limit: &Limit) -> Option<bool> {
        let is_fresh = self.wear.used_percent().is_some_and(|used| used < USED_PERCENT_MIN);
        match self.figure(limit) {
            Some(figure) => Some(limit.is_met_by(Some(figure))),
            None => (limit.metric == Metric::Days && is_fresh).then_some(true),
        }
    }
}

pub fn endurance(history: &DriveHistory, rating: Option<DriveRating>, planned: Option<Planned>) -> Endurance {
    let (drive, wear, rates) = (history.drive(), history.latest().wear.clone(), history.rates());
    let window = history.window();
    let was_reset = history.was_reset();
    let write_amplification = write_amplification(&wear, window.as_ref(), was_reset);
    let expected = expected(&rates, planned.as_ref());
    let too_thin = too_thin(&wear, window.as_ref(), rating.as_ref(), planned.is_some());
    let ground = Ground {
        wear: &wear,
        rating: rating.as_ref(),
        window: window.as_ref(),
        per_day: expected.as_ref().map(|found| found.value),
        other_rates: if planned.is_some() { Vec::new() } else { rates.life.into_iter().collect() },
        is_powered_rate: planned.is_none() && rates.recent.is_none_or(|rate| rate <= 0.0),
        life_per_day: rates.life,
        life_hours: history.life_hours(),
        was_reset,
        write_amplification: write_amplification.as_ref().map(|found| found.value),
    };
    let mut routes = routes(&ground);
    if too_thin.is_some() {
        for route in &mut routes {
            route.days = None;
        }
    }
    let likely = |route: &Route| route.days.map(|days: DaysBand| days.likely);
    let answer = routes
        .iter()
        .filter(|route| route.days.is_some())
        .min_by(|a, b| likely(a).unwrap_or(f64::MAX).total_cmp(&likely(b).unwrap_or(f64::MAX)))
        .cloned();
    let too_thin = too_thin.or_else(|| {
        answer
            .is_none()
            .then(|| "none of the four routes has its numbers; the table says what each lacks".to_owned())
    });
    let mut warnings = warnings_of(history);
    warnings.extend(plausibility::warnings(&drive, &wear, rating.as_ref(), write_amplification.as_ref()));
    warnings.extend(short_window(&rates, planned.is_some()));
    Endurance {
        state: state(&wear),
        readings: history.timed().len(),
        first_utc: history.timed().first().map(|(taken, _)| *taken),
        last_utc: history.timed().last().map(|(taken, _)| *taken),
        intervals: history.intervals(),
        converted: rating.as_ref().and_then(|rating| rating.converted(drive.capacity_bytes)),
        implied_bytes: implied_bytes(&wear).filter(|_| !was_reset),
        spread: spread(&routes),
        drive,
        wear,
        rates,
        write_amplification,
        rating,
        planned,
        expected,
        routes,
        answer,
        too_thin,
        warnings,
    }
}

fn state(wear: &Wear) -> DriveState {
    // Drives that count no spare blocks report 0 of 0.
    let spare = wear.spare_percent.zip(wear.spare_threshold_percent);
    let is_out_of_spare = spare.is_some_and(|(left, threshold)| threshold > 0 && left <= threshold);
    let is_failing = wear.passed == Some(false) || wear.critical_warning.is_some_and(|bits| bits != 0);
    if is_failing {
        DriveState::Failing
    } else if is_out_of_spare || wear.used_percent().is_some_and(|used| used >= 100) {
        DriveState::Worn
    } else {
        DriveState::Healthy
    }
}

fn write_amplification(wear: &Wear, window: Option<&WearInterval>, was_reset: bool) -> Option<Found> {
    let recent = window.and_then(|window| {
        let value = window.write_amplification?;
        Some(Found { value, basis: format!("of the last {:.1} days", window.days()) })
    });
    recent.or_else(|| {
        let (nand, host) = (wear.nand_bytes()?, wear.host_bytes().filter(|bytes| *bytes > 0 && !was_reset)?);
        Some(Found { value: nand as f64 / host as f64, basis: "over its life".to_owned() })
    })
}

fn expected(rates: &WriteRates, planned: Option<&Planned>) -> Option<Found> {
    if let Some(planned) = planned {
        let basis = planned.raid.map_or_else(
            || "as given".to_owned(),
            |raid| format!("as given, on {raid}: {:.3} of it to each", raid.of_each_drive()),
        );
        return Some(Found { value: planned.of_each_drive(), basis });
    }
    let recent = rates.recent.zip(rates.recent_days).filter(|(rate, _)| *rate > 0.0);
    match recent {
        Some((value, days)) => Some(Found { value, basis: format!("observed over {days:.1} days") }),
        None => rates.life.map(|value| Found { value, basis: "the mean of its life".to_owned() }),
    }
}

/// Bytes in all at the wear so far. The percentage is a whole number.
fn implied_bytes(wear: &Wear) -> Option<[f64; 3]> {
    let (written, used) = (wear.host_bytes()? as f64, wear.used_percent().filter(|used| *used > 1)? as f64);
    Some([written * 100.0 / used, written * 100.0 / (used + 1.0), written * 100.0 / (used - 1.0)])
}

fn spread(routes: &[Route]) -> Option<f64> {
    let days: Vec<f64> = routes.iter().filter_map(|route| Some(route.days?.likely)).collect();
    let (least, most) =
        days.iter().fold((f64::MAX, 0.0_f64), |(least, most), one| (least.min(*one), most.max(*one)));
    (days.len() > 1 && least > 0.0).then(|| most / least)
}

fn too_thin(
    wear: &Wear,
    window: Option<&WearInterval>,
    rating: Option<&DriveRating>,
    is_planned: bool,
) -> Option<String> {
    let rated = rating.and_then(|rating| rating.written_bytes);
    let gained = window.and_then(|window| window.used_percent).unwrap_or(0);
    let used = wear.used_percent().unwrap_or(0);
    let is_used = wear.used_percent().map_or_else(
        || "the drive does not say how much of it is used".to_owned(),
        |used| format!("{used} % is used"),
    );
    let share = rated.zip(wear.host_bytes()).map(|(rated, written)| written as f64 / rated);
    if gained >= 1 || used >= USED_PERCENT_MIN || share.is_some_and(|share| share >= WRITTEN_SHARE_MIN) {
        return None;
    }
    match share {
        Some(_) if is_planned => None,
        Some(share) => Some(format!(
            "{is_used} and {:.2} % of the rated bytes are written, which says nothing about its life yet; \
             --from-rate projects writes that are expected",
            100.0 * share
        )),
        None if rating.is_some_and(|rating| rating.erase_cycles.is_some() || rating.nand_bytes.is_some()) => {
            None
        }
        None => Some(format!(
            "{is_used}, and no percent was added between the readings; a rating (--tbw, --dwpd or --drives) would tell more"
        )),
    }
}

/// What its readings say, each once, and what changed between them.
fn warnings_of(history: &DriveHistory) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    for warning in &history.latest().warnings {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    let firmware = |reading: &DriveReading| reading.drive.firmware.clone();
    for pair in history.timed().windows(2) {
        let changed = firmware(&pair[0].1).zip(firmware(&pair[1].1)).filter(|(old, new)| old != new);
        if let Some((old, new)) = changed {
            let message = format!(
                "its firmware changed from {old} to {new} before {:.0}: counters may mean something else since",
                pair[1].0
            );
            warnings.push(Warning::new(WarningCode::FirmwareChanged, message));
        }
    }
    for interval in history.intervals() {
        if let Some(why) = interval.broken {
            let message = format!("{why} before {:.0}: nothing before it is used for rates", interval.to_utc);
            warnings.push(Warning::new(WarningCode::CountersLost, message));
        }
    }
    warnings
}

fn short_window(rates: &WriteRates, is_planned: bool) -> Option<Warning> {
    let days = rates.recent_days.filter(|days| *days < WINDOW_DAYS_GOOD && !is_planned)?;
    let message = format!("the rate is that of {days:.1} days, which may not have been usual ones");
    Some(Warning::new(WarningCode::FewSamples, message).hint("readings of a week or more make it a rate"))
}
