//! `iostall drive limits`: a throttled loop device whose cap is found, every output, and what ends a search early.

use std::fs;

use crate::running::Running;
use crate::slow_disk::SlowDisk;
use crate::support::Workspace;

/// A search of a few seconds.
const SHORT: [&str; 10] =
    ["drive", "limits", "--time-limit", "8s", "--size", "32M", "--queue-depth", "8", "--json", "o.json"];

/// What a cloud volume does: so many requests a second, however large they are, and not one more.
#[test]
fn the_cap_of_a_throttled_device_is_found() {
    let here = Workspace::new();
    let Some(disk) = SlowDisk::new(&here, "volume", 256, 400) else { return };
    // A new file would leave less than must stay free of so small a volume.
    fs::write(here.path("volume/data.dat"), vec![1; 32 << 20]).unwrap();
    let ran = disk.run(&here, &[&SHORT[..], &["volume/data.dat"]].concat()).expect_status(0);
    let run = here.json("o.json");
    let summary = &run["summary"];
    let iops = summary["iops"]["per_s"].as_f64().unwrap();
    assert!((iops / 400.0 - 1.0).abs() < 0.1, "{iops}\n{}", ran.stdout);
    assert_ne!(summary["credit"], "bucket", "{}", ran.stdout);
    assert_eq!(summary["accounting"], "each", "{}", ran.stdout);
    for word in ["takes 8s at most", "64 GiB at most", "none left"] {
        assert!(ran.stderr.contains(word), "{word}:\n{}", ran.stderr);
    }
    let shown = here.run(&["runs", "show", "1"]).expect_status(0).stdout;
    assert!(shown.contains("What was measured, in order"), "{shown}");
    let capacity = here.run(&["runs", "capacity"]).expect_status(0).stdout;
    assert!(capacity.contains("4 KiB") || capacity.contains("4K"), "{capacity}");
}

#[test]
fn a_file_is_searched_in_every_form_within_its_bytes() {
    let here = Workspace::new();
    let forms =
        ["--csv", "o.csv", "--html", "o.html", "--markdown", "o.md", "--byte-limit", "40M", "data.dat"];
    let ran = here.run(&[&SHORT[..], &forms].concat()).expect_status(0);
    let run = here.json("o.json");
    assert_eq!(run["limits"]["ended"], "bytes", "{}", ran.stdout);
    assert!(ran.stdout.contains("--byte-limit"), "{}", ran.stdout);
    let moved = run["summary"]["moved_bytes"].as_u64().unwrap();
    // It ended after the tenth of a second in which they were reached, in which a cache gives hundreds of megabytes.
    assert!((39 << 20..=40 << 20).contains(&moved), "{moved}");
    assert!(fs::read_to_string(here.path("o.csv")).unwrap().starts_with("probe,step,block_size"));
    assert!(fs::read_to_string(here.path("o.html")).unwrap().contains("Requests a second"));
    assert!(fs::read_to_string(here.path("o.md")).unwrap().contains("What was measured"));
}

/// A page as an EBS volume gives it: magic, and counters from byte 8 on.
fn saved_log(over_iops_us: u64, reads: u64) -> Vec<u8> {
    let mut page = vec![0; 4096];
    page[..4].copy_from_slice(&[0x10, 0xb5, 0x23, 0x3c]);
    page[8..16].copy_from_slice(&reads.to_le_bytes());
    page[40..48].copy_from_slice(&(reads * 700).to_le_bytes());
    page[56..64].copy_from_slice(&over_iops_us.to_le_bytes());
    page
}

#[test]
fn a_saved_log_of_a_volume_says_how_long_it_was_over_its_limit() {
    let here = Workspace::new();
    fs::write(here.path("then.bin"), saved_log(5_000_000, 1000)).unwrap();
    fs::write(here.path("now.bin"), saved_log(47_000_000, 9000)).unwrap();
    fs::write(here.path("other.bin"), [0; 4096]).unwrap();
    let words = ["drive", "limits", "--vendor-log", "--json", "o.json"];
    let ran = here.run(&[&words[..], &["now.bin"]].concat()).expect_status(0);
    assert!(ran.stdout.contains("the volume's IOPS for 47.0 s"), "{}", ran.stdout);
    let ran = here.run(&[&words[..], &["then.bin", "now.bin", "--html", "o.html"]].concat()).expect_status(0);
    assert!(ran.stdout.contains("the volume's IOPS for 42.0 s"), "{}", ran.stdout);
    let log = here.json("o.json")["summary"]["volume_log"].clone();
    assert_eq!((&log["over_volume_iops_us"], &log["read_ops"]), (&42_000_000.into(), &8000.into()), "{log}");
    here.run(&[&words[..], &["nothing.bin"]].concat()).expect_status(2);
    for wrong in [&["now.bin", "then.bin"][..], &["other.bin"], &["/dev/zero"]] {
        let refused = here.run(&[&words[..], wrong].concat()).expect_status(2);
        assert!(refused.stderr.contains("hint:"), "{wrong:?}: {}", refused.stderr);
    }
}

#[test]
fn an_interrupted_search_keeps_what_it_found() {
    let here = Workspace::new();
    let mut search = here.start(&["drive", "limits", "--size", "16M", "--json", "o.json", "data.dat"]);
    search.wait_until("its workers", Running::is_loading);
    search.signal("INT");
    let ran = search.ended().expect_status(130);
    assert!(ran.stdout.contains("INTERRUPTED"), "{}", ran.stdout);
    assert_eq!(here.json("o.json")["limits"]["ended"], "interrupted");
}

#[test]
fn reading_needs_no_consent_and_writing_does() {
    let here = Workspace::new();
    fs::write(here.path("theirs.dat"), vec![b'x'; 8 << 20]).unwrap();
    let words = ["drive", "limits", "--time-limit", "1s", "theirs.dat"];
    here.run(&words).expect_status(0);
    let refused = here.run(&[&words[..], &["--write"]].concat()).expect_status(2);
    assert!(refused.stderr.contains("--overwrite"), "{}", refused.stderr);
    assert_eq!(fs::read(here.path("theirs.dat")).unwrap(), vec![b'x'; 8 << 20]);
    here.run(&["drive", "limits", "theirs.dat", "theirs.dat"]).expect_status(2);
}
