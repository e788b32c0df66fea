//! `iostall matrix`.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::running::Running;
use crate::support::Workspace;

const ONCE: [&str; 7] = ["matrix", "--warmup", "0", "--repeats-max", "1", "--size", "16MiB"];
const SHORT: [&str; 2] = ["--interval", "150ms"];

fn with_short<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&ONCE[..], &SHORT, arguments].concat()
}

fn points(run: &Value) -> &Vec<Value> {
    run["summary"]["points"].as_array().unwrap()
}

/// The numbers of a cell are consistent.
fn assert_is_sound(point: &Value) {
    let (iops, mib) = (point["iops"].as_f64().unwrap(), point["mib_per_s"].as_f64().unwrap());
    let kib = if point["block_size"] == "64K" { 64.0 } else { 128.0 };
    assert!(iops > 0.0 && (mib - iops * kib / 1024.0).abs() < 1e-6, "{point}");
    let [min, mean, max] =
        ["min", "mean", "max"].map(|name| point[format!("latency_ms_{name}")].as_f64().unwrap());
    assert!(min <= mean && mean <= max, "{point}");
}

#[test]
fn two_files_stand_side_by_side_in_sqlio_s_rows() {
    let here = Workspace::new();
    let forms = ["--json", "m.json", "--csv", "m.csv", "--html", "m.html"];
    let what = ["--sizes", "64K,128K", "--depths", "1,4", "a.dat", "b.dat"];
    let mut answered = BTreeSet::new();
    // A device stalled for a whole cell completes nothing in it. Try again with longer cells.
    for interval in ["150ms", "150ms", "1s", "3s", "10s", "30s"] {
        let ran = here.run(&[&ONCE[..], &["--interval", interval], &forms, &what].concat()).expect_status(0);
        for row in ["IOs/sec", "MBs/sec", "Min_Latency(ms)", "Avg_Latency(ms)", "Max_Latency(ms)"] {
            // Four patterns, two depths each.
            let lines = ran.stdout.lines().filter(|line| line.trim_start().starts_with(row));
            assert_eq!(lines.count(), 8, "{row}");
        }
        for words in
            ["Random write", "Sequential read", "64 KiB A", "128 KiB B", "Side by side", "IOPS B / A"]
        {
            assert!(ran.stdout.contains(words), "{words}:\n{}", ran.stdout);
        }
        let run = here.json("m.json");
        assert_eq!(points(&run).len(), 4 * 2 * 2 * 2);
        for point in points(&run).iter().filter(|point| point["iops"] != 0.0) {
            assert_is_sound(point);
            let cell = ["target", "access", "write_pct", "block_size", "queue_depth"];
            answered.insert(cell.map(|name| point[name].to_string()));
        }
        if answered.len() == 32 {
            break;
        }
    }
    assert_eq!(answered.len(), 32, "{answered:?}");
    assert_eq!(fs::read_to_string(here.path("m.csv")).unwrap().lines().count(), 33);
    let page = fs::read_to_string(here.path("m.html")).unwrap();
    assert!(page.contains("heatmap") && page.contains("id=\"span-1-heat-1\""));
    assert!(here.run(&["runs"]).expect_status(0).stdout.contains("matrix"));
}

#[test]
fn the_quick_matrix_shares_a_minute_among_its_cells() {
    let here = Workspace::new();
    let arguments =
        ["matrix", "--engine", "null", "--quick", "--sizes", "8K", "--depths", "1", "--json", "m.json"];
    let mut matrix = here.start(&arguments);
    matrix.wait_until("the first cell", Running::is_loading);
    matrix.signal("INT");
    matrix.ended().expect_status(130);
    let plan = here.json("m.json")["matrix"]["plan"].clone();
    // Four cells: 42 s / 4, of which a fifth is warm-up.
    assert_eq!((plan["warmup"].as_str(), plan["interval"].as_str()), (Some("2s 100ms"), Some("8s 400ms")));
    assert_eq!(plan["repeats_max"], 1);
}

/// Sixteen cells of 300 ms.
const STOPPED: [&str; 6] = ["--interval", "300ms", "--sizes", "8K", "--depths", "1,2,4,8"];

fn with_stopped<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&ONCE[..], &STOPPED, more].concat()
}

/// A workspace with a matrix interrupted after its first cell. `None` if the interrupt came after the last
/// cell.
fn stopped_matrix() -> Option<Workspace> {
    let here = Workspace::new();
    let nothing = here.run(&with_stopped(&["--resume", "data.dat"])).expect_status(2);
    assert!(nothing.stderr.contains("no interrupted matrix"), "{}", nothing.stderr);
    let mut matrix = here.start(&with_stopped(&["--json", "first.json", "data.dat"]));
    matrix.wait_for("1/16 ");
    if !matrix.has_ended() {
        matrix.signal("INT");
    }
    let stopped = matrix.ended();
    if points(&here.json("first.json")).len() == 16 {
        return None;
    }
    let stopped = stopped.expect_status(130);
    assert!(stopped.stdout.contains("--resume"), "{}", stopped.stdout);
    Some(here)
}

#[test]
fn a_matrix_that_was_stopped_goes_on_where_it_was() {
    let here = (0..10).find_map(|_| stopped_matrix()).expect("a matrix that ends when it is told to");
    let first = here.json("first.json");
    let done = points(&first).len();
    assert!((1..16).contains(&done), "{done} cells before the stop");
    let other = here.run(&with_stopped(&["--resume", "--workers", "2", "data.dat"])).expect_status(2);
    assert!(other.stderr.contains("no interrupted matrix"), "{}", other.stderr);
    // A matrix was resumed with cells of a different target size, which are not comparable.
    let smaller: Vec<&str> = with_stopped(&["--resume", "data.dat"])
        .into_iter()
        .map(|word| if word == "16MiB" { "8MiB" } else { word })
        .collect();
    let other = here.run(&smaller).expect_status(2);
    assert!(other.stderr.contains("no interrupted matrix"), "{}", other.stderr);
    here.run(&with_stopped(&["--resume", "--json", "second.json", "data.dat"])).expect_status(0);
    let second = here.json("second.json");
    assert_eq!(points(&second).len(), 16);
    assert_eq!(
        second["matrix"]["points"].as_array().unwrap()[..done],
        first["matrix"]["points"].as_array().unwrap()[..]
    );
    assert_eq!(second["matrix"]["resumed"], first["id"]);
    // The story: nothing told old cells from new ones, and a complete matrix was resumed from the old stopped one again.
    for (index, point) in points(&second).iter().enumerate() {
        let measured_by = if index < done { &first["id"] } else { &second["id"] };
        assert_eq!(&point["run"], measured_by, "cell {index}");
    }
    let shown = here.run(&["runs", "show", "last"]).expect_status(0).stdout;
    assert!(shown.contains(&format!("{done} of 16 cells were not measured by this run")), "{shown}");
    let again = here.run(&with_stopped(&["--resume", "data.dat"])).expect_status(2);
    assert!(again.stderr.contains("is complete"), "{}", again.stderr);
}

/// The story: a resumed matrix took the cells of a file on another device, because both were called t.dat.
#[test]
fn a_matrix_is_resumed_on_the_same_file_under_any_name_and_on_no_other() {
    let here = (0..10).find_map(|_| stopped_matrix()).expect("a matrix that ends when it is told to");
    fs::rename(here.path("data.dat"), here.path("kept.dat")).unwrap();
    fs::copy(here.path("kept.dat"), here.path("data.dat")).unwrap();
    let other = here.run(&with_stopped(&["--resume", "data.dat"])).expect_status(2);
    assert!(
        other.stderr.contains("1 earlier run") && other.stderr.contains("another file"),
        "{}",
        other.stderr
    );
    let moved = here.path("kept.dat");
    here.run(&with_stopped(&["--resume", moved.to_str().unwrap()])).expect_status(0);
}

/// The story: cells of io_uring and of threads, or of the generator alone, stood in one table.
#[test]
fn a_matrix_is_not_resumed_with_another_engine() {
    let here = (0..10).find_map(|_| stopped_matrix()).expect("a matrix that ends when it is told to");
    let other = here.run(&with_stopped(&["--resume", "--engine", "psync", "data.dat"])).expect_status(2);
    assert!(other.stderr.contains("the engine was io_uring and is psync"), "{}", other.stderr);
}

#[test]
fn devices_of_which_different_parts_are_used_are_told() {
    let here = Workspace::new();
    for (name, size) in [("small.dat", "8MiB"), ("large.dat", "16MiB")] {
        here.run(&["load", "--size", size, "--duration", "50ms", "--warmup", "0", "--no-store", name])
            .expect_status(0);
    }
    let words = ["matrix", "--interval", "150ms", "--warmup", "10ms", "--repeats-max", "1", "--read-only"];
    let what = ["--sizes", "8K", "--depths", "1", "small.dat", "large.dat"];
    let told = here.run(&[&words[..], &what].concat()).expect_status(0).stdout;
    assert!(told.contains("8 MiB of A, 16 MiB of B are used; --size 8388608"), "{told}");
    let alike = here.run(&[&words[..], &["--size", "8MiB"], &what].concat()).expect_status(0).stdout;
    assert!(!alike.contains("not loaded alike"), "{alike}");
}

#[test]
fn a_matrix_on_a_scratch_file_goes_on_too() {
    // Without a FILE, the scratch file's name was not compared correctly, so --resume never found the run.
    let here = Workspace::new();
    let words = ["matrix", "--read-only", "--interval", "300ms", "--warmup", "0", "--repeats-max", "1"];
    let cells = ["--size", "16MiB", "--sizes", "8K,64K", "--depths", "1,2,4", "--json", "m.json"];
    // If it finished before the interrupt, try again.
    let is_stopped = (0..10).any(|_| {
        let mut matrix = here.start(&[&words[..], &cells[..]].concat());
        matrix.wait_for("1/12 ");
        if !matrix.has_ended() {
            matrix.signal("INT");
        }
        let ran = matrix.ended();
        let done = points(&here.json("m.json")).len();
        assert!(done == 12 || (done > 0 && ran.status == Some(130)), "{done} cells: {}", ran.stderr);
        done < 12
    });
    assert!(is_stopped, "it ends when it is told to");
    here.run(&[&words[..], &cells[..], &["--resume"]].concat()).expect_status(0);
    assert_eq!(points(&here.json("m.json")).len(), 12);
}

#[test]
fn a_file_of_somebody_else_is_read_and_not_written() {
    let here = Workspace::new();
    fs::write(here.path("mine.dat"), vec![7_u8; 1 << 20]).unwrap();
    let what = ["--sizes", "8K", "--depths", "1"];
    let refused = here.run(&with_short(&[&what[..], &["mine.dat"]].concat())).expect_status(2);
    assert!(refused.stderr.contains("--overwrite"), "{}", refused.stderr);
    here.run(&with_short(&[&what[..], &["--read-only", "--json", "m.json", "mine.dat"]].concat()))
        .expect_status(0);
    assert_eq!(points(&here.json("m.json")).len(), 2);
    assert!(fs::read(here.path("mine.dat")).unwrap().iter().all(|byte| *byte == 7));
}
