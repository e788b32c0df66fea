//! `iostall compare`.

use std::fs;

use serde_json::Value;

use crate::support::{Ran, Workspace, until};

/// Keeps a run called `name` in which something was done: a machine that stands still for all of it is given another chance.
fn load(here: &Workspace, name: &str, more: &[&str]) {
    let base = ["load", "--engine", "null", "--warmup", "0", "--name", name, "--preset", "random-read", "-q"];
    until("a run that measured something", || {
        here.run(&[&base[..], more].concat()).expect_status(0);
        if seconds(here, "last").iter().sum::<u64>() > 0 {
            return Some(());
        }
        here.run(&["runs", "delete", "last"]).expect_status(0);
        None
    });
}

fn metric<'a>(comparison: &'a Value, subject: &str, metric: &str) -> &'a Value {
    let metrics = comparison["others"][0]["metrics"].as_array().unwrap();
    metrics.iter().find(|row| row["subject"] == subject && row["metric"] == metric).unwrap()
}

/// Requests of each second of run `number`.
fn seconds(here: &Workspace, number: &str) -> Vec<u64> {
    let exported = here.run(&["runs", "export", number]).expect_status(0).stdout;
    let run: Value = serde_json::from_str(&exported).unwrap();
    let series = run["load"]["spans"][0]["roles"][0]["series"].as_array().unwrap();
    let counts = series.iter().map(|point| {
        let ops = point["ops"].as_array().unwrap();
        ops.iter().map(|op| op["count"].as_u64().unwrap()).sum()
    });
    counts.collect()
}

/// Runs #1 to #4 of a store at 100 requests a second, #5 to #8 at 5,000. `None`: this machine stood still meanwhile.
fn slow_and_fast() -> Option<Workspace> {
    let here = Workspace::new();
    for _ in 0..4 {
        load(&here, "slow", &["--rate", "100", "--duration", "1s"]);
    }
    for _ in 0..4 {
        load(&here, "fast", &["--rate", "5000", "--duration", "1s", "--block-size", "64K"]);
    }
    let done = |number: u32| seconds(&here, &number.to_string()).iter().sum::<u64>();
    let (slow, fast): (Vec<u64>, Vec<u64>) = ((1..=4).map(done).collect(), (5..=8).map(done).collect());
    (slow.iter().min() > Some(&80) && slow.iter().max() < Some(&120) && fast.iter().min() > Some(&4000))
        .then_some(here)
}

#[test]
fn four_saved_runs_a_side_are_compared_metric_by_metric_with_a_verdict() {
    let here = (0..20).find_map(|_| slow_and_fast()).expect("a machine that runs for ten seconds");
    let ran = here.run(&["compare", "1,2,3,4", "5,6,7,8", "--json", "c.json"]).expect_status(0);
    for words in [
        " against #1,#2,#3,#4",
        "IOPS",
        "p99 latency",
        "ratio",
        "Welch",
        "Holm",
        "differ significantly",
        "better, +",
    ] {
        assert!(ran.stdout.contains(words), "{words}:\n{}", ran.stdout);
    }
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("different block sizes: 8 KiB and 64 KiB"), "{}", ran.stdout);
    let comparison = here.json("c.json");
    let iops = metric(&comparison, "data read", "iops");
    assert!(iops["ratio"].as_f64().unwrap() > 30.0, "{iops}");
    assert_eq!(iops["verdict"], "significant", "{iops}");
    assert!(iops["ratio_low"].as_f64().unwrap() > 1.0);
    let again = here.run(&["compare", "1,2,3,4", "5,6,7,8", "--json", "-"]).expect_status(0).stdout;
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), comparison);
}

/// The story: a DBA compared one run with another, each given four times, and was told that five of five metrics differ
/// significantly. Two runs are two runs.
#[test]
fn two_runs_are_never_said_to_differ_significantly_however_often_they_are_given() {
    let here = Workspace::new();
    load(&here, "one", &["--rate", "200", "--duration", "6s"]);
    load(&here, "two", &["--rate", "2000", "--duration", "6s"]);
    for sides in [["1", "2"], ["1,1,1,1", "2,2,2,2"]] {
        let ran = here.run(&["compare", sides[0], sides[1], "--json", "c.json"]).expect_status(0);
        assert!(!ran.stdout.contains("significant"), "{}", ran.stdout);
        let comparison = here.json("c.json");
        assert_eq!(comparison["others"][0]["runs"], serde_json::json!([1, 1]));
        assert_ne!(metric(&comparison, "data read", "iops")["verdict"], "significant");
        assert_eq!(ran.stdout.contains("6 runs were repeated"), sides[0].len() > 1, "{}", ran.stdout);
    }
    let ran = here.run(&["compare", "1,2", "2,1"]).expect_status(0);
    assert!(ran.stdout.contains("cannot be compared with itself"), "{}", ran.stdout);
}

#[test]
fn runs_too_short_for_a_verdict_get_none() {
    let here = Workspace::new();
    for name in ["one", "two"] {
        load(&here, name, &["--duration", "1s"]);
    }
    let ran = here.run(&["compare", "last~1", "last"]).expect_status(0);
    assert!(ran.stdout.contains("No verdict: there are too few samples"), "{}", ran.stdout);
}

/// Fresh runs of two files, four of each, with `duration`. `None`: in one of them nothing was done.
fn fresh_runs(duration: &str) -> Option<(Workspace, Ran)> {
    let here = Workspace::new();
    let how = ["compare", "--fresh", "4", "--duration", duration, "--warmup", "0", "--size", "16MiB"];
    let ran = here.run(&[&how[..], &["--json", "c.json", "a.dat", "b.dat"]].concat()).expect_status(0);
    let has_done = |number: u32| seconds(&here, &number.to_string()).iter().sum::<u64>() > 0;
    (1..=8).all(has_done).then_some((here, ran))
}

#[test]
fn fresh_runs_take_turns_and_are_kept() {
    let (here, ran) = ["200ms", "3s", "60s"].into_iter().find_map(fresh_runs).expect("eight runs");
    assert!(ran.stdout.contains("b.dat against a.dat"), "{}", ran.stdout);
    assert_eq!(here.json("c.json")["others"][0]["samples"], "runs");
    let listed: Value = serde_json::from_str(&here.run(&["runs", "--json"]).expect_status(0).stdout).unwrap();
    let mut names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap()).collect();
    names.reverse();
    assert_eq!(names, ["compare a.dat", "compare b.dat"].repeat(4));
    let saved = here.run(&["compare", "1,3,5,7", "2,4,6,8", "--json", "s.json"]).expect_status(0);
    assert!(saved.stdout.contains("each run is one sample"), "{}", saved.stdout);
    let (fresh, saved) = (here.json("c.json"), here.json("s.json"));
    assert_eq!(fresh["others"][0]["metrics"], saved["others"][0]["metrics"]);
}

#[test]
fn two_profiles_are_compared_on_one_file() {
    let here = Workspace::new();
    let ran = here
        .run(&[
            "compare",
            "--fresh",
            "1",
            "--preset",
            "random-read",
            "--preset",
            "scan",
            "--duration",
            "200ms",
            "--warmup",
            "0",
            "--engine",
            "null",
            "x.dat",
        ])
        .expect_status(0);
    assert!(ran.stdout.contains("scan against random-read"), "{}", ran.stdout);
    assert!(ran.stdout.contains("different access: random and sequential"), "{}", ran.stdout);
}

#[test]
fn the_published_table_of_work_comes_out_and_is_called_an_anecdote() {
    let here = Workspace::new();
    fs::write(here.path("before.csv"), "job,seconds\nload,1218\nindex,1207\nreport,1344\n").unwrap();
    fs::write(here.path("after.csv"), "job,seconds\nload,526\nindex,1035\nreport,1062\n").unwrap();
    let ran =
        here.run(&["compare", "--work", "before.csv", "after.csv", "--json", "w.json"]).expect_status(0);
    for row in [
        ["load", "1218", "526", "692", "56.8"],
        ["index", "1207", "1035", "172", "14.3"],
        ["report", "1344", "1062", "282", "21.0"],
    ] {
        let line = ran.stdout.lines().find(|line| line.trim_start().starts_with(row[0])).unwrap();
        for cell in row {
            assert!(line.split_whitespace().any(|word| word == cell), "{cell}: {line}");
        }
        assert!(line.ends_with("too few repeats"), "{line}");
    }
    assert!(ran.stdout.contains("anecdote"), "{}", ran.stdout);
    assert_eq!(here.json("w.json")["jobs"][0]["improvement_s"], 692.0);
}

#[test]
fn repeated_work_gets_a_verdict() {
    let here = Workspace::new();
    let table = |times: [u32; 4]| times.map(|seconds| format!("load,{seconds}\n")).concat();
    fs::write(here.path("before.csv"), table([1218, 1225, 1209, 1230])).unwrap();
    fs::write(here.path("after.csv"), table([526, 530, 519, 541])).unwrap();
    let ran = here.run(&["compare", "--work", "before.csv", "after.csv"]).expect_status(0);
    assert!(ran.stdout.contains("faster (5"), "{}", ran.stdout);
}

#[test]
fn what_cannot_be_compared_is_refused_with_what_to_write() {
    let here = Workspace::new();
    for (arguments, words) in [
        (&["compare", "last"][..], "two sides"),
        (&["compare", "1", "2"], "#1"),
        (&["compare", "--fresh", "2", "a.dat"], "two sides"),
        (&["compare", "--work", "no.csv", "none.csv"], "no.csv"),
    ] {
        let refused = here.run(arguments).expect_status(2);
        assert!(refused.stderr.contains(words), "{words}: {}", refused.stderr);
    }
    fs::write(here.path("bad.csv"), "load,1\nindex,fast\n").unwrap();
    let refused = here.run(&["compare", "--work", "bad.csv", "bad.csv"]).expect_status(2);
    assert!(refused.stderr.contains("line 2") && refused.stderr.contains("1218.5"), "{}", refused.stderr);
}
