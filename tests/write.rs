//! `iostall write`: methods, paces, intervals, output formats, and which files it may write to.

use std::fs;

use crate::support::{Workspace, skip};

#[test]
fn three_methods_write_the_same_amount_and_every_write_is_counted() {
    let here = Workspace::new();
    let ran = here
        .run(&[
            "write",
            "--size",
            "16M",
            "--packet",
            "512K",
            "--interval",
            "4M",
            "--json",
            "o.json",
            "--csv",
            "o.csv",
            "--html",
            "o.html",
            "t.dat",
        ])
        .expect_status(0);
    for word in ["buffered", "direct", "direct-dsync", "with sync"] {
        assert!(ran.stdout.contains(word), "{word}:\n{}", ran.stdout);
    }
    let write = &here.json("o.json")["write"];
    let methods = write["methods"].as_array().unwrap();
    assert_eq!(methods.len(), 3);
    for method in methods {
        assert_eq!(method["bytes"], 16 << 20);
        assert_eq!(method["write_ns"]["count"], 32);
        assert_eq!(method["intervals"].as_array().unwrap().len(), 4);
    }
    let csv = fs::read_to_string(here.path("o.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 3 * 4, "{csv}");
    let page = fs::read_to_string(here.path("o.html")).unwrap();
    assert!(page.contains("Peak write time") && page.contains("\"span-1-speed\""));
    assert!(!here.path("t.dat").exists(), "the file is removed unless it is to be kept");
}

/// Each packet was one body with a number in its first eight bytes: storage that finds duplicates kept one of them.
#[test]
fn no_two_packets_have_content_in_common() {
    let here = Workspace::new();
    let words = ["write", "--size", "4M", "--packet", "64K", "--methods", "buffered", "--keep", "t.dat"];
    here.run(&words).expect_status(0);
    let content = fs::read(here.path("t.dat")).unwrap();
    let sectors: std::collections::HashSet<&[u8]> = content.chunks(512).collect();
    assert_eq!((sectors.len(), content.len()), (8192, 4 << 20));
}

#[test]
fn a_line_rate_becomes_bursts_and_a_buffer_size() {
    let here = Workspace::new();
    // Slow enough for any machine, but the exit status depends on whether the pace was kept.
    let ran = here.run(&[
        "write",
        "--rate",
        "64Mbit/s",
        "--duration",
        "1s",
        "--methods",
        "direct",
        "--json",
        "o.json",
        "t.dat",
    ]);
    assert!(matches!(ran.status, Some(0 | 1)), "{}", ran.stderr);
    let method = &here.json("o.json")["write"]["methods"][0];
    let pace = &method["pace"];
    let rate = pace["packet_bytes"].as_f64().unwrap() * pace["packets_per_burst"].as_f64().unwrap()
        / (pace["period_ns"].as_f64().unwrap() / 1e9);
    assert!((rate / 8e6 - 1.0).abs() < 1e-3, "{rate}");
    // The story: a buffer was advised for a pace that was lost.
    let (is_kept, buffer) = (ran.status == Some(0), method["buffer_bytes"].as_u64());
    assert_eq!(buffer.is_some_and(|bytes| bytes >= 819_200), is_kept, "{method}");
    assert_eq!(ran.stdout.contains("to lose nothing"), is_kept, "{}", ran.stdout);
}

/// The story: three bursts of a source of 1.64 MB/s were 2.45 MB/s, and the pause after each burst that the published program makes
/// could not be typed.
#[test]
fn the_rate_of_a_few_bursts_is_that_of_their_source_and_a_delay_can_be_typed() {
    let here = Workspace::new();
    let bursts = ["write", "--methods", "direct", "--duration", "1500ms", "--json", "o.json", "t.dat"];
    let ran = here.run(&[&bursts[..], &["--period", "500ms"]].concat());
    // Not the answer before it, which begins with the method too.
    let is_row = |line: &&str| line.starts_with("  direct ");
    let line = ran.stdout.lines().find(is_row).unwrap();
    let method = &here.json("o.json")["write"]["methods"][0];
    let (bytes, elapsed_ns) = (method["bytes"].as_f64().unwrap(), method["elapsed_ns"].as_f64().unwrap());
    // A machine that stood still meanwhile took longer than the source.
    let expected = bytes / (elapsed_ns / 1e9).max(bytes / 1_638_400.0) / 1_048_576.0;
    assert!(line.split_whitespace().any(|word| word == format!("{expected:.2}")), "{expected}: {line}");
    let ran = here.run(&[&bursts[..], &["--burst", "2", "--delay", "400ms"]].concat()).expect_status(0);
    let pace = &here.json("o.json")["write"]["methods"][0]["pace"];
    assert_eq!((pace["delay_ns"].as_u64(), pace["period_ns"].as_u64()), (Some(400_000_000), Some(0)));
    assert!(ran.stdout.contains("it waits"), "{}", ran.stdout);
    here.run(&[&bursts[..], &["--delay", "1ms", "--period", "1ms"]].concat()).expect_status(2);
}

#[test]
fn a_sweep_tries_every_step() {
    let here = Workspace::new();
    let ran = here.run(&[
        "write",
        "--sweep",
        "1,2,3",
        "--period",
        "50ms",
        "--size",
        "5M",
        "--packet",
        "256K",
        "--methods",
        "direct",
        "--interval",
        "1M",
        "--json",
        "o.json",
        "t.dat",
    ]);
    assert!(matches!(ran.status, Some(0 | 1)), "{}", ran.stderr);
    let written = &here.json("o.json")["write"];
    assert_eq!(written["methods"].as_array().unwrap().len(), 3);
    assert!(ran.stdout.contains("direct × 3"), "{}", ran.stdout);
    // The interval that the sweep was made for is stored with the run and shown with it.
    assert_eq!(written["sweet_spots"][0]["method"], "direct");
    let shown = here.run(&["runs", "show", "last"]).expect_status(0).stdout;
    let sentence = match written["sweet_spots"][0]["packets_per_burst"].as_u64() {
        Some(packets) => format!("the sweet spot is {packets} packets a burst"),
        None => "there is no sweet spot".to_owned(),
    };
    assert!(ran.stdout.contains(&sentence) && shown.contains(&sentence), "{}\n{shown}", ran.stdout);
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_written() {
    let here = Workspace::new();
    let ran = here.run(&["write", "--packet", "800KB", "t.dat"]).expect_status(2);
    assert!(ran.stderr.contains("multiple of 4096") && ran.stderr.contains("802816"), "{}", ran.stderr);
    here.run(&["write", "--rate", "fast", "t.dat"]).expect_status(2);
    here.run(&["write", "--sweep", "1,2", "t.dat"]).expect_status(2);
    fs::write(here.path("mine"), b"precious").unwrap();
    let ran = here.run(&["write", "--size", "1M", "mine"]).expect_status(2);
    assert!(ran.stderr.contains("--overwrite"), "{}", ran.stderr);
    assert_eq!(fs::read(here.path("mine")).unwrap(), b"precious");
    assert!(!here.path("t.dat").exists());
}

#[test]
fn an_interrupted_writing_keeps_what_it_measured() {
    let here = Workspace::new();
    let mut writing = here.start(&[
        "write",
        "--duration",
        "1h",
        "--period",
        "20ms",
        "--methods",
        "buffered",
        "--json",
        "o.json",
        "t.dat",
    ]);
    let path = here.path("t.dat");
    writing.wait_until("three megabytes", |_| {
        fs::metadata(&path).is_ok_and(|metadata| metadata.len() > 3_000_000)
    });
    writing.signal("INT");
    writing.ended().expect_status(130);
    let run = here.json("o.json");
    assert_eq!(run["interrupted"], true);
    assert!(run["write"]["methods"][0]["bytes"].as_u64().unwrap() >= 3_000_000);
}

#[test]
fn a_memory_limit_is_set_for_the_writing_and_gone_afterwards() {
    let here = Workspace::new();
    let ran = here.run(&[
        "write",
        "--memory-limit",
        "256M",
        "--size",
        "8M",
        "--interval",
        "1M",
        "--methods",
        "buffered",
        "--json",
        "o.json",
        "t.dat",
    ]);
    if ran.status == Some(2) && ran.stderr.contains("cannot limit the memory") {
        assert!(ran.stderr.contains("systemd-run"), "{}", ran.stderr);
        return skip("a memory limit", "control groups may not be made here");
    }
    ran.expect_status(0);
    assert_eq!(here.json("o.json")["write"]["memory_limit_bytes"], 256 << 20);
}
