//! Exit statuses: one table of what 1 means, verb by verb, and every verb ends with 2 where it is called wrongly.

use std::collections::BTreeSet;
use std::path::Path;

use crate::devices::LoopDevice;
use crate::support::Workspace;

/// Verbs that do something by themselves although others stand below them.
const WITH_VERBS_BELOW: [&str; 3] = ["backup restore", "fleet runs", "runs"];

/// All verbs that do something, as the reference names them.
fn verbs(here: &Workspace) -> BTreeSet<String> {
    let reference = here.run(&["reference"]).expect_status(0).stdout;
    let names = || reference.lines().filter_map(|line| line.strip_prefix("## `iostall ")?.strip_suffix('`'));
    let has_below = |name: &str| names().any(|other| other.starts_with(&format!("{name} ")));
    names().filter(|name| WITH_VERBS_BELOW.contains(name) || !has_below(name)).map(str::to_owned).collect()
}

#[test]
fn every_verb_says_in_the_table_what_1_means() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clauses/exit-status.md");
    let table = std::fs::read_to_string(table).unwrap();
    let mut rows = BTreeSet::new();
    for line in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, verb, meaning, tests, _] = cells[..] else { panic!("not a row of three cells: {line}") };
        assert_eq!(meaning == "never", tests.is_empty(), "1 has a meaning and a test, or neither: {line}");
        rows.insert(verb.trim_matches('`').to_owned());
    }
    assert_eq!(verbs(&Workspace::new()), rows);
}

#[test]
fn a_verb_that_is_called_wrongly_ends_with_2_and_says_so() {
    let here = Workspace::new();
    for verb in verbs(&here) {
        let words: Vec<&str> = verb.split(' ').chain(["--no-such-option"]).collect();
        let status = match verb.as_str() {
            // DiskSpd's own status for a command line that it cannot read.
            "diskspd" => 3,
            // PostgreSQL goes on with a recovery at every status up to 125.
            "backup wal fetch" => 200,
            _ => 2,
        };
        let ran = here.run(&words).expect_status(status);
        assert!(ran.stdout.is_empty() && ran.stderr.contains("no-such-option"), "{verb}: {}", ran.stderr);
    }
}

#[test]
fn a_requirement_that_does_not_hold_is_a_no_of_every_command_that_takes_one() {
    let here = Workspace::new();
    let fsync = ["fsync", "--duration", "100ms", "--committers", "1", "--methods", "fdatasync", "--require"];
    here.run(&[&fsync[..], &["iops>1e15", "."]].concat()).expect_status(1);
    let load =
        ["load", "--engine", "null", "--duration", "100ms", "--warmup", "0s", "--require", "iops>1e15"];
    here.run(&load).expect_status(1);
}

#[test]
fn a_device_with_blocks_that_cannot_be_read_is_a_no() {
    let here = Workspace::new();
    let Some(device) = LoopDevice::new(&here, "a device with blocks that cannot be read", 64) else { return };
    // What a loop device has behind the end of its file cannot be read.
    std::fs::File::options().write(true).open(here.path("image")).unwrap().set_len(32 << 20).unwrap();
    here.run(&["drive", "limits", "--read-all", "--json", "o.json", device.name()]).expect_status(1);
    assert_eq!(here.json("o.json")["summary"]["read_all"]["is_whole"], true);
}
