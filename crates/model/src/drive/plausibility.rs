//! Numbers of a drive that cannot all be true.

use serde::Serialize;

use super::rating::DriveRating;
use super::reading::{DriveIdentity, Wear};
use crate::warning::{Warning, WarningCode};

/// A drive that is powered on writes at least its own logs, bytes an hour.
const HOST_BYTES_PER_HOUR_MIN: u64 = 1_000;
/// Compression reaches no less, and collection hardly more.
const WRITE_AMPLIFICATION: (f64, f64) = (0.05, 50.0);
/// How far the bytes may be from what the percentage implies.
const USED_FACTOR: f64 = 10.0;
/// The drive's clock counts whole hours.
const HOURS_SLACK: u64 = 1;

pub(super) fn warnings(
    drive: &DriveIdentity,
    wear: &Wear,
    rating: Option<&DriveRating>,
    write_amplification: Option<&Found>,
) -> Vec<Warning> {
    let ratio = write_amplification.map(|found| found.value);
    let found = [
        too_much_an_hour(drive, wear),
        too_little_an_hour(wear),
        busier_than_on(wear),
        amplification(ratio),
        far_from_percentage(wear, rating),
        more_cycles_than_rated(rating, ratio),
    ];
    found.into_iter().flatten().map(|message| Warning::new(WarningCode::Implausible, message)).collect()
}

/// Whether its hours, or the bytes of those hours, cannot be: nothing that was counted over its life is a rate then.
pub(super) fn are_hours_wrong(drive: &DriveIdentity, wear: &Wear) -> bool {
    busier_than_on(wear).is_some() || too_much_an_hour(drive, wear).is_some()
}

fn too_much_an_hour(drive: &DriveIdentity, wear: &Wear) -> Option<String> {
    let (written, hours, link) = (wear.host_bytes()?, wear.power_on_hours?, drive.link?);
    let most = link.bytes_per_s_max().saturating_mul(3_600).saturating_mul(hours.saturating_add(HOURS_SLACK));
    (written > most).then(|| {
        format!("it says that hosts wrote {written} bytes in {hours} hours, more than its interface carries: one of the two is wrong")
    })
}

fn too_little_an_hour(wear: &Wear) -> Option<String> {
    let (written, hours) = (wear.host_bytes()?, wear.power_on_hours?);
    (written < hours.saturating_mul(HOST_BYTES_PER_HOUR_MIN)).then(|| {
        format!("it says that hosts wrote {written} bytes in {hours} hours, hardly anything: its unit may be another one")
    })
}

fn busier_than_on(wear: &Wear) -> Option<String> {
    let (busy, hours) = (wear.busy_minutes?, wear.power_on_hours?);
    (busy / 60 > hours.saturating_add(HOURS_SLACK)).then(|| {
        format!("it was busy for {} hours and powered on for {hours}: its hours, and every rate over its life, are wrong", busy / 60)
    })
}

fn amplification(ratio: Option<f64>) -> Option<String> {
    let ratio = ratio?;
    let (least, most) = WRITE_AMPLIFICATION;
    (!(least..=most).contains(&ratio)).then(|| {
        format!(
            "a write amplification of {ratio:.3} is not possible: one of the two counters has another unit"
        )
    })
}

fn far_from_percentage(wear: &Wear, rating: Option<&DriveRating>) -> Option<String> {
    let (written, used, rated) = (wear.host_bytes()?, wear.used_percent()?, rating?.written_bytes?);
    let implied = rated * used.saturating_add(1) as f64 / 100.0 * USED_FACTOR;
    (written as f64 > implied).then(|| {
        format!(
            "{:.0} % of the rated bytes are written, and the drive calls itself {used} % used: the rating may be that of another drive",
            100.0 * written as f64 / rated
        )
    })
}

fn more_cycles_than_rated(rating: Option<&DriveRating>, ratio: Option<f64>) -> Option<String> {
    let rating = rating?;
    let (cycles, implied) = (rating.erase_cycles?, rating.implied_erase_cycles(ratio.unwrap_or(1.0))?);
    let most = rating.write_amplification_max()?;
    (implied > cycles as f64).then(|| {
        format!(
            "the rated bytes need {implied:.0} erase cycles of each block and {cycles} are rated: the promise holds only below a write amplification of {most:.2}"
        )
    })
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    pub value: f64,
    pub basis: String,
}
