//! `iostall load` on real files.

use std::fs;
use std::io::Read;

use iostall_measure::{Clock, MonotonicClock};

use crate::support::{Workspace, counted, signal, warnings};

const SHORT: [&str; 4] = ["--duration", "1s", "--warmup", "200ms"];

fn with_short<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["load"];
    all.extend(SHORT);
    all.extend(arguments);
    all
}

fn wait(millis: u64) {
    let clock = MonotonicClock::new();
    clock.sleep_until(clock.now_ns() + millis * 1_000_000);
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
    assert!(count > 0);
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
        let file = format!("{name}.json");
        here.run(&[
            "load",
            "--preset",
            name,
            "--duration",
            "1s",
            "--warmup",
            "0",
            "--size",
            "256MiB",
            "--json",
            &file,
            "data.dat",
        ])
        .expect_status(0);
        let run = here.json(&file);
        let roles = run["load"]["spans"][0]["roles"].as_array().unwrap();
        for (index, role) in roles.iter().enumerate() {
            let moved = counted(&run, index, "read").0 + counted(&run, index, "write").0;
            assert!(moved > 0, "{name}: role {} did nothing", role["name"]);
        }
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

#[test]
fn ctrl_c_keeps_a_valid_partial_result_and_marks_it() {
    let here = Workspace::new();
    let mut child = here.start(&[
        "load",
        "--preset",
        "random-read",
        "--size",
        "64MiB",
        "--duration",
        "60s",
        "--warmup",
        "0",
        "--json",
        "part.json",
        "data.dat",
    ]);
    // Long enough for the file to be made and the load to have begun, on a slow machine too.
    let clock = MonotonicClock::new();
    let give_up_ns = clock.now_ns() + 30_000_000_000;
    while fs::metadata(here.path("data.dat")).map_or(0, |file| file.len()) < 64 << 20
        && clock.now_ns() < give_up_ns
    {
        wait(50);
    }
    wait(2500);
    signal(&child, "INT");
    let status = child.wait().unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(status.code(), Some(130), "{said}");
    let run = here.json("part.json");
    assert_eq!(run["interrupted"], true);
    let measured_ns = run["load"]["spans"][0]["measured_ns"].as_u64().unwrap();
    assert!((500_000_000..30_000_000_000).contains(&measured_ns), "{measured_ns}");
    assert!(counted(&run, 0, "read").0 > 0);
    assert!(warnings(&run).contains(&"interrupted".to_owned()));
}

#[test]
fn ctrl_c_while_the_file_is_made_leaves_nothing_behind() {
    let here = Workspace::new();
    let mut child = here.start(&["load", "--size", "4GiB", "--duration", "60s", "data.dat"]);
    let clock = MonotonicClock::new();
    let give_up_ns = clock.now_ns() + 30_000_000_000;
    while !here.path("data.dat").exists() && clock.now_ns() < give_up_ns {
        wait(1);
    }
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
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

#[test]
fn memory_stays_bounded_over_ten_million_requests() {
    let here = Workspace::new();
    let mut child = here.start(&[
        "load",
        "--engine",
        "null",
        "--preset",
        "random-read",
        "--block-size",
        "4K",
        "--queue-depth",
        "32",
        "--duration",
        "10s",
        "--warmup",
        "0",
        "--json",
        "o.json",
    ]);
    let mut peak_kib = 0;
    while child.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok());
        peak_kib = peak_kib.max(kib.unwrap_or(0));
        wait(20);
    }
    let count = counted(&here.json("o.json"), 0, "read").0;
    assert!(count > 10_000_000, "only {count} requests: too few to show anything");
    assert!(peak_kib < 100 * 1024, "{peak_kib} KiB");
}

#[test]
fn weights_for_targets_that_are_not_there_are_refused() {
    // The story: a worker broke when it drew a target that its role had only a weight for.
    let here = Workspace::new();
    let profile = "name = 'w'\n[[role]]\nname = 'data'\nblock-size = '8K'\ntarget-weights = [3, 1]\n";
    fs::write(here.path("w.toml"), profile).unwrap();
    let refused = here.run(&["load", "--profile", "w.toml", "--size", "16MiB", "a.dat"]).expect_status(2);
    assert!(refused.stderr.contains("2 target-weights and works on 1 target"), "{}", refused.stderr);
}
