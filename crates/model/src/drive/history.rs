//! The readings of one drive in the order of time, and what it wrote in between.

use iostall_measure::number::counted;
use jiff::Timestamp;
use serde::Serialize;

use super::plausibility::are_hours_wrong;
use super::reading::{DriveIdentity, DriveLink, DriveReading, Wear};
use crate::warning::{Warning, WarningCode};

const DAY_S: f64 = 86_400.0;
/// A rate is taken from the newest readings that are at least so far apart.
const WINDOW_DAYS: f64 = 7.0;
/// Less says nothing about days to come.
const WINDOW_DAYS_MIN: f64 = 1.0;
/// A drive counts whole hours, and its clock runs a little fast or slow.
const HOURS_SLACK: f64 = 2.0;
const HOURS_DRIFT: f64 = 1.1;
/// A drive may count what it took in a while ago.
const BYTES_SLACK_S: f64 = 60.0;
/// Two logs of a drive are saved one after the other, seconds apart at most.
const OTHER_LOG_S: f64 = 600.0;
/// The busiest day is sought among stretches from nearly a day to two.
const PEAK_DAYS: (f64, f64) = (0.95, 2.0);

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WearInterval {
    pub from_utc: Timestamp,
    pub to_utc: Timestamp,
    /// Written by hosts, bytes; `None` if it is not counted, or across a break.
    pub host_bytes: Option<u64>,
    pub nand_bytes: Option<u64>,
    pub write_amplification: Option<f64>,
    /// Percentage used that was added.
    pub used_percent: Option<u64>,
    /// Why nothing can be subtracted across it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

impl WearInterval {
    pub fn days(&self) -> f64 {
        days(self.from_utc, self.to_utc)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WriteRates {
    /// Over the newest days.
    pub recent: Option<f64>,
    pub recent_days: Option<f64>,
    /// Over all hours that it was powered on.
    pub life: Option<f64>,
    pub peak_day: Option<f64>,
}

/// See the module. There is at least one reading.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveHistory {
    first: DriveReading,
    /// With their times, which ascend.
    timed: Vec<(Timestamp, DriveReading)>,
}

fn days(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64() / DAY_S
}

impl DriveHistory {
    /// The readings of each drive together, in the order in which the drives came.
    pub fn by_drive(readings: impl IntoIterator<Item = DriveReading>) -> Vec<Vec<DriveReading>> {
        let mut drives: Vec<Vec<DriveReading>> = Vec::new();
        for reading in readings {
            let is_its =
                |known: &&mut Vec<DriveReading>| known.iter().all(|one| one.drive.is_same(&reading.drive));
            match drives.iter_mut().find(is_its) {
                Some(known) => known.push(reading),
                None => drives.push(vec![reading]),
            }
        }
        drives
    }

    /// The history of one drive. Readings of the same time become one, as do
    /// two logs of it that were saved together; those without a time count only if there is no other. What is lost by that is a warning
    /// of the newest reading. `None` without readings.
    pub fn of(readings: Vec<DriveReading>) -> Option<Self> {
        let first = readings.first()?.clone();
        let (timed, untimed): (Vec<_>, Vec<_>) =
            readings.into_iter().partition(|reading| reading.taken_utc.is_some());
        let mut timed: Vec<(Timestamp, DriveReading)> =
            timed.into_iter().filter_map(|reading| Some((reading.taken_utc?, reading))).collect();
        timed.sort_by_key(|(taken, _)| *taken);
        let mut lost = Vec::new();
        timed.dedup_by(|(later, extra), (taken, kept)| {
            if later == taken {
                lost.extend(contradiction(*taken, &kept.wear, &extra.wear));
            }
            let is_other_log = kept.wear.host.is_none() || extra.wear.host.is_none();
            let is_same = later == taken || (is_other_log && days(*taken, *later) * DAY_S <= OTHER_LOG_S);
            if is_same {
                kept.wear.fill_from(std::mem::take(&mut extra.wear));
                kept.warnings.append(&mut extra.warnings);
            }
            is_same
        });
        if let Some((_, newest)) = timed.last_mut() {
            let count = untimed.len() as u64;
            newest.warnings.extend(untimed.into_iter().flat_map(|reading| reading.warnings));
            newest.warnings.extend(lost);
            if count > 0 {
                let message = format!("{} of it has no time, and is left out", counted(count, "reading"));
                newest.warnings.push(Warning::new(WarningCode::LeftOut, message));
            }
        }
        Some(Self { first, timed })
    }

    pub fn latest(&self) -> &DriveReading {
        self.timed.last().map_or(&self.first, |(_, reading)| reading)
    }

    pub fn timed(&self) -> &[(Timestamp, DriveReading)] {
        &self.timed
    }

    /// Which drive it is, with what any of its readings knows of it.
    pub fn drive(&self) -> DriveIdentity {
        let mut drive = self.latest().drive.clone();
        for (_, reading) in self.timed.iter().rev() {
            let known = &reading.drive;
            drive.capacity_bytes = drive.capacity_bytes.or(known.capacity_bytes);
            drive.link = drive.link.or(known.link);
            drive.family = drive.family.take().or_else(|| known.family.clone());
            if drive.model.is_empty() {
                drive.model.clone_from(&known.model);
            }
        }
        drive
    }

    pub fn intervals(&self) -> Vec<WearInterval> {
        self.timed.windows(2).map(|pair| interval((pair[0].0, &pair[0].1), (pair[1].0, &pair[1].1))).collect()
    }

    fn falls(&self, counter: fn(&Wear) -> Option<u64>) -> bool {
        self.timed.windows(2).any(|pair| falls(&pair[0].1.wear, &pair[1].1.wear, counter))
    }

    /// Whether bytes were counted anew: what is counted now is not all that was written in its life.
    pub(super) fn was_reset(&self) -> bool {
        self.falls(Wear::host_bytes) || self.falls(Wear::nand_bytes)
    }

    /// The hours of its life, where nothing says that they are wrong.
    pub(super) fn life_hours(&self) -> Option<u64> {
        let wear = &self.latest().wear;
        let is_right = !self.falls(|wear| wear.power_on_hours) && !are_hours_wrong(&self.drive(), wear);
        wear.power_on_hours.filter(|hours| is_right && *hours > 0)
    }

    /// The readings since the last break.
    pub(super) fn unbroken(&self) -> &[(Timestamp, DriveReading)] {
        let last = self.intervals().iter().rposition(|interval| interval.broken.is_some());
        &self.timed[last.map_or(0, |index| index + 1)..]
    }

    /// The newest readings that are at least seven days apart, or the whole stretch if it has a day.
    pub(super) fn window(&self) -> Option<WearInterval> {
        let stretch = self.unbroken();
        let (to, last) = stretch.last().map(|(taken, reading)| (*taken, reading))?;
        let far = stretch.iter().rev().find(|(taken, _)| days(*taken, to) >= WINDOW_DAYS);
        let (from, first) = far.or(stretch.first()).map(|(taken, reading)| (*taken, reading))?;
        (days(from, to) >= WINDOW_DAYS_MIN).then(|| interval((from, first), (to, last)))
    }

    pub fn rates(&self) -> WriteRates {
        let window = self.window();
        let per_day = |window: &WearInterval| Some(window.host_bytes? as f64 / window.days());
        let wear = &self.latest().wear;
        let powered_days = self.life_hours().filter(|_| !self.was_reset()).map(|hours| hours as f64 / 24.0);
        WriteRates {
            recent: window.as_ref().and_then(per_day),
            recent_days: window.as_ref().filter(|window| window.host_bytes.is_some()).map(WearInterval::days),
            life: wear.host_bytes().zip(powered_days).map(|(bytes, days)| bytes as f64 / days),
            peak_day: self.peak_day(),
        }
    }

    /// The busiest day, bytes: no calendar's day, but any stretch of at least nearly a day.
    fn peak_day(&self) -> Option<f64> {
        let counted: Vec<(Timestamp, u64)> = self
            .unbroken()
            .iter()
            .filter_map(|(taken, reading)| Some((*taken, reading.wear.host_bytes()?)))
            .collect();
        let mut from = 0;
        let mut most: Option<f64> = None;
        for (to, bytes) in &counted {
            while counted.get(from + 1).is_some_and(|(next, _)| days(*next, *to) >= PEAK_DAYS.0) {
                from += 1;
            }
            let (start, before) = counted[from];
            let length = days(start, *to);
            if (PEAK_DAYS.0..=PEAK_DAYS.1).contains(&length) {
                let rate = bytes.saturating_sub(before) as f64 / length;
                most = Some(most.map_or(rate, |most| most.max(rate)));
            }
        }
        most
    }
}

fn interval(from: (Timestamp, &DriveReading), to: (Timestamp, &DriveReading)) -> WearInterval {
    let (before, after) = (&from.1.wear, &to.1.wear);
    let link = to.1.drive.link.or(from.1.drive.link);
    let broken = broken(before, after, to.0.duration_since(from.0).as_secs_f64(), link);
    let gained = |counter: fn(&Wear) -> Option<u64>| {
        let pair = counter(before).zip(counter(after)).filter(|_| broken.is_none());
        pair.and_then(|(before, after)| after.checked_sub(before))
    };
    let (host_bytes, nand_bytes) = (gained(Wear::host_bytes), gained(Wear::nand_bytes));
    let written = host_bytes.filter(|bytes| *bytes > 0);
    WearInterval {
        from_utc: from.0,
        to_utc: to.0,
        host_bytes,
        nand_bytes,
        write_amplification: nand_bytes.zip(written).map(|(nand, host)| nand as f64 / host as f64),
        used_percent: gained(Wear::used_percent),
        broken,
    }
}

/// Two documents of one moment, such as one that was edited beside its copy.
fn contradiction(taken: Timestamp, kept: &Wear, extra: &Wear) -> Option<Warning> {
    let (kept, extra) = kept.host_bytes().zip(extra.host_bytes()).filter(|(kept, extra)| kept != extra)?;
    let message = format!(
        "two readings of {taken} contradict each other: {kept} and {extra} bytes written; the first is used"
    );
    Some(Warning::new(WarningCode::Implausible, message))
}

fn falls(before: &Wear, after: &Wear, counter: fn(&Wear) -> Option<u64>) -> bool {
    counter(before).zip(counter(after)).is_some_and(|(before, after)| after < before)
}

/// Which of the counters of a life went back.
fn went_back(before: &Wear, after: &Wear) -> Option<&'static str> {
    type Counter = fn(&Wear) -> Option<u64>;
    let counters: [(&str, Counter); 3] = [
        ("the bytes written by hosts", Wear::host_bytes),
        ("the bytes written to the flash", Wear::nand_bytes),
        ("the hours", |wear| wear.power_on_hours),
    ];
    counters.into_iter().find(|(_, counter)| falls(before, after, *counter)).map(|(name, _)| name)
}

fn broken(before: &Wear, after: &Wear, seconds: f64, link: Option<DriveLink>) -> Option<String> {
    if let Some(name) = went_back(before, after) {
        return Some(format!("{name} went back"));
    }
    let gained = |counter: fn(&Wear) -> Option<u64>| {
        let (before, after) = counter(before).zip(counter(after))?;
        after.checked_sub(before)
    };
    let hours = seconds / 3_600.0;
    let most_hours = hours * HOURS_DRIFT + HOURS_SLACK;
    if let Some(powered) = gained(|wear| wear.power_on_hours).filter(|powered| *powered as f64 > most_hours) {
        return Some(format!(
            "{powered} hours powered on in {hours:.0} hours, which two readings of one drive cannot be"
        ));
    }
    let most = link.unwrap_or(DriveLink::Nvme).bytes_per_s_max() as f64 * (seconds + BYTES_SLACK_S);
    if let Some(bytes) = gained(Wear::host_bytes).filter(|bytes| *bytes as f64 > most) {
        return Some(format!(
            "{bytes} bytes written in {seconds:.0} seconds, more than its interface carries"
        ));
    }
    let origin = |wear: &Wear| wear.host.as_ref().map(|counted| counted.origin.clone());
    let both = origin(before).zip(origin(after));
    both.filter(|(before, after)| before != after)
        .map(|(before, after)| format!("counted by {before} and then by {after}"))
}
