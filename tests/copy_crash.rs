//! Killed at any time, a copy leaves its final name absent or complete, and `--resume` produces the same
//! bytes.

use std::fs;

use iostall_measure::{Clock, MonotonicClock};

use crate::copy::{content, names};
use crate::support::{Workspace, at_length};

/// Each round kills one copy and one resume.
const ROUNDS: u64 = 100;
/// Rounds with `./check --long`.
const ROUNDS_AT_LENGTH: u64 = 2_000;
const BYTES: usize = 12_000_000;

/// A pseudorandom number below `bound`.
pub(crate) fn draw(seed: &mut u64, bound: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % bound
}

/// Runs `words` and returns the time it took, nanoseconds, as an estimate for the next run.
pub(crate) fn timed(here: &Workspace, words: &[&str]) -> u64 {
    let clock = MonotonicClock::new();
    here.run(words).expect_status(0);
    clock.now_ns()
}

/// Starts `words` and kills it at a random time within `within_ns`.
pub(crate) fn killed(here: &Workspace, words: &[&str], within_ns: u64, seed: &mut u64) {
    let clock = MonotonicClock::new();
    let copy = here.start(words);
    clock.sleep_until(draw(seed, within_ns));
    copy.signal("KILL");
    copy.ended();
}

#[test]
fn a_copy_killed_at_any_moment_is_absent_or_whole_and_can_be_continued() {
    let here = Workspace::new();
    let data = content(BYTES);
    fs::write(here.path("from"), &data).unwrap();
    let mut kept = 0;
    // At 150 MB/s the data takes 80 ms, plus the time to start a program.
    let copy = ["copy", "--no-store", "--reflink", "never", "--limit", "150MB/s", "--checkpoint", "1M"];
    let copy = [&copy[..], &["--transfer-size", "256K"]].concat();
    let mut whole_ns = timed(&here, &[&copy[..], &["from", "to"]].concat());
    fs::remove_file(here.path("to")).unwrap();
    let rounds = if at_length() { ROUNDS_AT_LENGTH } else { ROUNDS };
    for round in 0..rounds {
        let mut seed = round;
        for resume in [false, true] {
            let mut words = copy.clone();
            if resume {
                words.push("--resume");
            }
            words.extend(["from", "to"]);
            // Some kills come before the copy starts and some after it ends.
            killed(&here, &words, whole_ns + whole_ns / 4, &mut seed);
            if let Ok(found) = fs::read(here.path("to")) {
                assert!(found == data, "round {round}: the final name stands for something else");
            }
        }
        let words = [&copy[..], &["--resume", "--json", "o.json", "from", "to"]].concat();
        let is_done = here.path("to").exists();
        let rest_ns = timed(&here, &words);
        assert!(fs::read(here.path("to")).unwrap() == data, "round {round}: continued to another content");
        let kept_bytes = here.json("o.json")["copy"]["kept_bytes"].as_u64().unwrap();
        kept += u64::from(kept_bytes > 0);
        // The machine's speed varies, so kill times follow the last complete copy.
        if kept_bytes == 0 && !is_done {
            whole_ns = rest_ns;
        }
        fs::remove_file(here.path("to")).unwrap();
        assert_eq!(names(&here.path(".")), ["from", "o.json"], "round {round}");
    }
    // Otherwise nothing was ever resumed, and the test is useless.
    assert!(kept > 0, "none of {rounds} rounds had anything to go on from");
}

#[test]
fn a_tree_killed_at_any_moment_has_only_whole_files_under_final_names() {
    let here = Workspace::new();
    fs::create_dir(here.path("tree")).unwrap();
    for number in 0..400_usize {
        fs::write(here.path("tree").join(number.to_string()), content(3_000 + number)).unwrap();
    }
    fs::create_dir(here.path("into")).unwrap();
    let copy = ["copy", "--no-store", "--reflink", "never", "--limit", "20MB/s", "tree", "into"];
    let whole_ns = timed(&here, &copy);
    fs::remove_dir_all(here.path("into/tree")).unwrap();
    for round in 0..20 {
        let mut seed = 1_000 + round;
        killed(&here, &copy, whole_ns, &mut seed);
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
