//! How long solid-state drives last, from what they say of themselves and from what was promised.

mod ratings;

use std::path::{Path, PathBuf};
use std::time::Duration;

use iostall_collect::smart;
use iostall_model::drive::{
    Converted, DriveHistory, DriveIdentity, DriveReading, Endurance, Planned, RatingError, endurance,
};
use iostall_model::{Sample, Step};
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
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EnduranceReport {
    /// One for each serial number.
    pub drives: Vec<Endurance>,
    pub left_out: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub converted: Option<Converted>,
}

pub fn stored_endurance(
    history: &impl History,
    request: &EnduranceRequest,
) -> Result<EnduranceReport, WatchError> {
    let ratings = Ratings::read(request.ratings.as_deref(), &request.typed)?;
    let mut drives: Vec<Vec<DriveReading>> = Vec::new();
    history.frozen(|| -> Result<(), WatchError> {
        for watched in history.sources()? {
            let source = watched.source.id;
            let mut step =
                |step: Step| readings_of(&step.sample).for_each(|reading| add(&mut drives, reading));
            history.intervals(source, Timestamp::MIN, Timestamp::MAX, &mut step)?;
            let last = history.last_sample(source)?;
            last.iter().flat_map(readings_of).for_each(|reading| add(&mut drives, reading));
        }
        Ok(())
    })??;
    if drives.is_empty() {
        return Err(WatchError::NoDrives);
    }
    let mut report = EnduranceReport::default();
    project(drives, &ratings, request, &mut report)?;
    Ok(report)
}

fn readings_of(sample: &Sample) -> impl Iterator<Item = DriveReading> {
    let taken = sample.taken.utc;
    sample.rows.iter().filter_map(move |row| smart::of_row(row, taken))
}

fn project(
    drives: Vec<Vec<DriveReading>>,
    ratings: &Ratings,
    request: &EnduranceRequest,
    report: &mut EnduranceReport,
) -> Result<(), WatchError> {
    for history in drives.into_iter().filter_map(DriveHistory::of) {
        let rating = ratings.of(&history.drive())?;
        report.drives.push(endurance(&history, rating, request.planned));
    }
    Ok(ratings.check_models(&report.drives)?)
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
    let mut drives: Vec<Vec<DriveReading>> = Vec::new();
    let mut refused = None;
    for place in &request.places {
        let found = smart::read(place, ANSWER)?;
        report.left_out.extend(found.skipped.iter().map(ToString::to_string));
        refused = refused.or(found.skipped.into_iter().next());
        found.readings.into_iter().for_each(|reading| add(&mut drives, reading));
    }
    if let (true, Some(error)) = (drives.is_empty(), refused) {
        return Err(error.into());
    }
    project(drives, &ratings, request, &mut report)?;
    Ok(report)
}

fn add(drives: &mut Vec<Vec<DriveReading>>, reading: DriveReading) {
    match drives.iter_mut().find(|known| known.iter().any(|one| one.drive.serial == reading.drive.serial)) {
        Some(known) => known.push(reading),
        None => drives.push(vec![reading]),
    }
}
