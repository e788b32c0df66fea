//! How long solid-state drives last, from what they say of themselves and from what was promised.

mod ratings;

use std::path::{Path, PathBuf};
use std::time::Duration;

use iostall_collect::smart;
use iostall_measure::number::counted;
use iostall_model::drive::{
    Converted, DriveHistory, DriveIdentity, DriveReading, Endurance, Planned, RaidShare, RatingError,
    endurance,
};
use iostall_model::requirement::{Limit, Metric};
use iostall_model::{Sample, Step, Warning, WarningCode};
use iostall_store::History;
use jiff::Timestamp;
use serde::Serialize;

use self::ratings::Ratings;
use crate::error::{RatingsError, WatchError};

pub use self::ratings::TypedRating;

/// The longest time for one drive to answer: one that sleeps has to spin up its controller first.
const ANSWER: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, Default)]
pub struct EnduranceRequest {
    pub places: Vec<PathBuf>,
    pub ratings: Option<PathBuf>,
    pub typed: TypedRating,
    /// Writes to expect in place of those observed.
    pub planned: Option<Planned>,
    /// What must hold for every drive.
    pub limits: Vec<Limit>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EnduranceReport {
    /// One for each model, serial number and capacity.
    pub drives: Vec<Endurance>,
    pub left_out: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub converted: Option<Converted>,
    /// How long a rating alone lasts at writes that are expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<RatedLife>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<Judged>,
}

/// How long a drive lasts by its rating alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatedLife {
    pub bytes_per_day: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raid: Option<RaidShare>,
    /// To each drive, bytes a day.
    pub of_each_drive: f64,
    pub days: f64,
}

/// A limit, held against a drive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Model and serial number; nothing for a rating alone.
    pub drive: String,
    pub limit: String,
    /// `None` if nobody can say.
    pub is_met: Option<bool>,
}

pub fn stored_endurance(
    history: &impl History,
    request: &EnduranceRequest,
) -> Result<EnduranceReport, WatchError> {
    let ratings = Ratings::read(request.ratings.as_deref(), &request.typed)?;
    let mut readings: Vec<DriveReading> = Vec::new();
    history.frozen(|| -> Result<(), WatchError> {
        for watched in history.sources()? {
            let (source, name) = (watched.source.id, watched.source.name);
            let mut step = |step: Step| readings.extend(readings_of(&step.sample, &name));
            history.intervals(source, Timestamp::MIN, Timestamp::MAX, &mut step)?;
            let last = history.last_sample(source)?;
            readings.extend(last.iter().flat_map(|sample| readings_of(sample, &name)));
        }
        Ok(())
    })??;
    if readings.is_empty() {
        return Err(WatchError::NoDrives);
    }
    let mut report = EnduranceReport::default();
    project(readings, &ratings, request, &mut report)?;
    Ok(report)
}

/// Without a serial number of its own a drive is known by its source.
fn readings_of(sample: &Sample, source: &str) -> impl Iterator<Item = DriveReading> {
    let taken = sample.taken.utc;
    sample.rows.iter().filter_map(move |row| smart::of_row(row, taken)).map(move |mut reading| {
        reading.drive.place = reading.drive.place.map(|place| format!("{source}: {place}"));
        reading
    })
}

fn project(
    readings: Vec<DriveReading>,
    ratings: &Ratings,
    request: &EnduranceRequest,
    report: &mut EnduranceReport,
) -> Result<(), WatchError> {
    for history in DriveHistory::by_drive(readings).into_iter().filter_map(DriveHistory::of) {
        let rating = ratings.of(&history.drive())?;
        report.drives.push(endurance(&history, rating, request.planned));
    }
    let drives: Vec<DriveIdentity> = report.drives.iter().map(|one| one.drive.clone()).collect();
    for one in &mut report.drives {
        one.warnings.extend(shared_serial(&one.drive, &drives));
    }
    report.judged = report
        .drives
        .iter()
        .flat_map(|one| request.limits.iter().map(move |limit| judged(one, limit)))
        .collect();
    Ok(ratings.check_models(&report.drives)?)
}

fn judged(one: &Endurance, limit: &Limit) -> Judged {
    let drive = format!("{} {}", one.drive.model, one.drive.serial).trim().to_owned();
    Judged { drive, limit: limit.to_string(), is_met: one.meets(limit) }
}

/// Drives with one serial number are kept apart by what else is known of them, and that may be too little.
fn shared_serial(drive: &DriveIdentity, drives: &[DriveIdentity]) -> Option<Warning> {
    let others = drives.iter().filter(|other| other.serial == drive.serial).count() - 1;
    if others == 0 {
        return None;
    }
    let count = counted(others as u64, "other drive");
    let message =
        format!("{count} here with its serial number: model, capacity and name of the file keep them apart");
    Some(Warning::new(WarningCode::SerialShared, message))
}

/// What the data sheet of a drive of `model` lets hosts write according to the ratings in `file`, bytes; `None` if it is not there.
pub fn rated_bytes(file: &Path, model: &str, capacity_bytes: Option<u64>) -> Result<Option<f64>, WatchError> {
    let ratings = Ratings::read(Some(file), &TypedRating::default())?;
    let drive = DriveIdentity { model: model.to_owned(), capacity_bytes, ..DriveIdentity::default() };
    Ok(ratings.of(&drive)?.and_then(|rating| rating.written_bytes))
}

pub fn drive_endurance(request: &EnduranceRequest) -> Result<EnduranceReport, WatchError> {
    let ratings = Ratings::read(request.ratings.as_deref(), &request.typed)?;
    let converted = ratings.converted();
    if request.places.is_empty() && converted.is_none() {
        return Err(RatingsError::Typed(RatingError::NoCapacity).into());
    }
    let mut report = EnduranceReport { converted, ..EnduranceReport::default() };
    let mut readings = Vec::new();
    let mut refused = None;
    for place in &request.places {
        let found = smart::read(place, ANSWER)?;
        report.left_out.extend(found.skipped.iter().map(ToString::to_string));
        refused = refused.or(found.skipped.into_iter().next());
        readings.extend(found.readings);
    }
    if let (true, Some(error)) = (readings.is_empty(), refused) {
        return Err(error.into());
    }
    project(readings, &ratings, request, &mut report)?;
    if request.places.is_empty() {
        of_rating(request, &mut report)?;
    }
    Ok(report)
}

/// A rating and the writes that are expected are enough for a buyer.
fn of_rating(request: &EnduranceRequest, report: &mut EnduranceReport) -> Result<(), WatchError> {
    report.planned = report.converted.as_ref().zip(request.planned).map(|(converted, planned)| RatedLife {
        bytes_per_day: planned.bytes_per_day,
        raid: planned.raid,
        of_each_drive: planned.of_each_drive(),
        days: converted.written_bytes / planned.of_each_drive(),
    });
    for limit in &request.limits {
        let days = report.planned.as_ref().filter(|_| limit.metric == Metric::Days).map(|life| life.days);
        let Some(days) = days else { return Err(RatingsError::NotOfRating(limit.to_string()).into()) };
        let is_met = Some(limit.is_met_by(Some(days)));
        report.judged.push(Judged { drive: String::new(), limit: limit.to_string(), is_met });
    }
    Ok(())
}
