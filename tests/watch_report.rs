//! `iostall report` on this machine's own device, under two loads of known size.

use std::fs::File;
use std::io::Write;

use serde_json::Value;

use crate::support::{Ran, Workspace, skip};

const MIB: usize = 1 << 20;

/// Three samples of the host, with the given MiB written and synced in between. Returns their times.
fn sampled(workspace: &Workspace, mib: [usize; 2]) -> [String; 3] {
    let once = || {
        let ran = workspace.run(&["collect", "once", "linux:"]).expect_status(0);
        let (_, at) = ran.stdout.trim().rsplit_once(" at ").expect("the time of the sample");
        at.to_owned()
    };
    let write = |mib: usize| {
        let mut file = File::create(workspace.path("load.dat")).expect("a file");
        for block in 0..mib {
            let byte = u8::try_from(block % 251).expect("a byte");
            file.write_all(&vec![byte; MIB]).expect("it can be written");
        }
        file.sync_all().expect("it can be synced");
    };
    let first = once();
    write(mib[0]);
    let second = once();
    write(mib[1]);
    [first, second, once()]
}

/// The group of the device that holds the workspace; `None` if the kernel does not count one.
fn device_name(workspace: &Workspace) -> Option<String> {
    let device = iostall_host::device_of(&workspace.path("."))?;
    let text = std::fs::read_to_string("/proc/diskstats").ok()?;
    let is_counted = text.lines().any(|line| line.split_whitespace().nth(2) == Some(device.name.as_str()));
    is_counted.then_some(device.name)
}

fn group<'a>(document: &'a Value, device: &str) -> &'a Value {
    let groups = document["groups"].as_array().expect("groups");
    let is_it =
        |group: &&Value| group["name"].as_str().and_then(|name| name.split(' ').next()) == Some(device);
    groups.iter().find(is_it).expect("the device is reported")
}

/// The smallest share of the activity between two samples that lies between their times, which have
/// millisecond resolution.
fn least_share(seconds: &Value) -> f64 {
    1.0 - 0.002 / number(seconds)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_window_is_reported_in_every_form_and_has_what_was_written_in_it() {
    let workspace = Workspace::new();
    let Some(device) = device_name(&workspace) else {
        return skip("report of a window", "no counted device holds the build directory");
    };
    let [_, second, third] = sampled(&workspace, [4, 48]);
    let arguments =
        ["--since", &second, "--until", &third, "--json", "w.json", "--csv", "w.csv", "--html", "w.html"];
    let ran = workspace.run(&[&["report", "volumes"], arguments.as_slice()].concat()).expect_status(0);
    assert!(ran.stdout.starts_with("Volumes, ") && ran.stdout.contains("\nlinux:\n"), "{}", ran.stdout);
    let json = workspace.json("w.json");
    let found = group(&json, &device);
    let written = number(&found["write_mib_per_s"]) * number(&found["covered_s"]);
    let share = least_share(&found["covered_s"]);
    assert!(written >= 48.0 * share, "{written} MiB of 48, {share}");
    assert!(found["stall_ms_per_write"].is_number() && found["stall_is"] == "to completion", "{found}");
    assert!(found["volume_ops_pct"].is_null(), "a device is no file on a volume");
    assert!(number(&json["sources"][0]["covered_pct"]) >= 100.0 * share, "{}", json["sources"]);
    let csv = std::fs::read_to_string(workspace.path("w.csv")).expect("the table");
    let line =
        csv.lines().find(|line| line.starts_with("linux:,") && line.contains(&device)).expect("its row");
    assert_eq!(line.split(',').count(), csv.lines().next().expect("heads").split(',').count());
    let page = std::fs::read_to_string(workspace.path("w.html")).expect("the page");
    assert!(page.contains("id=\"span-1-write-stall\"") && page.contains("id=\"library\""));
    assert!(page.contains("default-src 'none'") && page.contains(&device));
}

#[test]
fn two_windows_are_held_against_each_other() {
    let workspace = Workspace::new();
    let Some(device) = device_name(&workspace) else {
        return skip("report of two windows", "no counted device holds the build directory");
    };
    let [first, second, third] = sampled(&workspace, [4, 64]);
    let (before, after) = (format!("{first}..{second}"), format!("{second}..{third}"));
    let windows = ["report", "volumes", "--before", &before, "--after", &after];
    let forms = ["--json", "c.json", "--csv", "c.csv", "--html", "c.html"];
    let ran = workspace.run(&[windows.as_slice(), &forms].concat()).expect_status(0);
    assert!(ran.stdout.contains("before (linux:): samples cover"), "{}", ran.stdout);
    assert!(ran.stdout.contains("ms/io at the mix of before"), "{}", ran.stdout);
    let json = workspace.json("c.json");
    let found = group(&json, &device);
    assert_eq!(found["in"], "both");
    let rate = &found["metrics"]["write_mib_per_s"];
    for (window, mib) in [("before", 4.0), ("after", 64.0)] {
        let written = number(&rate[window]) * number(&json[window]["length_s"]);
        let share = least_share(&json[window]["length_s"]);
        assert!(written >= mib * share, "{window}: {written} MiB of {mib}, {share}");
    }
    let change = number(&rate["after"]) - number(&rate["before"]);
    assert!((number(&rate["change"]) - change).abs() < 1e-9, "{rate}");
    let csv = std::fs::read_to_string(workspace.path("c.csv")).expect("the table");
    assert!(csv.starts_with("source,kind,name,stall_is,in,metric,before,after,change,change_pct"));
    assert!(csv.contains(",both,stall_ms_per_io_at_mix_before,"), "{csv}");
    let page = std::fs::read_to_string(workspace.path("c.html")).expect("the page");
    assert!(page.contains("id=\"span-1-stall\"") && page.contains("id=\"span-1-rates\""));
    let same =
        workspace.run(&["report", "volumes", "--before", &before, "--after", &before]).expect_status(2);
    assert!(same.stderr.contains("overlap") && same.stderr.contains("hint:"), "{}", same.stderr);
}

/// `--since 2026-11-21T23:45` was midnight of that day, in UTC, whatever the reader's clock showed.
#[test]
fn a_time_without_a_zone_is_that_of_the_readers_clock() {
    let workspace = Workspace::new();
    workspace.run(&["collect", "once", "linux:"]).expect_status(0);
    let ran = |since: &str, until: &str| -> Ran {
        let mut command = workspace.command(&["report", "files", "--since", since, "--until", until]);
        command.env("TZ", "XST-2").output().expect("the binary runs").into()
    };
    let nothing = ran("2026-11-21T23:45", "2026-11-21 23:50:30.5").expect_status(2).stderr;
    assert!(nothing.contains("2026-11-21T21:45:00Z and 2026-11-21T21:50:30Z"), "{nothing}");
    let of_utc = ran("2026-11-21T23:45Z", "2026-11-21T23:50:00Z").expect_status(2).stderr;
    assert!(of_utc.contains("2026-11-21T23:45:00Z and 2026-11-21T23:50:00Z"), "{of_utc}");
    let wrong = ran("2026-11-21T23:65", "1h").expect_status(2).stderr;
    assert!(wrong.contains("is not a time") && wrong.contains("hint:"), "{wrong}");
}

/// The story: a nightly job had to read the stall of each volume out of the CSV to know whether one was too slow.
#[test]
fn a_report_that_misses_what_is_required_ends_with_1_and_says_which_group() {
    let workspace = Workspace::new();
    if device_name(&workspace).is_none() {
        return skip("report with requirements", "no counted device holds the build directory");
    }
    let [_, second, third] = sampled(&workspace, [1, 1]);
    let outputs = ["--json", "w.json", "--junit", "w.xml", "--markdown", "w.md"];
    let report = |require: &str| {
        let arguments = ["report", "volumes", "--since", &second, "--until", &third, "--require", require];
        workspace.run(&[&arguments[..], &outputs].concat())
    };
    let met = report("iops>=0").expect_status(0);
    assert!(met.stdout.contains("The requirement is met"), "{}", met.stdout);
    let missed = report("iops<0,stall<1000h").expect_status(1);
    assert!(missed.stdout.contains("iops<0 is missed: "), "{}", missed.stdout);
    let json = workspace.json("w.json");
    assert_eq!(
        (&json["verdicts"][0]["met"], &json["verdicts"][1]["met"]),
        (&Value::from(false), &Value::from(true))
    );
    let text = |name: &str| std::fs::read_to_string(workspace.path(name)).expect("the document");
    assert!(text("w.xml").starts_with("<testsuites name=\"iostall report\" tests=\"2\" failures=\"1\""));
    assert!(text("w.md").starts_with("# iostall report: Volumes, "), "{}", text("w.md"));
    let refused = report("p99<1ms").expect_status(2);
    assert!(refused.stderr.contains("iops, throughput and stall"), "{}", refused.stderr);
}

/// The story: an end before the start, a time to come, a source that is none and a store that is none all were "no samples", and the store was
/// made.
#[test]
fn an_empty_window_says_what_is_wrong_with_it_and_makes_no_store() {
    let workspace = Workspace::new();
    workspace.run(&["--store", "none.db", "report", "server"]).expect_status(2);
    assert!(!workspace.path("none.db").exists());
    workspace.run(&["collect", "once", "linux:"]).expect_status(0);
    for (more, said) in [
        (&["--since", "5m", "--until", "10m"][..], "before it begins"),
        (&["--since", "2099-01-01", "--until", "2099-01-02"], "future"),
        (&["--source", "nosuch"], "nosuch"),
    ] {
        let ran = workspace.run(&[&["report", "server"], more].concat()).expect_status(2);
        assert!(ran.stderr.contains(said), "{more:?}: {}", ran.stderr);
    }
    let ran = workspace.run(&["report", "server", "--source", "nosuch"]).expect_status(2);
    assert!(ran.stderr.contains("linux:"), "what there is: {}", ran.stderr);
}
