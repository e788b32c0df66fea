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

/// The story: without a document `--from-rate` and `--raid` were taken and changed nothing: the rating was shown, and no days.
#[test]
fn a_rating_alone_says_how_long_it_lasts_at_writes_that_are_expected() {
    let workspace = Workspace::new();
    let rating = ["drive", "endurance", "--tbw", "1.38PB", "--years", "5", "--json", "-"];
    let planned = |more: &[&str], status| {
        let ran = workspace.run(&[&rating[..], more].concat()).expect_status(status);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        report["planned"]["days"].as_f64().unwrap()
    };
    assert!((planned(&["--from-rate", "5TB/day"], 0) - 276.0).abs() < 1e-6);
    assert!((planned(&["--from-rate", "5TB/day", "--raid", "5:4"], 0) - 552.0).abs() < 1e-6);
    planned(&["--from-rate", "5TB/day", "--require", "days>300"], 1);
    workspace.run(&[&rating[..], &["--require", "used<80"]].concat()).expect_status(2);
    for unread in [&["--csv", "a.csv"][..], &["--drives", "x.toml"]] {
        let ran = workspace.run(&[&rating[..6], unread].concat()).expect_status(2);
        assert!(ran.stderr.contains(unread[0]), "{}", ran.stderr);
    }
    for nothing in [&["--years", "5"][..], &["--capacity", "1TB"]] {
        workspace.run(&[&["drive", "endurance"], nothing].concat()).expect_status(2);
    }
}

/// The story: a monitoring system got 0 for a drive that lasts eight days, and 2 for a healthy one that is hardly used.
#[test]
fn a_requirement_decides_the_status_of_drives_that_are_healthy() {
    let workspace = Workspace::new();
    let drop = a_month(&workspace);
    let status = |limit: &str, status| {
        workspace
            .run(&["drive", "endurance", drop.to_str().unwrap(), "--require", limit])
            .expect_status(status)
    };
    status("days>90,used<80", 0);
    status("days>9000", 1);
    status("used<16", 1);
    let json = workspace
        .run(&["drive", "endurance", drop.to_str().unwrap(), "--require", "used<16", "--json", "-"])
        .expect_status(1);
    let report: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (report["judged"][0]["is_met"].as_bool(), report["judged"][0]["limit"].as_str()),
        (Some(false), Some("used<16"))
    );
    status("iops>3", 2);
}

/// The story: two drives with one serial number became one, which wrote 7,874 PB a day; 97 drives of documents that were made
/// anonymous became one, and the one that failed was gone.
#[test]
fn drives_that_are_not_one_stay_apart() {
    let workspace = Workspace::new();
    let drop = workspace.path("drop");
    let mut other = document("AA000000000000000001", 0, 900_000_000, 101);
    other["model_name"] = json!("Other 1TB");
    save(&drop, "a1.json", &document("AA000000000000000001", 0, 10_000_000, 4));
    save(&drop, "a2.json", &other);
    for (name, used) in [("r1.json", 5), ("r2.json", 104)] {
        save(&drop, name, &document("REDACTED", 0, 20_000_000, used));
    }
    let log = |used: u64, units: u64| json!({"avail_spare": 100, "spare_thresh": 10, "percent_used": used, "data_units_written": units, "power_on_hours": 8_000});
    for (host, used) in [("h1", 3), ("h2", 40)] {
        save(&drop.join(host), "nvme0n1.json", &log(used, 20_000_000 * used));
    }
    let places = [drop.clone(), drop.join("h1"), drop.join("h2")];
    let places: Vec<&str> = places.iter().map(|place| place.to_str().unwrap()).collect();
    let ran = workspace.run(&[&["drive", "endurance", "--json", "-"], &places[..]].concat()).expect_status(1);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let drives = report["drives"].as_array().unwrap();
    let used: Vec<u64> = drives.iter().map(|one| one["wear"]["used"]["percent"].as_u64().unwrap()).collect();
    assert_eq!(used, [4, 101, 5, 104, 3, 40], "{report}");
    let is_told = |one: &Value| one["warnings"].to_string().contains("serial-shared");
    assert!(drives.iter().all(is_told), "{report}");
    // As a source they stay apart too.
    workspace.run(&["collect", "once", &format!("smart:{}", drop.display())]).expect_status(0);
    let ran = workspace.run(&["drive", "endurance", "--json", "-"]).expect_status(1);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["drives"].as_array().map(Vec::len), Some(4), "{report}");
}

/// Options that a branch of a verb does not read were taken without a word.
#[test]
fn an_option_that_its_branch_does_not_read_is_refused_by_name() {
    let workspace = Workspace::new();
    for (line, named) in [
        ("drive qualify --backup-size 1G t.dat", "--backup-size"),
        ("drive limits --vendor-log --seed 3 t.dat", "--seed"),
        ("drive limits --vendor-log --overwrite t.dat t.dat", "--overwrite"),
        ("drive guard --tolerance 1% t.dat", "--capacity"),
        ("drive guard --capacity 1iops,900000iops t.dat", "--capacity"),
        ("collect once --database nosuch linux:", "--database"),
        ("collect run --database nosuch --duration 1s linux:", "--database"),
    ] {
        let ran = workspace.run(&line.split(' ').collect::<Vec<_>>()).expect_status(2);
        assert!(ran.stderr.contains(named), "{line}: {}", ran.stderr);
    }
    assert!(!workspace.path("t.dat").exists());
}

#[test]
fn a_drive_that_is_new_or_fails_or_is_none_has_its_own_status_and_says_why() {
    let workspace = Workspace::new();
    let here = workspace.path("");
    save(&here, "new.json", &document("N", 0, 20, 0));
    let ran = workspace.run(&["drive", "endurance", "new.json"]).expect_status(0);
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
