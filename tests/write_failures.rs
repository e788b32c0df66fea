//! `iostall write` that fails, is killed, or is impossible: what was measured until then is kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Workspace, skip, unmount};

/// A tmpfs of 16 MiB, unmounted on drop.
struct Small(PathBuf);

impl Small {
    fn new(at: &Path) -> Option<Self> {
        fs::create_dir(at).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=16m", "tmpfs"]).arg(at).status();
        mounted.is_ok_and(|status| status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        unmount(&self.0);
    }
}

/// Rows of a table, by column; fails if a row has a different number of columns than the header.
#[track_caller]
fn rows(text: &str) -> Vec<Vec<&str>> {
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
    rows
}

fn methods(here: &Workspace) -> Vec<Value> {
    here.json("o.json")["write"]["methods"].as_array().expect("methods").clone()
}

/// Another program filled the disk during the second of two methods, and the results of the first were lost
/// too.
#[test]
fn a_second_method_that_fails_leaves_the_first_in_every_form() {
    let here = Workspace::new();
    let Some(small) = Small::new(&here.path("small")) else {
        return skip("a second method that fails", "no tmpfs can be mounted here");
    };
    let file = small.0.join("t.dat");
    let words =
        ["write", "--packet", "128K", "--size", "2M", "--interval", "1M", "--period", "200ms", "--methods"];
    let forms = ["buffered,direct", "--json", "o.json", "--csv", "o.csv", "--html", "o.html"];
    let mut writing = here.start(&[&words[..], &forms, &[file.to_str().unwrap()]].concat());
    let path = here.path("o.csv");
    let lines = |path: &Path| fs::read_to_string(path).unwrap_or_default().lines().count();
    writing.wait_until("the first method's intervals", |_| lines(&path) == 3);
    writing.wait_until("the second method", |_| fs::metadata(&file).is_ok_and(|found| found.len() < 1 << 20));
    fs::write(small.0.join("filler"), vec![0; 32 << 20]).expect_err("there is no more room");
    let ran = writing.ended().expect_status(1);
    assert!(
        ran.stdout.contains("direct (failed)") && ran.stdout.contains("direct FAILED: "),
        "{}",
        ran.stdout
    );
    let methods = methods(&here);
    assert_eq!((&methods[0]["bytes"], &methods[0]["failed"]), (&Value::from(2 << 20), &Value::Null));
    assert!(methods[1]["bytes"].as_u64().unwrap() < 2 << 20);
    let cause = methods[1]["failed"].as_str().unwrap();
    assert!(cause.contains("full") || cause.contains("No space"), "{cause}");
    let csv = fs::read_to_string(path).unwrap();
    let rows = rows(&csv);
    let last = rows.last().unwrap();
    assert!(last[0] == "direct" && last[10].contains("offset"), "{csv}");
    let page = fs::read_to_string(here.path("o.html")).unwrap();
    assert!(page.contains("direct (failed)") && page.contains("direct FAILED"));
    let kept = here.run(&["runs", "show", "last"]).expect_status(0).stdout;
    assert!(kept.contains("direct FAILED"), "{kept}");
}

/// A file of 1 GB on a file system of 64 MB filled it to the last block, without a word at the start.
#[test]
fn a_size_that_does_not_fit_is_refused_before_anything_is_written() {
    let here = Workspace::new();
    let Some(small) = Small::new(&here.path("small")) else {
        return skip("a size that does not fit", "no tmpfs can be mounted here");
    };
    let file = small.0.join("t.dat");
    let file = file.to_str().unwrap();
    let ran = here.run(&["write", "--size", "64M", "--methods", "direct", file]).expect_status(2);
    assert!(ran.stderr.contains("free"), "{}", ran.stderr);
    assert!(fs::read_dir(&small.0).unwrap().next().is_none());
    for nothing in [["--size", "0"], ["--duration", "0s"]] {
        here.run(&[&["write"], &nothing[..], &[file]].concat()).expect_status(2);
    }
}

/// When the disk was full after 20 hours, everything measured until then was lost.
#[test]
fn a_full_disk_leaves_what_was_written_until_then_and_the_other_methods_are_tried() {
    let here = Workspace::new();
    let Some(small) = Small::new(&here.path("small")) else {
        return skip("a full file system", "no tmpfs can be mounted here");
    };
    let file = small.0.join("t.dat");
    let file = file.to_str().unwrap();
    let words =
        ["write", "--packet", "512K", "--interval", "1M", "--methods", "buffered,direct", "--json", "o.json"];
    let ran = here.run(&[&words[..], &["--duration", "1h", file]].concat()).expect_status(1);
    assert!(ran.stdout.contains("buffered FAILED") && ran.stdout.contains("direct FAILED"), "{}", ran.stdout);
    for method in methods(&here) {
        assert!(method["bytes"].as_u64().unwrap() >= 8 << 20, "{method}");
        assert!(method["intervals"].as_array().unwrap().len() >= 8);
    }
    assert!(fs::read_dir(&small.0).unwrap().next().is_none(), "the file stayed");
    // If not even the first packet fits, nothing was measured.
    fs::write(small.0.join("filler"), vec![0; (16 << 20) - (256 << 10)]).unwrap();
    let ran = here.run(&[&words[..], &["--duration", "1h", file]].concat()).expect_status(2);
    assert!(
        ran.stderr.contains("nothing could be written") && ran.stderr.contains("hint: free space"),
        "{}",
        ran.stderr
    );
}

/// A machine was switched off after 20 of 25 hours, and the table was to be written only at the end.
#[test]
fn a_killed_writing_leaves_each_finished_interval_in_its_table() {
    let here = Workspace::new();
    let mut writing = here.start(&[
        "write",
        "--packet",
        "512K",
        "--interval",
        "1M",
        "--period",
        "20ms",
        "--duration",
        "25h",
        "--methods",
        "buffered",
        "--csv",
        "o.csv",
        "t.dat",
    ]);
    let path = here.path("o.csv");
    let text = || fs::read_to_string(&path).unwrap_or_default();
    writing.wait_until("five intervals", |_| text().lines().count() > 5);
    writing.signal("KILL");
    writing.ended();
    let text = text();
    let rows = rows(&text);
    assert!(text.ends_with("\r\n") && rows[0][..4] == ["method", "packets_per_burst", "end_bytes", "bytes"]);
    for (number, row) in rows[1..].iter().enumerate() {
        let end_bytes = (number + 1) << 20;
        assert!(row[0] == "buffered" && row[2] == end_bytes.to_string() && row[3] == "1048576", "{text}");
    }
}

/// With a full disk, the table's last row ended in the middle of a number and was read as a smaller one.
#[test]
fn a_table_that_no_longer_fits_ends_with_a_whole_row() {
    let here = Workspace::new();
    let Some(small) = Small::new(&here.path("small")) else {
        return skip("a table on a full disk", "no tmpfs can be mounted here");
    };
    fs::write(small.0.join("filler"), vec![0; (16 << 20) - (64 << 10)]).unwrap();
    let path = small.0.join("o.csv");
    let words =
        ["write", "--packet", "4K", "--interval", "4K", "--size", "8M", "--methods", "buffered", "--csv"];
    let ran = here.run(&[&words[..], &[path.to_str().unwrap(), "t.dat"]].concat()).expect_status(2);
    assert!(ran.stderr.contains("can no longer grow"), "{}", ran.stderr);
    assert!(ran.stdout.contains("stored as run"), "what was measured is not lost with it: {}", ran.stdout);
    let text = fs::read_to_string(path).unwrap();
    assert!(text.ends_with("\r\n") && rows(&text).len() > 10, "{text}");
}

/// After Ctrl-C in the middle of an interval, the partial interval is in the table too.
#[test]
fn an_interrupted_writing_has_the_interval_in_hand_in_its_table() {
    for signal in ["HUP", "TERM"] {
        let here = Workspace::new();
        let mut writing = here.start(&[
            "write",
            "--packet",
            "512K",
            "--interval",
            "1G",
            "--period",
            "20ms",
            "--duration",
            "1h",
            "--methods",
            "buffered,direct",
            "--json",
            "o.json",
            "--csv",
            "o.csv",
            "t.dat",
        ]);
        let path = here.path("t.dat");
        writing.wait_until("three megabytes", |_| {
            fs::metadata(&path).is_ok_and(|found| found.len() > 3_000_000)
        });
        writing.signal(signal);
        writing.ended().expect_status(130);
        let csv = fs::read_to_string(here.path("o.csv")).unwrap();
        let rows = rows(&csv);
        let methods = methods(&here);
        assert_eq!((methods.len(), rows.len()), (1, 2), "{signal}: {csv}");
        assert_eq!(rows[1][3], methods[0]["bytes"].to_string());
        assert!(!path.exists(), "{signal}: the file stayed");
    }
}

/// Last week's table is replaced only once this week's is complete.
#[test]
fn a_table_that_is_there_is_replaced_at_the_end() {
    let here = Workspace::new();
    let words = ["write", "--packet", "512K", "--interval", "1M", "--methods", "buffered", "--csv", "o.csv"];
    here.run(&[&words[..], &["--size", "1M", "t.dat"]].concat()).expect_status(0);
    let last_week = fs::read(here.path("o.csv")).unwrap();
    let mut writing = here.start(&[&words[..], &["--period", "20ms", "--duration", "25h", "t.dat"]].concat());
    let said = writing.wait_for("note: ");
    assert!(said.contains("--csv FILE with a new file"), "{said}");
    let path = here.path("t.dat");
    writing.wait_until("three megabytes", |_| fs::metadata(&path).is_ok_and(|found| found.len() > 3_000_000));
    assert_eq!(fs::read(here.path("o.csv")).unwrap(), last_week);
    writing.signal("KILL");
    writing.ended();
    assert_eq!(fs::read(here.path("o.csv")).unwrap(), last_week);
    fs::remove_file(path).unwrap();
    here.run(&[&words[..], &["--size", "2M", "t.dat"]].concat()).expect_status(0);
    assert_eq!(rows(&fs::read_to_string(here.path("o.csv")).unwrap()).len(), 3);
}
