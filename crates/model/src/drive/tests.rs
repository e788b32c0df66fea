//! Published arithmetic, with its slips put right, and drives whose numbers are public.

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::warning::{Warning, WarningCode};

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

fn drive(model: &str, serial: &str, capacity_gb: u64) -> DriveIdentity {
    DriveIdentity {
        model: model.into(),
        serial: serial.into(),
        capacity_bytes: Some(capacity_gb * 1_000_000_000),
        ..DriveIdentity::default()
    }
}

/// The story: drives of two models with the serial number `AA000000000000000001` became one that wrote 7,874 PB a day.
#[test]
fn drives_are_one_by_serial_number_model_and_capacity_together() {
    let of = |drive: DriveIdentity| DriveReading { drive, ..reading(0, 5.0, 4) };
    let (cheap, other) = (drive("Cheap", "S9", 512), drive("Other", "S9", 512));
    let larger = drive("Cheap", "S9", 1000);
    // A log of its own says neither model nor capacity.
    let log = DriveIdentity { serial: "S9".into(), ..DriveIdentity::default() };
    let all = [cheap.clone(), other, larger, cheap, log].map(of);
    let groups = DriveHistory::by_drive(all);
    let models =
        |group: &Vec<DriveReading>| group.iter().map(|one| one.drive.model.clone()).collect::<Vec<_>>();
    let found: Vec<Vec<String>> = groups.iter().map(models).collect();
    assert_eq!(found, [vec!["Cheap", "Cheap", ""], vec!["Other"], vec!["Cheap"]]);
}

#[test]
fn a_name_without_a_serial_number_is_a_drive_of_its_place_only() {
    let at = |place: &str| DriveIdentity { place: Some(place.into()), ..drive("M", "nvme0n1", 1) };
    assert!(at("h1").is_same(&at("h1")) && !at("h1").is_same(&at("h2")));
    assert!(at("h1").is_same(&drive("M", "nvme0n1", 1)));
}

#[test]
fn what_stands_in_place_of_a_serial_number_is_none() {
    for none in [
        "",
        "0000000000000000",
        "AA000000000000000001",
        "1234567890",
        "123456",
        "REDACTED",
        "To be filled by O.E.M.",
        "N/A",
        "/dev/nvme0",
    ] {
        assert!(!drive("M", none, 1).has_serial(), "{none}");
    }
    for one in ["S3Z8NB0K", "TESTSERIAL0001", "S1", "BTWA123456789", "PHKS750500G1480BGN", "50026B72823D1475"]
    {
        assert!(drive("M", one, 1).has_serial(), "{one}");
    }
}

/// The story: 51.2 TB in 9,000 hours, then a reset. The bytes since were set against all hours, and 9.7 years became 112 days.
#[test]
fn after_a_reset_nothing_is_a_mean_of_its_life() {
    let readings = [(0, 51.2, 9_000), (10, 0.5, 9_240), (20, 2.56, 9_480)].map(|(day, tb, hours)| {
        let mut one = reading(day, tb, 10);
        one.wear.power_on_hours = Some(hours);
        one
    });
    let found = of(readings.to_vec(), Some(rated(100.0, 5.0)), None);
    assert_eq!((found.rates.life, found.implied_bytes), (None, None));
    assert!(found.rates.recent.is_some());
    // Its hours and its percentage are still those of its life: 90 % at 10 % in 9,480 hours, whatever was written then.
    let answer = found.answer.unwrap();
    assert_eq!(answer.name, RouteName::PercentUsed);
    close(answer.days.unwrap().likely, 9.0 * 9_480.0 / 24.0, 1e-9);
    assert!(found.routes[1].days.is_none(), "nobody knows how much was written in all");
}

/// The story: "its hours, and every rate over its life, are wrong", and above it "It lasts 382 days", from these hours.
#[test]
fn hours_that_cannot_be_give_no_projection() {
    let mut one = reading(0, 1_445.9, 5);
    (one.wear.power_on_hours, one.wear.busy_minutes) = (Some(482), Some(1_184_621));
    let found = of(vec![one], None, None);
    assert!(found.answer.is_none() && found.rates.life.is_none(), "{found:?}");
    assert!(found.too_thin.is_some());
}

#[test]
fn two_readings_that_no_drive_can_have_are_no_interval() {
    // 456 TB in five seconds.
    let mut fast = reading(0, 461.0, 40);
    fast.taken_utc = Some(at(0) + SignedDuration::from_secs(5));
    // 12,000 hours powered on in 19 days.
    let [mut young, mut old] = [(0, 10.0, 3), (19, 10.5, 4)].map(|(day, tb, used)| reading(day, tb, used));
    (young.wear.power_on_hours, old.wear.power_on_hours) = (Some(8_000), Some(20_000));
    for pair in [vec![reading(0, 5.0, 4), fast], vec![young, old]] {
        let found = of(pair, None, None);
        assert!(found.intervals[0].broken.is_some(), "{:?}", found.intervals);
        assert!(found.rates.recent.is_none() && found.rates.peak_day.is_none());
    }
}

/// The story: of two documents of one moment the second was dropped without a word, and so was one without a time.
#[test]
fn readings_that_are_not_used_are_named() {
    let mut untimed = reading(0, 7.0, 4);
    untimed.taken_utc = None;
    untimed.warnings.push(Warning::new(WarningCode::Implausible, "read in 1970"));
    let same_again = || vec![reading(10, 5.0, 4), reading(10, 5.0, 4), reading(20, 6.0, 5)];
    let warnings =
        |readings| of(readings, None, None).warnings.into_iter().map(|one| (one.code, one.message));
    let of_two: Vec<_> = warnings([same_again(), vec![reading(10, 5.5, 4)]].concat()).collect();
    let of_untimed: Vec<_> = warnings([same_again(), vec![untimed]].concat()).collect();
    let of_none = warnings(same_again()).count();
    assert_eq!(of_two.len(), of_none + 1, "{of_two:?}");
    assert_eq!(of_two[0].0, WarningCode::Implausible);
    assert_eq!(of_untimed.len(), of_none + 2, "{of_untimed:?}");
    assert!(of_untimed.iter().any(|(code, _)| *code == WarningCode::LeftOut));
}

#[test]
fn a_life_by_its_hours_is_one_of_hours_powered_on() {
    let mut one = reading(0, 100.0, 10);
    one.wear.power_on_hours = Some(8_760);
    assert!(of(vec![one], None, None).answer.unwrap().is_powered_time);
    let two = vec![reading(0, 100.0, 10), reading(10, 101.0, 11)];
    assert!(!of(two, None, None).answer.unwrap().is_powered_time);
}

#[test]
fn a_limit_is_met_missed_or_for_nobody_to_say() {
    use crate::requirement::Requirement;
    let limit = |text: &str| match text.parse().unwrap() {
        Requirement::Limit(limit) => limit,
        other => panic!("{other}"),
    };
    let worn = of(vec![reading(0, 100.0, 90), reading(10, 110.0, 92)], None, None);
    assert_eq!(worn.meets(&limit("days>90")), Some(false), "8 % at 0.2 % a day");
    assert_eq!((worn.meets(&limit("days>30")), worn.meets(&limit("used<80"))), (Some(true), Some(false)));
    let fresh = of(vec![reading(0, 1.0, 0)], None, None);
    assert_eq!((fresh.meets(&limit("days>90")), fresh.meets(&limit("used<80"))), (Some(true), Some(true)));
    let silent = of(vec![DriveReading::default()], None, None);
    assert_eq!((silent.meets(&limit("days>90")), silent.meets(&limit("used<80"))), (None, None));
}
