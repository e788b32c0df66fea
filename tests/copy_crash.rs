//! Killed at any moment, a copy leaves its final name absent or whole, and `--resume` ends with the same bytes.

use std::fs;
use std::time::Duration;

use crate::copy::{content, names};
use crate::support::{Workspace, signal};

/// Kills, of copies and of resumes: each round makes two.
const ROUNDS: u64 = 100;
const BYTES: usize = 12_000_000;

/// A number below `bound` that follows from the seed.
fn draw(seed: &mut u64, bound: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % bound
}

#[test]
fn a_copy_killed_at_any_moment_is_absent_or_whole_and_can_be_continued() {
    let here = Workspace::new();
    let data = content(BYTES);
    fs::write(here.path("from"), &data).unwrap();
    let mut kept = 0;
    for round in 0..ROUNDS {
        let mut seed = round;
        // At 150 MB/s it takes 80 ms; some kills come before it begins and some after it has ended.
        let copy =
            ["copy", "--no-store", "--limit", "150MB/s", "--checkpoint", "1M", "--transfer-size", "256K"];
        for resume in [false, true] {
            let mut words = copy.to_vec();
            if resume {
                words.push("--resume");
            }
            words.extend(["from", "to"]);
            let mut child = here.start(&words);
            let delay = Duration::from_micros(draw(&mut seed, 140_000));
            let (_keep, never) = std::sync::mpsc::channel::<()>();
            let _ = never.recv_timeout(delay);
            signal(&child, "KILL");
            child.wait().unwrap();
            if let Ok(found) = fs::read(here.path("to")) {
                assert!(found == data, "round {round}: the final name stands for something else");
            }
        }
        let mut words = copy.to_vec();
        words.extend(["--resume", "--json", "o.json", "from", "to"]);
        here.run(&words).expect_status(0);
        assert!(fs::read(here.path("to")).unwrap() == data, "round {round}: continued to another content");
        kept += u64::from(here.json("o.json")["copy"]["kept_bytes"].as_u64().unwrap() > 0);
        fs::remove_file(here.path("to")).unwrap();
        assert_eq!(names(&here.path(".")), ["from", "o.json"], "round {round}");
    }
    // Otherwise nothing was ever resumed, and this test tests nothing. How many were depends on how busy the machine is.
    assert!(kept > 0, "none of {ROUNDS} rounds had anything to go on from");
}

#[test]
fn a_tree_killed_at_any_moment_has_only_whole_files_under_final_names() {
    let here = Workspace::new();
    fs::create_dir(here.path("tree")).unwrap();
    for number in 0..400_usize {
        fs::write(here.path("tree").join(number.to_string()), content(3_000 + number)).unwrap();
    }
    fs::create_dir(here.path("into")).unwrap();
    for round in 0..20 {
        let mut seed = 1_000 + round;
        let mut child = here.start(&["copy", "--no-store", "--limit", "20MB/s", "tree", "into"]);
        let (_keep, never) = std::sync::mpsc::channel::<()>();
        let _ = never.recv_timeout(Duration::from_micros(draw(&mut seed, 120_000)));
        signal(&child, "KILL");
        child.wait().unwrap();
        for number in 0..400_usize {
            if let Ok(found) = fs::read(here.path("into/tree").join(number.to_string())) {
                assert!(found == content(3_000 + number), "round {round}: file {number}");
            }
        }
        here.run(&["copy", "--no-store", "--resume", "tree", "into"]).expect_status(0);
        assert_eq!(names(&here.path("into/tree")).len(), 400, "round {round}");
        fs::remove_dir_all(here.path("into/tree")).unwrap();
    }
}
