//! `iostall drive qualify --test`: each of the tests beside IOPS and saturation once on a real file, with what it shows.

use serde_json::Value;

use crate::support::Workspace;

/// A short look at a new file of 16 MiB.
fn run(here: &Workspace, test: &str, words: &[&str]) -> (Value, String, String) {
    let quick = ["drive", "qualify", "--test", test, "--quick", "--size", "16M", "--cell", "20ms"];
    let ran = here.run(&[&quick[..], words, &["--json", "o.json", "data.dat"]].concat()).expect_status(0);
    (here.json("o.json"), ran.stdout, ran.stderr)
}

fn has(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word}:\n{text}");
    }
}

fn stages_of(run: &Value) -> Vec<u64> {
    let rounds = run["qualify"]["rounds"].as_array().unwrap().iter();
    let mut stages: Vec<u64> = rounds.map(|round| round["stage"].as_u64().unwrap_or(0)).collect();
    stages.dedup();
    stages
}

#[test]
fn throughput_and_latency_are_shown_by_size_and_mix() {
    let here = Workspace::new();
    let (run, out, progress) = self::run(&here, "throughput", &[]);
    has(&out, &["MB/s in order", "1 MiB", "128 KiB", "in order", "NOT STEADY"]);
    has(&progress, &["stage 1 of 2: 1 MiB", "stage 2 of 2: 128 KiB"]);
    assert_eq!(stages_of(&run), [0, 1]);
    // Once in order for each size.
    assert_eq!(run["qualify"]["preconditioning"]["written_bytes"], 32 << 20);
    let (run, out, _) = self::run(&here, "latency", &[]);
    has(
        &out,
        &[
            "Mean latency",
            "99.9th percentile",
            "Largest latency",
            "512 B",
            "65/35",
            "How long 0/100 4 KiB takes",
        ],
    );
    let points = run["qualify"]["points"].as_array().unwrap();
    // Nine mixes and sizes, and the long one.
    assert_eq!(points.len(), 10);
    assert!(points.iter().all(|point| point["queue_depth"] == 1 && point["workers"] == 1));
}

#[test]
fn recoveries_are_shown_with_their_pauses_and_segments() {
    let here = Workspace::new();
    let (run, out, _) = self::run(&here, "idle-recovery", &["--rounds", "5"]);
    has(
        &out,
        &["Host idle recovery", "200ms", "of the baseline", "3 bursts of writes", "without a pause again"],
    );
    let waits = run["summary"]["result"]["waits"].as_array().unwrap();
    assert_eq!(waits.len(), 5);
    assert_eq!((&waits[4]["wait_s"], stages_of(&run).len()), (&Value::from(0.2), 11));
    let (run, out, _) = self::run(&here, "cross-stimulus", &["--csv", "o.csv"]);
    has(&out, &["Cross stimulus recovery", "1 MiB in order again", "8 KiB at random"]);
    assert_eq!(run["summary"]["result"]["segments"].as_array().unwrap().len(), 3);
    let csv = std::fs::read_to_string(here.path("o.csv")).unwrap();
    assert!(csv.starts_with("round,stage,fills,") && csv.lines().count() == 1 + 8 + 6 + 8, "{csv}");
}

#[test]
fn demand_and_depth_are_curves_that_say_what_the_device_takes() {
    let here = Workspace::new();
    let words = ["--rounds", "5", "--workers", "2", "--queue-depth", "8", "--html", "o.html"];
    let (run, out, _) = self::run(&here, "demand", &words);
    has(&out, &["Demand: latency", "one in flight", "most below 5 ms"]);
    assert_eq!(run["summary"]["result"]["least"]["queue_depth"], 1);
    let page = std::fs::read_to_string(here.path("o.html")).unwrap();
    assert!(page.contains("Latency over requests a second"));
    let (run, out, _) = self::run(&here, "depth", &["--rounds", "1"]);
    has(&out, &["Depth, 100/0 4 KiB", "Depth, 0/100 4 KiB", "256"]);
    assert_eq!(run["summary"]["result"]["depths"].as_array().unwrap().len(), 2);
}

#[test]
fn parts_of_the_range_and_sizes_and_durable_writes_are_set_side_by_side() {
    let here = Workspace::new();
    let (run, out, _) = self::run(&here, "active-range", &["--rounds", "5"]);
    has(&out, &["Random writes to a part of the active range", "10 % of the range", "no such test"]);
    assert_eq!(stages_of(&run), [0, 1, 2, 3, 4]);
    let (_, out, _) = self::run(&here, "sizes", &["--rounds", "2"]);
    has(&out, &["NOT STEADY: IOPS", "NOT STEADY: MB/s", "8 KiB", "4 KiB"]);
    let (run, out, _) = self::run(&here, "write-cache", &["--rounds", "2", "--workers", "1"]);
    has(&out, &["with O_DSYNC", "durable IOPS", "The write cache was not switched"]);
    assert_eq!(run["qualify"]["points"].as_array().unwrap().len(), 4);
}

/// A file on a machine's disk may have a cache or not: the answer is one of the two, and the sentence comes with the cache.
#[test]
fn writes_in_order_say_whether_there_is_a_fast_cache() {
    let here = Workspace::new();
    let words = ["--backup-size", "500G", "--markdown", "o.md"];
    let (run, out, _) = self::run(&here, "fast-cache", &words);
    assert!(out.contains("no fast cache within") || out.contains("A load of your 500 GiB backup"), "{out}");
    assert_eq!(run["qualify"]["plan"]["backup_size"], 500_u64 << 30);
    assert!(run["qualify"]["rounds"].as_array().unwrap().len() < 3600);
    assert!(std::fs::read_to_string(here.path("o.md")).unwrap().contains("fast cache"));
}

/// The first half of a night was lost with the second: a later stage goes on after its last whole round.
#[test]
fn a_test_that_is_killed_in_its_second_stage_keeps_the_first() {
    let here = Workspace::new();
    let words = [
        "drive",
        "qualify",
        "--test",
        "throughput",
        "--quick",
        "--size",
        "16M",
        "--cell",
        "50ms",
        "data.dat",
    ];
    let mut started = here.start(&words);
    started.wait_for("stage 2 of 2");
    started.signal("KILL");
    started.ended();
    here.run(&[&words[..], &["--resume", "--json", "o.json"]].concat()).expect_status(0);
    let run = here.json("o.json");
    let rounds = run["qualify"]["rounds"].as_array().unwrap();
    let count =
        |stage: u64| rounds.iter().filter(|round| round["stage"].as_u64().unwrap_or(0) == stage).count();
    assert_eq!((count(0), count(1)), (5, 5));
    let gaps: Vec<usize> = (0..10).filter(|index| !rounds[*index]["idle_ns"].is_null()).collect();
    assert!(gaps.len() == 1 && gaps[0] >= 4, "{gaps:?}");
    // Each size filled it once; what was in flight when it died may have been written twice.
    assert_eq!(run["qualify"]["preconditioning"]["written_bytes"], 32 << 20);
}
