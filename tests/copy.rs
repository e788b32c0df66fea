//! `iostall copy` end to end: all options and exit statuses, and the bugs of UBCopy.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use iostall_measure::{Clock, MonotonicClock};

use crate::running::Running;
use crate::support::{Ran, Workspace, until};

/// Content without repetition.
pub(crate) fn content(size: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ size as u64;
    let mut data = Vec::with_capacity(size + 8);
    while data.len() < size {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        data.extend_from_slice(&(state >> 7).to_le_bytes());
    }
    data.truncate(size);
    data
}

pub(crate) fn names(path: &Path) -> Vec<String> {
    let listed = fs::read_dir(path).unwrap();
    let mut names: Vec<_> =
        listed.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.starts_with("store.db"));
    names.sort();
    names
}

/// Waits until an unfinished copy exists, so that the test acts in the middle of the copy.
fn wait_for_part(here: &Workspace, copy: &mut Running) {
    copy.wait_until("the unfinished copy", |_| {
        names(&here.path(".")).iter().any(|name| name.contains(".iostall-"))
    });
}

#[test]
fn a_copy_is_reported_recorded_and_exits_with_zero() {
    // UBCopy's Main returned 1 for success and 0 for failure, which misled scripts.
    let here = Workspace::new();
    fs::write(here.path("from"), content(5_000_001)).unwrap();
    let ran = here.run(&["copy", "--json", "o.json", "from", "to"]).expect_status(0);
    assert!(ran.stdout.contains("4.77 MiB in 1 file copied"), "{}", ran.stdout);
    assert!(ran.stdout.contains("MiB/s") && ran.stdout.contains("limit"), "{}", ran.stdout);
    assert_eq!(fs::read(here.path("to")).unwrap(), content(5_000_001));
    let copy = &here.json("o.json")["copy"];
    assert_eq!(copy["bytes"], 5_000_001);
    assert_eq!(copy["counts"]["files"], 1);
    let series = copy["series"].as_array().unwrap();
    let written: u64 = series.iter().map(|point| point["written_bytes"].as_u64().unwrap()).sum();
    assert_eq!(written, 5_000_001);
    let shown = here.run(&["runs", "show", "last"]).expect_status(0).stdout;
    assert!(shown.contains("4.77 MiB in 1 file copied"), "{shown}");
    assert!(here.run(&["runs"]).expect_status(0).stdout.contains("copy "));
}

#[test]
fn what_cannot_be_copied_exits_with_two_and_says_why() {
    // UBCopy reported "Invalid path" and returned success.
    let here = Workspace::new();
    let ran = here.run(&["copy", "absent", "to"]).expect_status(2);
    assert!(ran.stderr.contains("cannot find absent") && ran.stderr.contains("hint:"), "{}", ran.stderr);
    fs::write(here.path("from"), b"x").unwrap();
    let ran = here.run(&["copy", "from", "no/such/dir/to"]).expect_status(2);
    assert!(ran.stderr.contains("no/such/dir") && ran.stderr.contains("hint:"), "{}", ran.stderr);
    here.run(&["copy", "from"]).expect_status(2);
    here.run(&["copy", "--checkpoint", "much", "from", "to"]).expect_status(2);
    assert_eq!(names(&here.path(".")), ["from"]);
}

#[test]
fn the_source_stays_whatever_becomes_of_the_copy() {
    // UBCopy's move deleted the source even if the target merely existed.
    let here = Workspace::new();
    fs::write(here.path("from"), content(3_000_000)).unwrap();
    fs::write(here.path("to"), b"something else").unwrap();
    here.run(&["copy", "from", "to"]).expect_status(2);
    here.run(&["copy", "--move", "from", "to"]).expect_status(2);
    here.run(&["copy", "--verify", "--overwrite", "from", "to"]).expect_status(0);
    assert_eq!(fs::read(here.path("from")).unwrap(), content(3_000_000));
    assert_eq!(fs::read(here.path("to")).unwrap(), content(3_000_000));
}

/// The output of a copy that was disturbed. `None` if it succeeded because the disturbance came too late;
/// then its file is removed.
fn ended_unless_late(here: &Workspace, copy: Running, in_time: bool) -> Option<Ran> {
    let ran = copy.ended();
    if ran.status == Some(0) && !in_time {
        fs::remove_file(here.path("to")).unwrap();
        return None;
    }
    Some(ran)
}

const DAMAGED_BYTES: usize = 48 << 20;
const DAMAGED_AT: u64 = DAMAGED_BYTES as u64 - 5000;

/// Damages a copy near its end while it is read back, and returns the output. `None` if the damage came too
/// late.
fn damaged_while_read_back(here: &Workspace) -> Option<Ran> {
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::write(here.path("from"), content(DAMAGED_BYTES)).unwrap();
    File::options().write(true).open(here.path("from")).unwrap().set_modified(old).unwrap();
    let words =
        ["copy", "--reflink", "never", "--verify", "--limit", "24MB/s", "--json", "o.json", "from", "to"];
    let mut copy = here.start(&words);
    let part = iostall_transfer::copy::part_path(&here.path("to"));
    let clock = MonotonicClock::new();
    let mut not_yet_ns = 0;
    // The copy has its source's times once all is written, before it is renamed.
    until("the reading back", || {
        let has_ended = copy.has_ended();
        let begun = fs::metadata(&part).is_ok_and(|found| found.modified().unwrap() == old);
        if !begun && !has_ended {
            not_yet_ns = clock.now_ns();
        }
        (begun || has_ended).then_some(())
    });
    if let Ok(file) = File::options().read(true).write(true).open(&part) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, DAMAGED_AT).unwrap();
        file.write_all_at(&[byte[0] ^ 0x10], DAMAGED_AT).unwrap();
        file.sync_all().unwrap();
    }
    // Reading back 48 MiB at 24 MB/s takes two seconds; the rate limit lets a fraction of a second through at
    // once.
    let in_time = clock.now_ns() - not_yet_ns < 1_500_000_000;
    ended_unless_late(here, copy, in_time)
}

#[test]
fn a_destination_that_comes_back_different_exits_with_one_and_names_the_offset() {
    // UBCopy compared only the last, short block, and the target kept its final name in any case.
    let here = Workspace::new();
    let damaged = (0..20).find_map(|_| damaged_while_read_back(&here));
    let ran = damaged.expect("damage in time").expect_status(1);
    assert!(ran.stdout.contains("DIFFERENT"), "{}", ran.stdout);
    let mismatch = &here.json("o.json")["copy"]["mismatches"][0];
    assert_eq!(mismatch["first_offset"].as_u64(), Some(DAMAGED_AT), "{mismatch}");
    assert_eq!(names(&here.path(".")), ["from", "o.json"], "a copy that differs must not look whole");
}

#[test]
fn an_existing_file_is_replaced_only_when_asked_and_only_by_a_whole_one() {
    // UBCopy parsed `-o false` but ignored it and always overwrote. It also truncated a good destination
    // before it had any data for it.
    let here = Workspace::new();
    fs::write(here.path("from"), content(3_000_000)).unwrap();
    fs::write(here.path("to"), b"precious").unwrap();
    let ran = here.run(&["copy", "from", "to"]).expect_status(2);
    assert!(ran.stderr.contains("to exists") && ran.stderr.contains("--overwrite"), "{}", ran.stderr);
    assert_eq!(fs::read(here.path("to")).unwrap(), b"precious");

    // At this rate it would take five minutes.
    let mut copy =
        here.start(&["copy", "--reflink", "never", "--overwrite", "--limit", "10KB/s", "from", "to"]);
    wait_for_part(&here, &mut copy);
    assert_eq!(
        fs::read(here.path("to")).unwrap(),
        b"precious",
        "the old file stays until the new one is whole"
    );
    copy.signal("INT");
    copy.ended().expect_status(130);
    assert_eq!(names(&here.path(".")), ["from", "to"]);

    here.run(&["copy", "--overwrite", "from", "to"]).expect_status(0);
    assert_eq!(fs::read(here.path("to")).unwrap(), content(3_000_000));
}

/// Changes a source while it is copied at `limit`, which takes at least `seconds`, and returns the output.
/// `None` if the change came too late.
fn changed_while_copied(here: &Workspace, change: &str, (limit, seconds): (&str, f64)) -> Option<Ran> {
    fs::write(here.path("from"), content(4_000_000)).unwrap();
    let clock = MonotonicClock::new();
    let words = ["copy", "--reflink", "never", "--limit", limit, "--transfer-size", "64K", "from", "to"];
    let mut copy = here.start(&words);
    let part = iostall_transfer::copy::part_path(&here.path("to"));
    until("the unfinished copy", || (part.exists() || copy.has_ended()).then_some(()));
    let mut file = File::options().write(true).open(here.path("from")).unwrap();
    match change {
        "grow" => file.set_len(5_000_000).unwrap(),
        "shrink" => file.set_len(1_000).unwrap(),
        "rewrite" => file.write_all(b"other").unwrap(),
        _ => {
            fs::write(here.path("new"), content(4_000_000)).unwrap();
            fs::rename(here.path("new"), here.path("from")).unwrap();
        }
    }
    let in_time = (clock.now_ns() as f64) < seconds * 1e9;
    ended_unless_late(here, copy, in_time)
}

#[test]
fn a_source_that_changes_meanwhile_is_an_error_and_leaves_nothing() {
    // UBCopy read the size before opening the file, and hung if the file shrank or grew.
    for change in ["grow", "shrink", "rewrite", "replace"] {
        let here = Workspace::new();
        // Half a second; a slower machine needs longer to make the change. A tenth may pass at once.
        let limits = [("8MB/s", 0.4), ("800KB/s", 4.0), ("80KB/s", 40.0)];
        let ran = limits.into_iter().find_map(|limit| changed_while_copied(&here, change, limit));
        let ran = ran.expect("a change in time").expect_status(2);
        assert!(
            ran.stderr.contains("changed while it was copied") || ran.stderr.contains("became shorter"),
            "{change}: {}",
            ran.stderr
        );
        assert_eq!(names(&here.path(".")), ["from"], "{change}");
    }
}

#[test]
fn a_rate_limit_is_held_for_large_and_for_small_files() {
    // UBCopy's `-l` set the buffer size to one second's bytes, and did not limit anything when writes were
    // fast.
    let here = Workspace::new();
    fs::write(here.path("large"), content(3_000_000)).unwrap();
    fs::create_dir(here.path("small")).unwrap();
    for number in 0..30 {
        fs::write(here.path("small").join(number.to_string()), content(100_000)).unwrap();
    }
    for from in ["large", "small"] {
        let to = format!("{from}-copy");
        here.run(&["copy", "--reflink", "never", "--limit", "3MB/s", "--json", "o.json", from, &to])
            .expect_status(0);
        let copy = &here.json("o.json")["copy"];
        let seconds = copy["elapsed_ns"].as_f64().unwrap() / 1e9;
        // Only a lower bound, because a slow machine may take longer. The token bucket starts full.
        assert!(seconds > 0.6, "{from}: 3 MB at 3 MB/s in {seconds} s");
    }
}

/// The story: a DBA typed `--limit 200`, meaning megabytes, and the copy went at 200 bytes a second.
#[test]
fn a_limit_without_a_unit_is_refused_with_both_readings() {
    let here = Workspace::new();
    fs::write(here.path("from"), content(1000)).unwrap();
    let refused = here.run(&["copy", "--limit", "200", "from", "to"]).expect_status(2);
    assert!(refused.stderr.contains("MB/s") && refused.stderr.contains(" B/s"), "{}", refused.stderr);
    assert!(!here.path("to").exists());
    here.run(&["copy", "--limit", "200000B/s", "from", "to"]).expect_status(0);
}

/// The story: one limit held copying and reading back of large files together, and small ones were read back at full speed.
#[test]
fn reading_back_has_the_limit_to_itself() {
    let here = Workspace::new();
    fs::create_dir(here.path("small")).unwrap();
    for number in 0..30 {
        fs::write(here.path("small").join(number.to_string()), content(100_000)).unwrap();
    }
    let words =
        ["copy", "--reflink", "never", "--verify", "--limit", "3MB/s", "--json", "o.json", "small", "to"];
    here.run(&words).expect_status(0);
    let seconds = here.json("o.json")["copy"]["elapsed_ns"].as_f64().unwrap() / 1e9;
    assert!(seconds > 1.5, "3 MB written and then 3 MB read back at 3 MB/s in {seconds} s");
}

#[test]
fn sizes_of_requests_and_depth_are_what_was_asked_for() {
    // UBCopy did not enforce its largest buffer size, and broke with more than 64 threads.
    let here = Workspace::new();
    fs::write(here.path("from"), content(2_000_000)).unwrap();
    for (size, depth) in [("4K", "1"), ("64K", "200"), ("1M", "3")] {
        let arguments = ["--transfer-size", size, "--depth", depth, "--small-file", "0", "--overwrite"];
        let mut words = vec!["copy", "--json", "o.json"];
        words.extend(arguments);
        words.extend(["from", "to"]);
        here.run(&words).expect_status(0);
        assert_eq!(fs::read(here.path("to")).unwrap(), content(2_000_000));
        let shape = &here.json("o.json")["copy"]["shape"];
        assert_eq!(shape["reads_max"].to_string(), depth);
    }
    here.run(&["copy", "--depth", "0", "from", "x"]).expect_status(2);
    here.run(&["copy", "--depth", "100000", "from", "x"]).expect_status(2);
}

#[test]
fn a_tree_lands_where_it_was_sent_with_everything_about_its_files() {
    // UBCopy created trees under the source's full path, and did not keep times, attributes or empty
    // directories.
    let here = Workspace::new();
    fs::create_dir_all(here.path("tree/empty")).unwrap();
    fs::create_dir_all(here.path("tree/deep")).unwrap();
    for number in 0..100 {
        fs::write(here.path("tree/deep").join(format!("f{number}")), content(number * 50)).unwrap();
    }
    fs::write(here.path("tree/big"), content(2_500_000)).unwrap();
    fs::set_permissions(here.path("tree/big"), fs::Permissions::from_mode(0o604)).unwrap();
    let past = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_234_567_890);
    for name in ["tree/big", "tree/empty", "tree/deep/f7"] {
        File::open(here.path(name)).unwrap().set_modified(past).unwrap();
    }
    fs::create_dir(here.path("into")).unwrap();
    // More workers than UBCopy supported.
    here.run(&["copy", "--workers", "100", "--verify", "tree", "into"]).expect_status(0);
    for number in 0..100 {
        let copied = fs::read(here.path("into/tree/deep").join(format!("f{number}"))).unwrap();
        assert_eq!(copied, content(number * 50));
    }
    let big = fs::metadata(here.path("into/tree/big")).unwrap();
    assert_eq!((big.mode() & 0o7777, big.mtime()), (0o604, 1_234_567_890));
    assert_eq!(fs::metadata(here.path("into/tree/empty")).unwrap().mtime(), 1_234_567_890);
    assert_eq!(fs::metadata(here.path("into/tree/deep/f7")).unwrap().mtime(), 1_234_567_890);
}

#[test]
fn a_long_name_is_copied_or_refused_and_never_skipped_as_success() {
    // UBCopy skipped paths longer than 260 characters with a log line and returned success.
    let here = Workspace::new();
    let mut deep = here.path("tree");
    for _ in 0..12 {
        deep = deep.join("d".repeat(60));
    }
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("n".repeat(255)), b"far down").unwrap();
    here.run(&["copy", "tree", "copy"]).expect_status(0);
    let copied = here.path("copy").join(deep.strip_prefix(here.path("tree")).unwrap()).join("n".repeat(255));
    assert_eq!(fs::read(copied).unwrap(), b"far down");
}

#[test]
fn an_empty_tree_and_an_empty_file_are_copied() {
    let here = Workspace::new();
    fs::create_dir(here.path("tree")).unwrap();
    fs::write(here.path("nothing"), b"").unwrap();
    here.run(&["copy", "--verify", "tree", "copy"]).expect_status(0);
    here.run(&["copy", "--verify", "nothing", "copy"]).expect_status(0);
    assert_eq!(fs::read(here.path("copy/nothing")).unwrap(), b"");
}

#[test]
fn quiet_says_one_line_and_json_alone_goes_to_standard_output() {
    // UBCopy shipped with a debug configuration that hid progress and wrote two log lines per block.
    let here = Workspace::new();
    fs::write(here.path("from"), content(100_000)).unwrap();
    let ran = here.run(&["--quiet", "copy", "from", "to"]).expect_status(0);
    assert_eq!((ran.stdout.lines().count(), ran.stderr.as_str()), (1, ""), "{}", ran.stdout);
    let ran = here.run(&["copy", "--json", "-", "--overwrite", "from", "to"]).expect_status(0);
    let run: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON and nothing else");
    assert_eq!(run["copy"]["counts"]["small_files"], 1);
}

#[test]
fn standing_back_works_for_anybody() {
    let here = Workspace::new();
    fs::write(here.path("from"), content(100_000)).unwrap();
    for level in ["low", "idle"] {
        here.run(&["copy", "--nice", level, "--overwrite", "from", "to"]).expect_status(0);
    }
}

#[test]
fn buffered_sides_are_dropped_behind_and_the_copy_is_equal() {
    let here = Workspace::new();
    fs::write(here.path("from"), content(9_000_000)).unwrap();
    let ran = here
        .run(&[
            "copy",
            "--source-caching",
            "buffered",
            "--target-caching",
            "buffered",
            "--verify",
            "from",
            "to",
        ])
        .expect_status(0);
    assert!(ran.stdout.contains("read buffered, written buffered"), "{}", ran.stdout);
    assert_eq!(fs::read(here.path("to")).unwrap(), content(9_000_000));
}
