//! What prevents the comparison of two runs.

use super::*;
use crate::comparable::differences;
use crate::{Warning, WarningCode};

#[test]
fn two_runs_of_the_same_load_can_be_compared() {
    assert_eq!(differences(&load(""), &load("")), [""; 0]);
}

/// Comparing a run at depth 8 with one at depth 32 reported that the storage had become faster.
#[test]
fn every_setting_that_differs_is_named_with_both_values() {
    for (ours, theirs, wanted) in [
        ("block-size = '8K'", "block-size = '64K'", "data: different block sizes: 8 KiB and 64 KiB"),
        ("", "write-pct = 100", "data: different shares of writes: 0 % and 100 %"),
        ("", "access = 'sequential'", "data: different access: random and sequential"),
        ("", "region = '0%..50%'", "data: different regions: all and 0%..50%"),
        ("", "random-pct = 30", "data: different shares of jumps: 100 % and 30 %"),
        ("", "distribution = 'zipf:0.9'", "data: different distributions: uniform and zipf:0.9"),
        ("", "caching = 'buffered'", "data: different caching: direct and buffered"),
        ("", "durability = 'write-through'", "data: different durability: none and write-through"),
        ("", "rate = 500", "data: different rates: closed loop and 500"),
        ("", "queue-depth = 32", "data: different queue depths: 1 and 32"),
        ("", "workers = 3", "data: different workers: 1 and 3"),
    ] {
        let found = differences(&load(ours), &load(theirs));
        assert_eq!(found.len(), 1, "{theirs}: {found:?}");
        assert!(found[0].starts_with(wanted), "{found:?}");
    }
}

#[test]
fn what_went_wrong_with_either_run_is_a_reason_to_doubt_a_comparison() {
    let mut bad = load("");
    bad.interrupted = true;
    bad.warnings = vec![
        Warning::new(WarningCode::DeviceBusy, "sda was 80 % busy"),
        Warning::new(WarningCode::IoErrors, "3 requests failed"),
    ];
    let said = |word: &str| {
        [
            format!("the {word} was interrupted before its end"),
            format!("before the {word}, the device was busy: sda was 80 % busy"),
            format!("requests of the {word} failed"),
        ]
    };
    assert_eq!(differences(&bad, &load("")), said("first"));
    assert_eq!(differences(&load(""), &bad), said("second"));
}

#[test]
fn other_kinds_engines_and_roles_cannot_be_compared() {
    let mut other = load("");
    let RunBody::Load(outcome) = &mut other.body else { unreachable!() };
    outcome.spans[0].roles[0].engine = engine("psync");
    outcome.profile = profile(&[("data", ""), ("log", "")]);
    let found = differences(&load(""), &other);
    assert_eq!(
        found,
        ["they ran on different engines: io_uring and psync", "they have different numbers of roles"]
    );
    let renamed = profile(&[("oltp", "workers = 2")]);
    let spans = load("").body.as_kind::<LoadOutcome>().unwrap().spans.clone();
    let renamed = run(RunBody::Load(LoadOutcome { profile: renamed, asked: None, spans }));
    assert_eq!(differences(&load(""), &renamed), ["data, oltp: different workers: 1 and 2"]);
    let copy = run(RunBody::Copy(Box::default()));
    assert!(differences(&load(""), &copy).contains(&"one is a load, the other a copy".to_owned()));
}

/// Targets within one percent of each other count as the same size; one of twice the size does not.
#[test]
fn what_is_used_of_the_targets_must_be_of_one_size() {
    let sized = |mib: u64| {
        let mut run = load("");
        let RunBody::Load(outcome) = &mut run.body else { unreachable!() };
        outcome.spans[0].target_bytes = vec![mib * MIB];
        run
    };
    assert_eq!(differences(&sized(1_000), &sized(1_010)), [""; 0]);
    let found = differences(&sized(1_000), &sized(1_020));
    assert!(
        found[0].starts_with("the parts of their targets that were used have different sizes"),
        "{found:?}"
    );
    assert_eq!(differences(&sized(2_000), &sized(1_000)).len(), 1);
}

/// A drive was half as fast after an update that nobody had noticed.
#[test]
fn a_drive_with_other_firmware_is_named_and_another_drive_is_not() {
    let with = |serial: &str, firmware: &str| {
        let device = crate::device::DeviceIdentity {
            kernel_name: "nvme0n1".into(),
            model: Some("ACME 1000".into()),
            serial: Some(serial.into()),
            firmware: Some(firmware.into()),
            ..crate::device::DeviceIdentity::default()
        };
        Run { devices: vec![Some(device)], ..load("") }
    };
    let found = differences(&with("S1", "1.0"), &with("S1", "1.1"));
    assert_eq!(found, ["the firmware of ACME 1000 was another: 1.0 and 1.1"]);
    assert!(differences(&with("S1", "1.0"), &with("S2", "1.1")).is_empty());
    assert!(differences(&with("S1", "1.0"), &with("S1", "1.0")).is_empty());
}
