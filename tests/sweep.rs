//! `iostall sweep`.

use std::fs;

use serde_json::Value;

use crate::running::Running;
use crate::support::{Ran, Workspace, pause};

const SHORT: [&str; 5] = ["sweep", "--warmup", "10ms", "--repeats-max", "3"];

fn with_short<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    SHORT.iter().copied().chain(arguments.iter().copied()).collect()
}

#[test]
fn a_sweep_of_a_real_file_ends_with_the_setting_to_use_in_every_form() {
    let here = Workspace::new();
    let what = ["--size", "64MiB", "--in-flight-max", "32", "--csv", "s.csv", "--html", "s.html", "data.dat"];
    let (ran, run) = here.sweep(&with_short(&what));
    let ran = ran.expect_status(0);
    assert!(ran.stdout.contains("Use depth"), "{}", ran.stdout);
    assert!(ran.stdout.contains("-o") && ran.stdout.contains("diskspd -d60 -L -b8K"), "{}", ran.stdout);
    let points = run["summary"]["points"].as_array().unwrap();
    let in_flight: Vec<u64> = points.iter().map(|point| point["in_flight"].as_u64().unwrap()).collect();
    assert_eq!(in_flight[..3], [1, 2, 4]);
    assert!(in_flight.iter().all(|count| *count <= 32), "{in_flight:?}");
    let sweep = &run["sweep"];
    assert!(sweep["checked"]["repeats"].as_array().unwrap().len() >= 2);
    let recommended = recommended(&run);
    let options = format!("-o{} -t{}", recommended["queue_depth"], recommended["workers"]);
    assert!(ran.stdout.contains(&options), "{options}: {}", ran.stdout);
    assert_eq!(fs::read_to_string(here.path("s.csv")).unwrap().lines().count(), points.len() + 1);
    assert!(fs::read_to_string(here.path("s.html")).unwrap().contains("Latency against throughput"));
    let listed = here.run(&["runs"]).expect_status(0).stdout;
    assert!(listed.contains("sweep") && listed.contains("IOPS"), "{listed}");
    let again = here.run(&["runs", "show", "last"]).expect_status(0).stdout;
    let (first, _) = ran.stdout.split_once("\nstored as run #1").expect("the run's number");
    assert!(again.starts_with(first), "first:\n{}\nagain:\n{again}", ran.stdout);
}

fn recommended(run: &Value) -> Value {
    let knees = run["summary"]["sweep"]["knees"].as_array().unwrap();
    knees.iter().find(|knee| knee["recommended"] == true).unwrap().clone()
}

#[test]
fn a_latency_target_decides_and_one_that_nothing_keeps_is_answered_with_no() {
    let here = Workspace::new();
    // Longer than any request in this test.
    let met = ["--engine", "null", "--in-flight-max", "4", "--target-latency", "1h"];
    let (ran, run) = here.sweep(&with_short(&met));
    ran.expect_status(0);
    assert_eq!(recommended(&run)["by"], "latency");
    let missed = here
        .run(&with_short(&[
            "--interval",
            "150ms",
            "--size",
            "64MiB",
            "--in-flight-max",
            "2",
            "--target-latency",
            "1ns",
            "data.dat",
        ]))
        .expect_status(1);
    assert!(missed.stdout.contains("No setting keeps the target"), "{}", missed.stdout);
}

#[test]
fn a_sweep_that_is_stopped_keeps_what_it_has_measured() {
    let here = Workspace::new();
    // Far from its end when the first point is reported: the others take three seconds each.
    let arguments =
        ["sweep", "--engine", "null", "--interval", "1s", "--repeats-max", "3", "--json", "s.json"];
    let mut sweep = here.start(&arguments);
    sweep.wait_for(" IOPS");
    sweep.signal("INT");
    let ran = sweep.ended().expect_status(130);
    assert!(ran.stdout.contains("INTERRUPTED"), "{}", ran.stdout);
    let run = here.json("s.json");
    assert_eq!(run["interrupted"], true);
    assert!(!run["summary"]["points"].as_array().unwrap().is_empty());
}

#[test]
fn a_sweep_that_writes_needs_the_flag_that_names_the_file() {
    let here = Workspace::new();
    fs::write(here.path("mine.dat"), vec![7_u8; 1 << 20]).unwrap();
    let refused = here.run(&with_short(&["--write-pct", "50", "mine.dat"])).expect_status(2);
    assert!(refused.stderr.contains("--overwrite"), "{}", refused.stderr);
    assert!(fs::read(here.path("mine.dat")).unwrap().iter().all(|byte| *byte == 7));
    let options = ["--write-pct", "50", "--overwrite", "mine.dat", "--in-flight-max", "2", "mine.dat"];
    here.sweep(&with_short(&options)).0.expect_status(0);
}

#[test]
fn what_measures_nothing_is_refused() {
    let here = Workspace::new();
    let refused = here.run(&["sweep", "--interval", "0", "data.dat"]).expect_status(2);
    assert!(refused.stderr.contains("--interval"), "{}", refused.stderr);
    assert!(!here.path("data.dat").exists());
}

/// A search for the highest rate with `arguments`, repeated with longer intervals if the device stalled for
/// all of one.
fn searched(here: &Workspace, arguments: &[&str]) -> (Ran, Value) {
    let search = ["sweep", "--max-rate", "--json", "m.json"];
    let searched = ["100ms", "2s", "20s"].into_iter().find_map(|interval| {
        let ran = here.run(&[&search[..], &["--interval", interval], arguments].concat());
        let run = here.json("m.json");
        run["summary"]["points"].is_array().then_some((ran, run))
    });
    searched.expect("a rate that was tried")
}

#[test]
fn the_highest_rate_keeps_the_promise_it_was_asked_for() {
    let here = Workspace::new();
    let what = ["--p99", "100ms", "--warmup", "20ms", "--html", "m.html", "--size", "64MiB"];
    let (ran, run) = searched(&here, &[&what[..], &["--in-flight-max", "16", "data.dat"]].concat());
    let found = &run["summary"]["max_rate"];
    let points = run["summary"]["points"].as_array().unwrap();
    assert!(points.iter().all(|point| point["rate_iops"].as_f64().unwrap() > 0.0));
    match found["rate_iops"].as_f64() {
        // A machine that stalls for a tenth of a second again and again meets no target.
        None => ran.expect_status(1),
        Some(rate) => {
            assert!(found["latency_ns_p99"].as_u64().unwrap() <= 100_000_000, "{found}");
            assert!(
                points.iter().any(|point| point["rate_iops"] == rate && point["intervals"] == 3),
                "{found}"
            );
            let ran = ran.expect_status(0);
            assert!(ran.stdout.contains("are answered in time"), "{}", ran.stdout);
            ran
        }
    };
}

#[test]
fn a_promise_that_nothing_can_keep_is_answered_with_no() {
    let here = Workspace::new();
    let (ran, _) = searched(&here, &["--p99", "1ns", "--engine", "null", "--warmup", "0"]);
    let ran = ran.expect_status(1);
    assert!(ran.stdout.contains("No rate that was tried keeps"), "{}", ran.stdout);
    let refused = here.run(&["sweep", "--max-rate", "data.dat"]).expect_status(2);
    assert!(refused.stderr.contains("--p99"), "{}", refused.stderr);
}

#[test]
fn storage_that_fails_in_the_middle_is_no_success() {
    // A setting abandoned because all its requests failed has no point. Only points without failures were
    // left, so the exit status was 0.
    let here = Workspace::new();
    let mut sweep =
        here.start(&["sweep", "--interval", "10s", "--size", "16MiB", "--json", "s.json", "data.dat"]);
    sweep.wait_until("the load", Running::is_loading);
    pause(1000);
    fs::File::options().write(true).open(here.path("data.dat")).unwrap().set_len(0).unwrap();
    sweep.ended().expect_status(1);
    assert!(crate::support::warnings(&here.json("s.json")).contains(&"io-errors".to_owned()));
}
