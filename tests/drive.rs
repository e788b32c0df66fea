//! `iostall drive`: saved documents of drives, made here in the shape that smartctl and nvme-cli write.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::Workspace;

const DAY_S: i64 = 86_400;
const START_S: i64 = 1_790_000_000;

/// What `smartctl -j -x` says of an NVMe drive after `day` days.
fn document(serial: &str, day: i64, units: u64, used: u64) -> Value {
    json!({
        "json_format_version": [1, 0],
        "smartctl": {"version": [7, 3], "exit_status": 0},
        "local_time": {"time_t": START_S + day * DAY_S},
        "device": {"name": "/dev/nvme0", "type": "nvme", "protocol": "NVMe"},
        "model_name": "ACME 1000", "serial_number": serial, "firmware_version": "1.0",
        "nvme_total_capacity": 1_000_204_886_016_u64,
        "smart_status": {"passed": true, "nvme": {"value": 0}},
        "nvme_smart_health_information_log": {
            "critical_warning": 0, "available_spare": 100, "available_spare_threshold": 10, "percentage_used": used,
            "data_units_written": units, "controller_busy_time": 600, "power_on_hours": 20_000 + 24 * day, "media_errors": 0,
        },
    })
}

fn save(directory: &Path, name: &str, document: &Value) {
    std::fs::create_dir_all(directory).unwrap();
    std::fs::write(directory.join(name), document.to_string()).unwrap();
}

/// 200 TB written, one of 0.1 TB a day and 2 % in 20 days.
fn a_month(workspace: &Workspace) -> std::path::PathBuf {
    let drop = workspace.path("drop");
    for (day, used) in [(0, 14), (10, 15), (20, 16)] {
        let units = 390_625_000 + 195_312 * u64::try_from(day).unwrap();
        save(&drop, &format!("S1-{day}.json"), &document("S1", day, units, used));
    }
    drop
}

#[test]
fn saved_documents_give_rates_and_four_routes_in_every_form() {
    let workspace = Workspace::new();
    let drop = a_month(&workspace);
    // The flash's own bytes come from a log of its own, saved a minute later.
    for day in [10, 20_u64] {
        let time = jiff::Timestamp::from_second(START_S + i64::try_from(day).unwrap() * DAY_S + 60).unwrap();
        let media = json!({"avl_spare": "100", "media_units_written": (600_000 + 300 * day).to_string()});
        save(&drop, &format!("S1@{time}.json"), &media);
    }
    std::fs::write(workspace.path("drives.toml"), "[[drive]]\nmodel = \"ACME *\"\ntbw = \"1380TB\"\nyears = 5\nerase-cycles = 3000\nphysical = \"1.1TB\"\nnand = \"3300TB\"\n").unwrap();
    let drop = drop.to_str().unwrap();
    let ran = workspace
        .run(&[
            "drive",
            "endurance",
            drop,
            "--drives",
            "drives.toml",
            "--json",
            "a.json",
            "--csv",
            "a.csv",
            "--html",
            "a.html",
            "--markdown",
            "a.md",
        ])
        .expect_status(0);
    assert!(ran.stdout.contains("It lasts 2.3 years, by percentage used"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("NVMe log 02h") && ran.stdout.contains("endurance group log 09h"),
        "{}",
        ran.stdout
    );
    let report: Value = serde_json::from_slice(&std::fs::read(workspace.path("a.json")).unwrap()).unwrap();
    let drive = &report["drives"][0];
    assert_eq!(
        (drive["readings"].as_u64(), drive["wear"]["host"]["bytes"].as_u64()),
        (Some(3), Some(201_999_994_880_000))
    );
    let close = |value: &Value, expected: f64| {
        let value = value.as_f64().unwrap();
        assert!((value / expected - 1.0).abs() < 0.001, "{value}, expected {expected}");
    };
    close(&drive["rates"]["recent"], 99_999_744_000.0);
    close(&drive["write_amplification"]["value"], 3.0);
    // 84 % at 0.1 % a day; 1,178 TB at 0.1; (3,000 - 551) cycles of 1.1 TB at 0.3; 2,694 TB at 0.3.
    for (route, days) in drive["routes"].as_array().unwrap().iter().zip([840.0, 11_780.0, 8_980.0, 8_980.0]) {
        close(&route["days"]["likely"], days);
    }
    let csv = std::fs::read_to_string(workspace.path("a.csv")).unwrap();
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(std::fs::read_to_string(workspace.path("a.html")).unwrap().contains("span-1-written"));
    assert!(std::fs::read_to_string(workspace.path("a.md")).unwrap().contains("percentage used"));
}

#[test]
fn expected_writes_go_through_the_array_to_each_drive() {
    let workspace = Workspace::new();
    let drop = a_month(&workspace);
    let rating =
        ["--tbw", "1380TB", "--years", "5", "--from-rate", "200GB/day", "--raid", "5:4", "--json", "-"];
    let ran = workspace
        .run(&[&["drive", "endurance", drop.to_str().unwrap()], &rating[..]].concat())
        .expect_status(0);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let days = report["drives"][0]["routes"][1]["days"]["likely"].as_f64().unwrap();
    assert!((days - 11_780.0).abs() < 1.0, "100 GB a day to each: {days}");
    for wrong in [
        &["--raid", "5:2", "--from-rate", "1GB/day"][..],
        &["--raid", "5:4"],
        &["--from-rate", "200GB"],
        &["--tbw", "1TB"],
    ] {
        workspace.run(&[&["drive", "endurance", "x.json"], wrong].concat()).expect_status(2);
    }
}

/// "7.5 TB over 3 years is no more than 21 GB a day" was printed; it is a third of that.
#[test]
fn a_rating_is_shown_in_its_spellings_without_any_drive() {
    let workspace = Workspace::new();
    let ran = workspace
        .run(&["drive", "endurance", "--tbw", "7.5TB", "--years", "3", "--capacity", "80GB"])
        .expect_status(0);
    assert!(ran.stdout.contains("6.85 GB/day") && ran.stdout.contains("0.086"), "{}", ran.stdout);
    let ran = workspace.run(&["drive", "endurance", "--dwpd", "1", "--years", "5"]).expect_status(2);
    assert!(ran.stderr.contains("need the capacity"), "{}", ran.stderr);
}

#[test]
fn a_drive_that_is_new_or_fails_or_is_none_has_its_own_status_and_says_why() {
    let workspace = Workspace::new();
    let here = workspace.path("");
    save(&here, "new.json", &document("N", 0, 20, 0));
    let ran = workspace.run(&["drive", "endurance", "new.json"]).expect_status(2);
    assert!(ran.stdout.contains("Too thin for a projection"), "{}", ran.stdout);
    let mut failing = document("F", 0, 400_000_000, 60);
    failing["smartctl"]["exit_status"] = json!(8);
    save(&here, "failing.json", &failing);
    let ran = workspace.run(&["drive", "endurance", "failing.json", "new.json"]).expect_status(1);
    assert!(ran.stdout.contains("reports a failure"), "{}", ran.stdout);
    std::fs::write(workspace.path("cut.json"), &document("C", 0, 1, 1).to_string()[..100]).unwrap();
    let ran = workspace.run(&["drive", "endurance", "cut.json"]).expect_status(2);
    assert!(
        ran.stderr.contains("cut.json is no JSON") && ran.stderr.contains("smartctl -j -x"),
        "{}",
        ran.stderr
    );
    let ran = workspace.run(&["drive", "endurance", "/dev/null"]).expect_status(2);
    assert!(ran.stderr.contains("/dev/null"), "{}", ran.stderr);
    let ran = workspace.run(&["drive", "endurance", "failing.json", "--json", "failing.json"]);
    assert_eq!(ran.status, Some(2), "{}", ran.stderr);
    assert!(
        std::fs::read_to_string(workspace.path("failing.json")).unwrap().contains("smartctl"),
        "it is not written over"
    );
}

/// Documents in a directory are sampled like any other source, and their own times count, not those of the samples.
#[test]
fn sampled_drives_are_projected_from_the_store() {
    let workspace = Workspace::new();
    let drop = workspace.path("drop");
    let source = format!("smart:{}", drop.display());
    for day in 0..=10_i64 {
        let units = 390_625_000 + 195_312 * day.unsigned_abs();
        save(&drop, "S1.json", &document("S1", day, units, 14 + day.unsigned_abs() / 10));
        workspace.run(&["collect", "once", &source]).expect_status(0);
    }
    workspace.run(&["collect", "once", &source]).expect_status(0);
    let ran = workspace.run(&["drive", "endurance", "--json", "-"]).expect_status(0);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let drive = &report["drives"][0];
    assert_eq!(
        (drive["drive"]["model"].as_str(), drive["drive"]["serial"].as_str()),
        (Some("ACME 1000"), Some("S1"))
    );
    assert!(drive["readings"].as_u64().is_some_and(|readings| readings >= 10), "{drive}");
    for rate in ["recent", "peak_day"] {
        let found = drive["rates"][rate].as_f64().unwrap();
        assert!((found / 99_999_744_000.0 - 1.0).abs() < 1e-6, "{rate}: {found}");
    }
    assert_eq!(drive["answer"]["name"], "percent-used");
    workspace.run(&["drive", "endurance", "--drives", "none.toml"]).expect_status(2);
    let ran = workspace.run(&["collect", "once", "smart:/dev/no-such-drive"]).expect_status(2);
    assert!(ran.stderr.contains("/dev/no-such-drive"), "{}", ran.stderr);
}

#[test]
fn a_store_without_drives_says_how_to_sample_them() {
    let ran = Workspace::new().run(&["drive", "endurance"]).expect_status(2);
    assert!(ran.stderr.contains("smart:/dev/nvme0"), "{}", ran.stderr);
}
