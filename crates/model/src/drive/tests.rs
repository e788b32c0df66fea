//! Published arithmetic, with its slips put right, and drives whose numbers are public.

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::warning::WarningCode;

const TB: f64 = 1e12;

fn close(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() <= share, "{found}, expected {expected}");
}

fn at(day: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * day)
}

fn bytes(bytes: u64) -> CountedBytes {
    CountedBytes { bytes, origin: "log".into() }
}

fn percent(percent: u64) -> CountedPercent {
    CountedPercent { percent, origin: "log".into() }
}

fn reading(day: i64, host_tb: f64, used: u64) -> DriveReading {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers of a test")]
    let host = (host_tb * TB) as u64;
    let wear = Wear { host: Some(bytes(host)), used: Some(percent(used)), ..Wear::default() };
    let drive =
        DriveIdentity { serial: "S1".into(), link: Some(DriveLink::Nvme), ..DriveIdentity::default() };
    DriveReading { drive, taken_utc: Some(at(day)), wear, warnings: Vec::new() }
}

fn of(readings: Vec<DriveReading>, rating: Option<DriveRating>, planned: Option<Planned>) -> Endurance {
    endurance(&DriveHistory::of(readings).unwrap(), rating, planned)
}

fn rated(written_tb: f64, years: f64) -> DriveRating {
    DriveRating { written_bytes: Some(written_tb * TB), years: Some(years), ..DriveRating::default() }
}

/// The published "no more than 21 GB a day" for 7.5 TB over three years is the figure of one year.
#[test]
fn a_rating_is_converted_with_its_years() {
    let converted = rated(7.5, 3.0).converted(Some(80_000_000_000)).unwrap();
    close(converted.bytes_per_day, 6.85e9, 0.001);
    close(converted.drive_writes_per_day.unwrap(), 0.0856, 0.001);
    close(rated(7.5, 5.0).converted(None).unwrap().bytes_per_day, 4.11e9, 0.001);
    let published = [(1_380.0, 5.0, 1_000, 0.756), (4_840.0, 5.0, 4_000, 0.66), (1_432.0, 5.0, 1_800, 0.436)];
    for (written, years, capacity_gb, drive_writes) in published {
        let converted = rated(written, years).converted(Some(capacity_gb * 1_000_000_000)).unwrap();
        close(converted.drive_writes_per_day.unwrap(), drive_writes, 0.006);
    }
    let optane = DriveRating::written(None, Some(30.0), Some(3.0), Some(375_000_000_000)).unwrap().unwrap();
    close(optane, 12_320.0 * TB, 0.001);
}

#[test]
fn a_rating_without_its_years_or_its_capacity_is_refused() {
    assert_eq!(DriveRating::written(Some(1.0), None, None, None), Err(RatingError::NoYears));
    assert_eq!(DriveRating::written(None, Some(1.0), Some(5.0), None), Err(RatingError::NoCapacity));
    assert_eq!(DriveRating::written(Some(1.0), Some(1.0), Some(5.0), None), Err(RatingError::Both));
    assert_eq!(DriveRating::written(Some(-1.0), None, Some(5.0), None), Err(RatingError::NotPositive));
    assert_eq!(DriveRating::written(Some(1.0), None, Some(f64::NAN), None), Err(RatingError::NotPositive));
    assert_eq!(DriveRating::written(None, None, None, None), Ok(None));
}

/// A vendor's 5 TB a day over 16 years needs more cycles than the flash of its time has.
#[test]
fn a_promise_that_needs_more_cycles_than_the_flash_has_is_flagged() {
    let rating = DriveRating {
        erase_cycles: Some(10_000),
        physical_bytes: Some(320_000_000_000),
        ..rated(5.0 * 365.0 * 16.0, 16.0)
    };
    close(rating.implied_erase_cycles(1.0).unwrap(), 91_250.0, 1e-6);
    let found = of(vec![reading(0, 3_000.0, 10)], Some(rating), None);
    assert!(
        found
            .warnings
            .iter()
            .any(|one| one.code == WarningCode::Implausible && one.message.contains("91250")),
        "{found:?}"
    );
}

#[test]
fn each_drive_of_an_array_gets_its_share() {
    let share = |text: &str| text.parse::<RaidShare>().unwrap().of_each_drive();
    let expected = [
        ("0:4", 0.25),
        ("1:2", 1.0),
        ("10:8", 0.25),
        ("5:4", 0.5),
        ("5:5:full", 0.25),
        ("6:6", 0.5),
        ("6:6:full", 0.25),
    ];
    for (text, factor) in expected {
        close(share(text), factor, 1e-12);
    }
    for wrong in ["", "5", "5:2", "6:3", "10:5", "7:4", "5:4:half", "0:4:full", "5:4:full:x", "-5:4"] {
        assert!(wrong.parse::<RaidShare>().is_err(), "{wrong}");
    }
}

/// Two drives of a public collection: 73 % in 8,843 hours, and 75 % after 2,567 TB.
#[test]
fn a_life_follows_from_the_percentage_over_its_hours() {
    let mut one = reading(0, 2_644.9, 73);
    one.wear.power_on_hours = Some(8_843);
    let found = of(vec![one], None, None);
    close(found.answer.unwrap().days.unwrap().likely * 24.0, 3_271.0, 0.001);
    let [likely, least, most] = found.implied_bytes.unwrap();
    close(likely, 3_623.0 * TB, 0.001);
    close(least, 3_574.0 * TB, 0.001);
    close(most, 3_673.0 * TB, 0.001);
    let implied = of(vec![reading(0, 2_567.4, 75)], None, None).implied_bytes.unwrap();
    close(implied[0], 3_423.0 * TB, 0.001);
}

#[test]
fn four_routes_answer_from_what_they_know_and_the_earliest_wins() {
    let mut readings = vec![reading(0, 100.0, 10), reading(10, 110.0, 12)];
    for (index, one) in readings.iter_mut().enumerate() {
        one.wear.nand = Some(bytes(200_000_000_000_000 + 20_000_000_000_000 * index as u64));
        one.wear.erase_cycles = Some(400 + 20 * index as u64);
    }
    let rating = DriveRating {
        erase_cycles: Some(3_000),
        physical_bytes: Some(1_100_000_000_000),
        nand_bytes: Some(2_200.0 * TB),
        ..rated(1_100.0, 5.0)
    };
    let found = of(readings, Some(rating), None);
    let days: Vec<f64> = found.routes.iter().map(|route| route.days.unwrap().likely).collect();
    // 88 % at 0.2 % a day; 990 TB at 1 TB; 2,580 cycles of 1.1 TB at 2 TB; 1,980 TB at 2 TB.
    for (found, expected) in days.iter().zip([440.0, 990.0, 1_419.0, 990.0]) {
        close(*found, expected, 1e-9);
    }
    assert_eq!(found.answer.as_ref().unwrap().name, RouteName::PercentUsed);
    close(found.spread.unwrap(), 1_419.0 / 440.0, 1e-9);
    let band = found.routes[0].days.unwrap();
    close(band.earliest, 87.0 * 10.0 / 3.0, 1e-9);
    close(band.latest.unwrap(), 880.0, 1e-9);
    close(found.write_amplification.unwrap().value, 2.0, 1e-9);
}

#[test]
fn thin_data_is_refused_with_what_is_missing() {
    let fresh = || vec![reading(0, 1.0, 0), reading(30, 2.0, 0)];
    let found = of(fresh(), Some(rated(1_000.0, 5.0)), None);
    assert!(found.answer.is_none() && found.too_thin.unwrap().contains("--from-rate"));
    let planned = Planned { bytes_per_day: 2.0 * TB, raid: Some("5:4".parse().unwrap()) };
    let found = of(fresh(), Some(rated(1_000.0, 5.0)), Some(planned));
    close(found.answer.unwrap().days.unwrap().likely, 998.0, 1e-9);
    assert!(of(fresh(), None, None).too_thin.is_some());
    assert!(of(vec![DriveReading::default()], None, None).too_thin.is_some(), "a drive that counts nothing");
}

/// A crafted document with the largest number ended the program.
#[test]
fn the_largest_numbers_are_answered_too() {
    let mut one = reading(0, 1.0, u64::MAX);
    one.wear = Wear {
        host: Some(bytes(u64::MAX)),
        nand: Some(bytes(u64::MAX)),
        power_on_hours: Some(u64::MAX),
        ..one.wear
    };
    let rating =
        DriveRating { erase_cycles: Some(u64::MAX), physical_bytes: Some(u64::MAX), ..rated(1.0, 1.0) };
    let found = of(vec![reading(-10, 1.0, 0), one], Some(rating), None);
    assert_eq!(found.state, DriveState::Worn);
}

#[test]
fn nothing_is_subtracted_across_a_counter_that_went_back() {
    let readings = vec![reading(0, 500.0, 5), reading(10, 3.0, 5), reading(20, 13.0, 6)];
    let found = of(readings, None, None);
    assert!(found.intervals[0].broken.is_some() && found.intervals[0].host_bytes.is_none());
    close(found.rates.recent.unwrap(), TB, 1e-9);
    assert!(found.warnings.iter().any(|one| one.code == WarningCode::CountersLost));
}

#[test]
fn the_busiest_day_stands_beside_the_mean() {
    let written = [0.0, 1.0, 2.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0];
    let readings =
        written.iter().enumerate().map(|(day, tb)| reading(day.try_into().unwrap(), *tb, 3)).collect();
    let rates = DriveHistory::of(readings).unwrap().rates();
    close(rates.peak_day.unwrap(), 7.0 * TB, 1e-9);
    close(rates.recent.unwrap(), 13.0 / 7.0 * TB, 1e-9);
}

/// A real drive says 482 hours, of which it was busy for 19,743.
#[test]
fn hours_that_cannot_be_are_flagged() {
    let mut one = reading(0, 1_445.9, 5);
    (one.wear.power_on_hours, one.wear.busy_minutes) = (Some(482), Some(1_184_621));
    let found = of(vec![one.clone()], None, None);
    assert!(
        found.warnings.iter().any(|one| one.message.contains("busy for 19743 hours")),
        "{:?}",
        found.warnings
    );
    one.drive.link = Some(DriveLink::Sata);
    assert!(
        of(vec![one], None, None).warnings.iter().any(|one| one.message.contains("more than its interface"))
    );
}

#[test]
fn a_drive_without_spare_blocks_is_worn_and_one_that_counts_none_is_not() {
    let with = |spare, threshold, critical| {
        let mut one = reading(0, 1.0, 0);
        one.wear.spare_percent = Some(spare);
        one.wear.spare_threshold_percent = Some(threshold);
        one.wear.critical_warning = Some(critical);
        of(vec![one], None, None).state
    };
    assert_eq!(with(0, 0, 0), DriveState::Healthy);
    assert_eq!(with(9, 10, 0), DriveState::Worn);
    assert_eq!(with(100, 10, 4), DriveState::Failing);
    assert_eq!(of(vec![reading(0, 1.0, 100)], None, None).state, DriveState::Worn);
}

#[test]
fn logs_of_the_same_time_are_one_reading() {
    let mut nand = reading(0, 0.0, 0);
    nand.wear = Wear { nand: Some(bytes(7)), ..Wear::default() };
    let history = DriveHistory::of(vec![reading(0, 1.0, 2), nand]).unwrap();
    assert_eq!((history.timed().len(), history.latest().wear.nand_bytes()), (1, Some(7)));
}
