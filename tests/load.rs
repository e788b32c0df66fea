//! `iostall load` on real files.

use std::collections::HashSet;
use std::fs;

use iostall_measure::{Clock, MonotonicClock};
use serde_json::Value;

use crate::running::Running;
use crate::support::{Workspace, counted, pause, until, warnings};

const SHORT: [&str; 4] = ["--duration", "1s", "--warmup", "200ms"];

fn with_short<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["load"];
    all.extend(SHORT);
    all.extend(arguments);
    all
}

/// Whether every role has moved data.
fn all_moved(run: &Value) -> bool {
    let roles = run["load"]["spans"][0]["roles"].as_array().unwrap().len();
    (0..roles).all(|role| counted(run, role, "read").0 + counted(run, role, "write").0 > 0)
}

#[test]
fn the_issue_s_own_command_line_makes_the_file_measures_it_and_writes_every_form() {
    let here = Workspace::new();
    let ran = here
        .run(&with_short(&[
            "--preset",
            "random-read",
            "--size",
            "64MiB",
            "--block-size",
            "8K",
            "--queue-depth",
            "8",
            "--workers",
            "2",
            "--json",
            "out.json",
            "--csv",
            "out.csv",
            "--html",
            "out.html",
            "data.dat",
        ]))
        .expect_status(0);
    assert!(ran.stdout.contains("IOPS"), "{}", ran.stdout);
    assert_eq!(fs::metadata(here.path("data.dat")).unwrap().len(), 64 << 20);
    let run = here.json("out.json");
    assert_eq!(run["schema"], "iostall-run");
    let (count, bytes) = counted(&run, 0, "read");
    assert_eq!(bytes, count * 8192);
    assert_eq!(counted(&run, 0, "write").0, 0);
    assert_eq!(run["load"]["spans"][0]["measured_ns"], 1_000_000_000);
    assert_eq!(run["targets"][0]["made_by_iostall"], true);
    assert!(fs::read_to_string(here.path("out.csv")).unwrap().lines().count() >= 2);
    assert!(fs::read_to_string(here.path("out.html")).unwrap().contains("</html>"));
    let listed = here.run(&["runs"]).expect_status(0);
    assert!(listed.stdout.contains("random-read") && listed.stdout.contains("#1"), "{}", listed.stdout);
}

#[test]
fn every_byte_of_a_made_file_is_written_and_no_two_blocks_are_alike() {
    let here = Workspace::new();
    here.run(&with_short(&["--size", "8MiB", "data.dat"])).expect_status(0);
    let data = fs::read(here.path("data.dat")).unwrap();
    let mut blocks: Vec<&[u8]> = data.chunks(4096).collect();
    assert_eq!(blocks.len(), 2048);
    assert!(blocks.iter().all(|block| block.iter().any(|byte| *byte != 0)));
    blocks.sort_unstable();
    blocks.dedup();
    assert_eq!(blocks.len(), 2048);
}

#[test]
fn without_any_argument_a_scratch_file_is_loaded_and_removed() {
    let here = Workspace::new();
    let ran = here.run(&with_short(&["--size", "64MiB"])).expect_status(0);
    assert!(ran.stdout.contains("oltp"), "{}", ran.stdout);
    assert!(!here.path("iostall-scratch.dat").exists());
}

#[test]
fn every_preset_runs_on_one_file() {
    let here = Workspace::new();
    let listed = here.run(&["presets"]).expect_status(0).stdout;
    let names: Vec<&str> = listed
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    for wanted in [
        "random-read",
        "scan",
        "log-write",
        "backup-read",
        "oltp",
        "tempdb",
        "checkpoint",
        "postgres",
        "mariadb",
    ] {
        assert!(names.contains(&wanted), "{names:?}");
    }
    for name in names {
        here.load(&["--preset", name, "--size", "256MiB", "data.dat"], all_moved);
    }
}

#[test]
fn a_role_sent_elsewhere_works_there_and_nowhere_else() {
    let here = Workspace::new();
    here.run(&with_short(&[
        "--preset",
        "oltp",
        "--size",
        "64MiB",
        "--target",
        "log=log.dat",
        "--json",
        "o.json",
        "data.dat",
    ]))
    .expect_status(0);
    let run = here.json("o.json");
    let roles = run["load"]["spans"][0]["roles"].as_array().unwrap();
    for role in roles {
        let wanted = u64::from(role["name"] == "log");
        assert!(
            role["cells"].as_array().unwrap().iter().all(|cell| cell["target"] == wanted),
            "{}",
            role["name"]
        );
    }
}

#[test]
fn a_file_of_the_user_s_is_read_without_a_flag_and_never_written_without_its_name() {
    let here = Workspace::new();
    let path = here.path("precious.dat");
    fs::write(&path, vec![7_u8; 4 << 20]).unwrap();
    here.run(&with_short(&["--preset", "random-read", "precious.dat"])).expect_status(0);
    let refused = here.run(&with_short(&["--preset", "oltp", "precious.dat"])).expect_status(2);
    assert!(refused.stderr.contains("hint:") && refused.stderr.contains("--overwrite"), "{}", refused.stderr);
    assert_eq!(fs::read(&path).unwrap(), vec![7_u8; 4 << 20]);
    let elsewhere = here.run(&with_short(&["--preset", "oltp", "--overwrite", "other.dat", "precious.dat"]));
    elsewhere.expect_status(2);
    assert_eq!(fs::read(&path).unwrap(), vec![7_u8; 4 << 20]);
    here.run(&with_short(&["--preset", "random-write", "--overwrite", "precious.dat", "precious.dat"]))
        .expect_status(0);
    assert_ne!(fs::read(&path).unwrap(), vec![7_u8; 4 << 20]);
}

/// The stored run of a load interrupted after `millis`.
fn interrupted_after(here: &Workspace, millis: u64) -> Value {
    let clock = MonotonicClock::new();
    let base = ["load", "--preset", "random-read", "--size", "64MiB", "--duration", "1h", "--warmup", "0"];
    let mut load = here.start(&[&base[..], &["--json", "part.json", "data.dat"]].concat());
    load.wait_until("the load", Running::is_loading);
    pause(millis);
    load.signal("INT");
    load.ended().expect_status(130);
    let run = here.json("part.json");
    assert_eq!(run["interrupted"], true);
    assert!(warnings(&run).contains(&"interrupted".to_owned()));
    let measured_ns = run["load"]["spans"][0]["measured_ns"].as_u64().unwrap();
    assert!(measured_ns < clock.now_ns(), "{measured_ns} ns of {}", clock.now_ns());
    run
}

#[test]
fn ctrl_c_keeps_a_valid_partial_result_and_marks_it() {
    let here = Workspace::new();
    // A stalled device has completed nothing by then and gets more time.
    let run = [1_000, 10_000, 100_000]
        .into_iter()
        .map(|millis| interrupted_after(&here, millis))
        .find(|run| counted(run, 0, "read").0 > 0);
    let run = run.expect("reads in the partial result");
    assert!(run["load"]["spans"][0]["measured_ns"].as_u64().unwrap() > 0);
}

#[test]
fn ctrl_c_while_the_file_is_made_leaves_nothing_behind() {
    let here = Workspace::new();
    let mut load = here.start(&["load", "--size", "4GiB", "--duration", "1h", "data.dat"]);
    load.wait_until("the file", |_| here.path("data.dat").exists());
    load.signal("INT");
    load.ended().expect_status(130);
    assert!(!here.path("data.dat").exists());
}

#[test]
fn doubts_travel_with_the_numbers() {
    let here = Workspace::new();
    here.run(&with_short(&["--size", "16MiB", "--caching", "buffered", "--json", "o.json", "data.dat"]))
        .expect_status(0);
    let found = warnings(&here.json("o.json"));
    for code in ["page-cache", "target-small", "short-run"] {
        assert!(found.contains(&code.to_owned()), "{code} in {found:?}");
    }
    fs::File::create(here.path("sparse.dat")).unwrap().set_len(8 << 20).unwrap();
    here.run(&with_short(&["--json", "s.json", "sparse.dat"])).expect_status(0);
    assert!(warnings(&here.json("s.json")).contains(&"target-sparse".to_owned()));
}

/// Requests completed in `seconds` by a load without a device, and its peak memory, KiB.
fn requests_and_peak_kib(here: &Workspace, seconds: u64) -> (u64, u64) {
    let duration = format!("{seconds}s");
    let what = ["load", "--engine", "null", "--preset", "random-read", "--block-size", "4K"];
    let how = ["--queue-depth", "32", "--duration", &duration, "--warmup", "0", "--json", "o.json"];
    let mut load = here.start(&[&what[..], &how].concat());
    let mut peak_kib = 0;
    while !load.has_ended() {
        let status = fs::read_to_string(format!("/proc/{}/status", load.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok());
        peak_kib = peak_kib.max(kib.unwrap_or(0));
        pause(20);
    }
    load.ended().expect_status(0);
    (counted(&here.json("o.json"), 0, "read").0, peak_kib)
}

#[test]
fn memory_stays_bounded_over_ten_million_requests() {
    let here = Workspace::new();
    // Ten seconds are enough with a processor to itself.
    let long_enough = [10, 100, 1000].into_iter().find_map(|seconds| {
        let (requests, peak_kib) = requests_and_peak_kib(&here, seconds);
        (requests > 10_000_000).then_some(peak_kib)
    });
    let peak_kib = long_enough.expect("ten million requests");
    assert!((1..100 * 1024).contains(&peak_kib), "{peak_kib} KiB");
}

#[test]
fn weights_for_targets_that_are_not_there_are_refused() {
    // A worker crashed when it picked a target that its role had only a weight for.
    let here = Workspace::new();
    let profile = "name = 'w'\n[[role]]\nname = 'data'\nblock-size = '8K'\ntarget-weights = [3, 1]\n";
    fs::write(here.path("w.toml"), profile).unwrap();
    let refused = here.run(&["load", "--profile", "w.toml", "--size", "16MiB", "a.dat"]).expect_status(2);
    assert!(refused.stderr.contains("2 target-weights and works on 1 target"), "{}", refused.stderr);
}

/// The story: `--preset postgres --target log=/wal/t.dat` wrote the last tenth of the log's own file only, and the example in the
/// help, `wal=`, failed.
#[test]
fn a_log_on_a_file_of_its_own_uses_all_of_it() {
    let here = Workspace::new();
    let base = ["load", "--preset", "postgres", "--duration", "200ms", "--warmup", "0", "--size", "16MiB"];
    here.run(&[&base[..], &["--json", "o.json", "--target", "log=wal.dat", "data.dat"]].concat())
        .expect_status(0);
    let regions = |name: &str| -> Vec<Value> {
        let run = here.json(name);
        let roles = run["load"]["profile"]["spans"][0]["roles"].as_array().unwrap();
        roles.iter().map(|role| role["region"].clone()).collect()
    };
    assert!(regions("o.json").iter().all(|region| *region == "0%..100%"), "{:?}", regions("o.json"));
    // What was asked for by name stays what was asked for.
    let asked =
        ["--json", "p.json", "--role", "wal", "--region", "50%..100%", "--target", "log=wal.dat", "data.dat"];
    here.run(&[&base[..], &asked].concat()).expect_status(0);
    assert!(regions("p.json").contains(&Value::from("50%..100%")), "{:?}", regions("p.json"));
    let help = here.run(&["load", "--help"]).expect_status(0).stdout;
    assert!(help.contains("--target log=/wal/t.dat") && !help.contains("wal=/"), "{help}");
}

/// The story: "nothing can compress it" held for files that were made and not for what was then written to them: each slot of
/// a worker wrote one body over and over, and storage that looks for duplicates kept one of 7.6 pieces.
#[test]
fn what_a_load_writes_has_no_two_pieces_alike() {
    let here = Workspace::new();
    let sequential =
        ["--access", "sequential", "--write-pct", "100", "--queue-depth", "2", "--block-size", "8K"];
    let written = until("a lap of writes", || {
        let what =
            ["load", "--preset", "random-write", "--duration", "1s", "--warmup", "0", "--size", "4MiB"];
        here.run(&[&what[..], &sequential, &["--json", "o.json", "t.dat"]].concat()).expect_status(0);
        (counted(&here.json("o.json"), 0, "write").0 > 1024).then(|| fs::read(here.path("t.dat")).unwrap())
    });
    let pieces: HashSet<&[u8]> = written.chunks(512).collect();
    assert_eq!(pieces.len(), written.len() / 512);
    let compressed = zstd::bulk::compress(&written, 19).unwrap().len();
    assert!(compressed as f64 * 1.01 > written.len() as f64, "{compressed} of {}", written.len());
}

/// The story: a load of sequential writes of 2,300 bytes was "random-read, index seeks and key lookups" in every list for ever.
#[test]
fn a_preset_that_options_changed_is_not_called_by_its_name_alone() {
    let here = Workspace::new();
    let words = ["load", "--preset", "random-read", "--duration", "100ms", "--warmup", "0", "--size", "8M"];
    let name = |more: &[&str]| {
        here.run(&[&words[..], more, &["--json", "o.json", "t.dat"]].concat()).expect_status(0);
        here.json("o.json")["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(name(&["--queue-depth", "2"]), "random-read");
    assert_ne!(name(&["--write-pct", "100", "--access", "sequential"]), "random-read");
    assert_eq!(name(&["--block-size", "64K", "--name", "mine"]), "mine");
}
