//! The report of three drives: one with every route, one too new, one that fails.

use iostall_model::drive::{
    CountedBytes, CountedPercent, DriveHistory, DriveIdentity, DriveLink, DriveRating, DriveReading, Wear,
    endurance,
};
use iostall_session::output::Form;
use iostall_watch::EnduranceReport;
use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::forms::sections_text;
use crate::text::TextOptions;

fn reading(serial: &str, day: i64, host_gb: u64, used: u64) -> DriveReading {
    let counted = |gb: u64| Some(CountedBytes { bytes: gb * 1_000_000_000, origin: "NVMe log 02h".into() });
    DriveReading {
        drive: DriveIdentity {
            model: "ACME 1000".into(),
            serial: serial.into(),
            firmware: Some("1.0".into()),
            link: Some(DriveLink::Nvme),
            capacity_bytes: Some(1_000_000_000_000),
            ..DriveIdentity::default()
        },
        taken_utc: Some(
            "2026-10-01T00:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_hours(24 * day),
        ),
        wear: Wear {
            host: counted(host_gb),
            nand: counted(host_gb * 3),
            used: Some(CountedPercent { percent: used, origin: "NVMe log 02h".into() }),
            spare_percent: Some(100),
            spare_threshold_percent: Some(10),
            power_on_hours: Some(20_000 + 24 * day.unsigned_abs()),
            erase_cycles: Some(300),
            passed: Some(true),
            ..Wear::default()
        },
        warnings: Vec::new(),
    }
}

fn report() -> EnduranceReport {
    let rating = DriveRating {
        written_bytes: Some(1.38e15),
        years: Some(5.0),
        workload: Some("JESD219".into()),
        erase_cycles: Some(3_000),
        physical_bytes: Some(1_100_000_000_000),
        origin: "drives.toml [[drive]] ACME *".into(),
        ..DriveRating::default()
    };
    let history = |readings| DriveHistory::of(readings).unwrap();
    let old = history(vec![
        reading("S1", 0, 200_000, 14),
        reading("S1", 5, 201_500, 14),
        reading("S1", 30, 209_000, 16),
    ]);
    let fresh = history(vec![reading("S2", 0, 10, 0)]);
    let mut failing = reading("S3\u{1b}[2J<b>", 0, 900_000, 104);
    failing.wear.passed = Some(false);
    let drives = vec![
        endurance(&old, Some(rating), None),
        endurance(&fresh, None, None),
        endurance(&history(vec![failing]), None, None),
    ];
    EnduranceReport {
        drives,
        left_out: vec!["/drop/x.json is no JSON: EOF".into()],
        ..EnduranceReport::default()
    }
}

fn written(form: Form) -> String {
    let mut out = Vec::new();
    write_endurance(&report(), form, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_life_of_drives_reads_so() {
    let report = report();
    let options = TextOptions { width: 120, ..TextOptions::default() };
    insta::assert_snapshot!("endurance-text", sections_text(&title(&report), &sections(&report), &options));
    insta::assert_snapshot!("endurance-markdown", written(Form::Markdown));
    insta::assert_snapshot!("endurance-csv", written(Form::Csv));
    insta::assert_snapshot!("endurance-json", written(Form::Json));
}

#[test]
fn a_page_of_drives_has_its_chart_and_obeys_no_name() {
    let page = written(Form::Html);
    assert!(page.contains("id=\"span-1-written\"") && !page.contains("id=\"span-2-written\""));
    assert!(!page.contains("<b>") && !page.contains('\u{1b}'));
}

#[test]
fn times_and_bytes_are_written_as_data_sheets_do() {
    let times = [None, Some(-1.0), Some(0.5), Some(45.4), Some(730.0), Some(1e9)].map(page::time);
    assert_eq!(times, ["–", "nothing", "12 hours", "45 days", "2.0 years", "over 1,000 years"]);
    let sizes = [999.0, 6.85e9, 20.96e9, 1.38e15].map(|size| page::bytes(Some(size)));
    assert_eq!(sizes, ["999 B", "6.85 GB", "21.0 GB", "1.38 PB"]);
}
