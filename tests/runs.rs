//! `iostall runs`.

use crate::support::{Workspace, skip};

fn measure(here: &Workspace, name: &str) {
    here.run(&[
        "load",
        "--engine",
        "null",
        "--duration",
        "200ms",
        "--warmup",
        "0",
        "--name",
        name,
        "--preset",
        "random-read",
    ])
    .expect_status(0);
}

#[test]
fn runs_are_listed_shown_exported_and_deleted() {
    let here = Workspace::new();
    let empty = here.run(&["runs"]).expect_status(0);
    assert!(empty.stderr.contains("no runs"), "{}", empty.stderr);
    measure(&here, "before");
    measure(&here, "after");
    let list = here.run(&["runs", "--json"]).expect_status(0).stdout;
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let names: Vec<&str> = list.as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["after", "before"]);
    let shown = here.run(&["runs", "show", "last~1"]).expect_status(0).stdout;
    assert!(shown.contains("before") && shown.contains("IOPS"), "{shown}");
    let exported = here.run(&["runs", "export", "2"]).expect_status(0).stdout;
    let exported: serde_json::Value = serde_json::from_str(&exported).unwrap();
    assert_eq!(
        (exported["schema"].as_str(), exported["name"].as_str()),
        (Some("iostall-run"), Some("after"))
    );
    here.run(&["runs", "delete", "1"]).expect_status(0);
    let gone = here.run(&["runs", "show", "1"]).expect_status(2);
    assert!(gone.stderr.contains("#1"), "{}", gone.stderr);
}

#[test]
fn a_run_shown_again_is_the_report_of_its_day() {
    let here = Workspace::new();
    let first = here
        .run(&["load", "--engine", "null", "--duration", "300ms", "--warmup", "0", "--preset", "random-read"])
        .expect_status(0)
        .stdout;
    let again = here.run(&["runs", "show", "last"]).expect_status(0).stdout;
    // Both end with the answer, which the first gives after the number of the run.
    let (report, answer) = again.trim_end().rsplit_once("\n\n").expect("a report and its answer");
    assert!(first.starts_with(report), "first:\n{first}\nagain:\n{again}");
    assert!(first.trim_end().ends_with(answer), "first:\n{first}\nagain:\n{again}");
}

#[test]
fn many_runs_at_once_are_all_kept() {
    let here = Workspace::new();
    let arguments =
        ["load", "--engine", "null", "--duration", "200ms", "--warmup", "0", "--preset", "random-read", "-q"];
    let children: Vec<_> = (0..6).map(|_| here.start(&arguments)).collect();
    for child in children {
        child.ended().expect_status(0);
    }
    let list = here.run(&["runs", "--json"]).expect_status(0).stdout;
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 6);
}

/// No output could be pasted into a ticket, so a DBA took a screenshot of the terminal.
#[test]
fn a_kept_run_is_written_as_markdown_for_a_ticket() {
    let here = Workspace::new();
    measure(&here, "ticket");
    here.run(&["runs", "show", "last", "--markdown", "run.md"]).expect_status(0);
    let text = std::fs::read_to_string(here.path("run.md")).unwrap();
    assert!(text.starts_with("# iostall load: ticket\n"), "{text}");
    assert!(text.contains("### Rates and latency") && text.contains("| --- |"), "{text}");
    here.run(&["verify", "--markdown", "run.md", "run.md"]).expect_status(2);
}

/// To find last year's measurements, users had to search run by run.
#[test]
fn what_a_device_gave_is_listed_by_device_and_shape() {
    let here = Workspace::new();
    let none = here.run(&["runs", "capacity"]).expect_status(0);
    assert!(none.stderr.contains("iostall sweep"), "{}", none.stderr);
    here.run(&[
        "load",
        "--preset",
        "random-read",
        "--duration",
        "200ms",
        "--warmup",
        "0",
        "--size",
        "8M",
        "--json",
        "o.json",
        "t.dat",
    ])
    .expect_status(0);
    let run = here.json("o.json");
    if run["targets"][0]["device"].is_null() {
        return skip("the capacity of a device", "the tests' directory is on no block device");
    }
    let text = here.run(&["runs", "capacity"]).expect_status(0).stdout;
    assert!(text.contains("8 KiB random reads") && text.contains("in flight"), "{text}");
    let said = here.run(&["runs", "capacity", "--json"]).expect_status(0).stdout;
    let found: serde_json::Value = serde_json::from_str(&said).unwrap();
    let record = &found[0]["record"];
    assert_eq!((record["run"].as_str(), found.as_array().unwrap().len()), (run["id"].as_str(), 1));
    assert_eq!(record["device"], run["targets"][0]["device"]["name"]);
    assert!(record["curve"][0]["iops"].as_f64().unwrap() > 0.0, "{record}");
    let device = record["device_key"].as_str().or(record["device"].as_str()).unwrap();
    assert!(here.run(&["runs", "capacity", device]).expect_status(0).stdout.contains("8 KiB random reads"));
    assert_eq!(here.run(&["runs", "capacity", "/dev/no-such"]).expect_status(0).stdout, "");
}
