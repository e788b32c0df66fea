//! Five people who have just installed the program: what they type, and the sentence that answers them.

use std::fs;

use serde_json::Value;

use crate::copy::content;
use crate::devices::LoopDevice;
use crate::postgres::Postgres;
use crate::slow_disk::SlowDisk;
use crate::support::{Ran, Workspace, counted, skip};

/// The answer of the run in `document`, which is also the last thing on the screen.
#[track_caller]
fn answered(ran: &Ran, document: &Value) -> String {
    let answer = document["answer"].as_str().expect("an answer").to_owned();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (screen, last) = (words(&ran.stdout), words(&answer));
    let at = screen.rfind(&last).unwrap_or_else(|| panic!("{answer}\nis not in\n{}", ran.stdout));
    let rest = &screen[at + last.len()..];
    assert!(rest.is_empty() || rest.starts_with(" · run #"), "after {answer}: {rest}");
    answer
}

/// Repeats `attempt` with longer durations until its document has what it should. On a machine that stalls, a short load does
/// nothing.
#[track_caller]
fn long_enough<T>(mut attempt: impl FnMut(&str) -> Option<T>) -> T {
    ["1", "10", "100"].into_iter().find_map(&mut attempt).expect("too little was done, however long the run")
}

/// A DBA of SQL Server has an article open and a Linux server in front of him. He types the article's line.
#[test]
fn a_sql_server_dba_types_an_articles_line() {
    let here = Workspace::new();
    let line = |seconds: &str, more: &[&str]| {
        let duration = format!("-d{seconds}");
        let words =
            [&["diskspd", &duration, "-W0", "-o32", "-t2", "-b64K", "-h", "-r", "-L", "-w0"], more].concat();
        here.run(&words)
    };
    // The article's file is not here. The message names the option that makes one.
    let missing = line("15", &["data.dat"]);
    assert_ne!(missing.status, Some(0));
    assert!(missing.stderr.contains("data.dat") && missing.stderr.contains("-c"), "{}", missing.stderr);
    long_enough(|seconds| {
        let ran = line(seconds, &["-c16M", "data.dat"]).expect_status(0);
        for part in
            ["Command Line:", "Input parameters:", "Results for timespan", "Total IO", "total latency"]
        {
            assert!(ran.stdout.to_lowercase().contains(&part.to_lowercase()), "{part}: {}", ran.stdout);
        }
        // DiskSpd's report has no answer; ours goes where its report is not.
        assert!(ran.stderr.contains(" IOPS · ") && ran.stderr.contains("MiB/s"), "{}", ran.stderr);
        assert!(ran.stderr.contains("run #"), "{}", ran.stderr);
        let shown = here.run(&["runs", "show", "last", "--json", "o.json"]).expect_status(0);
        let answer = answered(&shown, &here.json("o.json"));
        (counted(&here.json("o.json"), 0, "read").0 > 0).then(|| {
            assert!(answer.contains(" IOPS · ") && answer.contains(" MiB/s · p99 "), "{answer}");
            assert!(ran.stderr.contains(&answer), "{}\n{answer}", ran.stderr);
        })
    });
    // Which depth to use, and the table of the older article.
    let quick =
        ["--interval", "100ms", "--warmup", "0", "--repeats-max", "1", "--json", "o.json", "data.dat"];
    long_enough(|seconds| {
        let interval = format!("{seconds}00ms");
        let sweep = ["sweep", "--in-flight-max", "4", "--workers-max", "1"];
        let words: Vec<&str> =
            sweep.iter().chain(&quick).map(|word| if *word == "100ms" { &*interval } else { word }).collect();
        let ran = here.run(&words).expect_status(0);
        let answer = answered(&ran, &here.json("o.json"));
        (answer != "nothing completed").then(|| assert!(answer.starts_with("use "), "{answer}"))
    });
    let matrix = ["matrix", "--sizes", "64K,128K", "--depths", "2", "--access", "random", "--read-only"];
    let ran = here.run(&[&matrix[..], &quick[..]].concat()).expect_status(0);
    let answer = answered(&ran, &here.json("o.json"));
    assert!(answer.contains("up to ") || answer.contains("nothing measured"), "{answer}");
    for row in ["IOs/sec", "MBs/sec", "Min_Latency(ms)", "Avg_Latency(ms)", "Max_Latency(ms)"] {
        assert!(ran.stdout.contains(row), "{row}: {}", ran.stdout);
    }
}

/// A DBA of PostgreSQL is on a cloud disk and suspects it: 100 writes a second are a commit every ten milliseconds at best.
#[test]
fn a_postgresql_dba_asks_whether_the_cloud_disk_is_to_blame() {
    let here = Workspace::new();
    fs::create_dir(here.path("wal")).unwrap();
    if let Some(disk) = SlowDisk::new(&here, "wal", 2048, 100) {
        let load =
            ["load", "--preset", "postgres", "--target", "log=wal/t.dat", "--size", "16MiB", "--warmup", "0"];
        let words = [&load[..], &["--duration", "15s", "--json", "o.json", "t.dat"]].concat();
        let ran = disk.run(&here, &words).expect_status(0);
        let answer = answered(&ran, &here.json("o.json"));
        assert!(
            answer.contains("wal commits ")
                && (answer.contains("slower than a disk should be (≤ 5 ms)")
                    || answer.contains("cannot be judged")),
            "{answer}"
        );
        let fsync = [
            "fsync",
            "--duration",
            "300ms",
            "--committers",
            "1",
            "--methods",
            "fdatasync",
            "--json",
            "o.json",
        ];
        let ran = disk.run(&here, &[&fsync[..], &["wal"]].concat()).expect_status(0);
        let answer = answered(&ran, &here.json("o.json"));
        assert!(answer.contains("fdatasync") && answer.contains("commits/s"), "{answer}");
        let rate = here.json("o.json")["summary"]["steps"][0]["commits_per_s"].as_f64();
        assert!(rate.is_some_and(|rate| rate < 1000.0), "the disk is slow: {rate:?}");
    }
    let Some(server) = Postgres::start() else {
        return skip("a PostgreSQL DBA", "PostgreSQL 15 is not installed");
    };
    let url = server.url("postgres", &here.secret("password", "right"));
    server.sql(include_str!("sql/journey_make_orders.sql"));
    here.run(&["collect", "once", "linux:", &url]).expect_status(0);
    server.sql(include_str!("sql/journey_read_orders.sql"));
    here.run(&["collect", "once", "linux:", &url]).expect_status(0);
    let report = here.run(&["report", "files", "--since", "1h"]).expect_status(0).stdout;
    // PostgreSQL counts no time for a table, and the report says so instead of showing zeros, and where the time is.
    assert!(report.contains("neither writes nor time are counted"), "{report}");
    assert!(report.contains("iostall report volumes"), "{report}");
    let volumes = here.run(&["report", "volumes", "--since", "1h"]).expect_status(0).stdout;
    assert!(volumes.contains("linux:"), "{volumes}");
}

/// Somebody who thinks in fio has a job file, and a device that he wants to read.
#[test]
fn a_fio_user_runs_his_job_file_and_reads_a_device() {
    let here = Workspace::new();
    let job = |seconds: &str| {
        format!(
            "[global]\nioengine=libaio\ndirect=1\ntime_based\nruntime={seconds}\nsize=16m\nfilename=fio.dat\n\n\
             [data]\nrw=randread\nbs=8k\niodepth=16\n"
        )
    };
    long_enough(|seconds| {
        fs::write(here.path("nightly.fio"), job(seconds)).unwrap();
        let ran = here.run(&["load", "--fio", "nightly.fio", "--json", "o.json"]).expect_status(0);
        let run = here.json("o.json");
        let answer = answered(&ran, &run);
        (counted(&run, 0, "read").0 > 0).then(|| {
            assert!(answer.starts_with("read ") && answer.contains(" IOPS · "), "{answer}");
        })
    });
    let Some(device) = LoopDevice::new(&here, "a fio user's device", 64) else { return };
    long_enough(|seconds| {
        let duration = format!("{seconds}s");
        let load = ["load", "--block-size", "4K", "--queue-depth", "32", "--workers", "4", "--warmup", "0"];
        let rest = ["--duration", &duration, "--json", "o.json", device.name()];
        let ran = here.run(&[&load[..], &rest[..]].concat()).expect_status(0);
        let run = here.json("o.json");
        let answer = answered(&ran, &run);
        let (count, bytes) = counted(&run, 0, "read");
        (count > 0).then(|| {
            assert_eq!(bytes, count * 4096);
            assert!(ran.stdout.contains("4 KiB") && answer.contains(" IOPS"), "{answer}\n{}", ran.stdout);
        })
    });
}

/// Three terabytes must be moved over night, and the session dies in the middle of it.
#[test]
fn whoever_moves_terabytes_over_night_types_the_same_line_again_in_the_morning() {
    let here = Workspace::new();
    fs::create_dir_all(here.path("data/small")).unwrap();
    for at in 0..20 {
        fs::write(here.path("data/small").join(at.to_string()), content(1000 + at)).unwrap();
    }
    fs::write(here.path("data/big.bak"), content(8_000_000)).unwrap();
    let copy = ["copy", "--verify", "--reflink", "never", "--checkpoint", "1M", "--transfer-size", "1M"];
    let mut night = here.start(&[&copy[..], &["--limit", "500KB/s", "data", "backup"]].concat());
    let journal = iostall_transfer::copy::journal_path(&here.path("backup/big.bak"));
    night.wait_until("pieces of the large file", |_| {
        fs::read_to_string(&journal).is_ok_and(|text| text.lines().count() > 3)
    });
    night.signal("KILL");
    night.ended();
    assert!(!here.path("backup/big.bak").exists(), "what is not whole has no final name");
    let morning = [&copy[..], &["--json", "o.json", "--manifest", "m.json", "data", "backup"]].concat();
    let ran = here.run(&morning).expect_status(0);
    let run = here.json("o.json");
    let answer = answered(&ran, &run);
    assert!(run["copy"]["kept_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{}", run["copy"]);
    assert!(answer.contains(" copied in ") && answer.contains("read back and equal"), "{answer}");
    assert!(answer.contains("kept from an earlier try"), "{answer}");
    assert_eq!(fs::read(here.path("backup/big.bak")).unwrap(), content(8_000_000));
    // A week later: is it still whole?
    let ran = here.run(&["verify", "m.json", "--json", "v.json"]).expect_status(0);
    let answer = answered(&ran, &here.json("v.json"));
    assert!(answer.starts_with("21 of 21 files as they should be"), "{answer}");
    fs::write(here.path("backup/small/7"), content(1008)).unwrap();
    let ran = here.run(&["verify", "m.json", "--json", "v.json"]).expect_status(1);
    assert!(answered(&ran, &here.json("v.json")).starts_with("20 of 21 files"), "{}", ran.stdout);
    // Will buffered writing keep up with the stream?
    let write =
        ["write", "--methods", "buffered,direct", "--rate", "100MB/s", "--size", "16MB", "--json", "w.json"];
    let ran = here.run(&[&write[..], &["stream.dat"]].concat()).expect_status(0);
    let answer = answered(&ran, &here.json("w.json"));
    assert!(answer.contains("slowest write "), "{answer}");
    assert!(ran.stdout.contains("100 MB/s"), "the rate as it was typed: {}", ran.stdout);
}

/// A developer wants a yes or a no in the pipeline, and the numbers in the ticket.
#[test]
fn a_developers_pipeline_gets_a_yes_or_a_no() {
    let here = Workspace::new();
    let load = ["load", "--preset", "random-read", "--size", "16MiB", "--warmup", "0"];
    let outputs = ["--json", "out.json", "--markdown", "ticket.md", "--html", "out.html", "--junit", "t.xml"];
    let with = |require: &str, status: i32| {
        long_enough(|seconds| {
            let duration = format!("{seconds}s");
            let more = ["--duration", &duration, "--require", require, "data.dat"];
            let ran = here.run(&[&load[..], &outputs[..], &more[..]].concat());
            let run = here.json("out.json");
            (counted(&run, 0, "read").0 > 0).then(|| {
                let ran = ran.expect_status(status);
                answered(&ran, &run)
            })
        })
    };
    let yes = with("data.iops>0.001,p99<1000h", 0);
    assert!(yes.contains("all that was required is met"), "{yes}");
    let no = with("data.iops>1e12", 1);
    assert!(no.contains("missed: data.iops>1e12"), "{no}");
    let junit = fs::read_to_string(here.path("t.xml")).unwrap();
    assert!(junit.contains("<failure") && junit.contains("data.iops&gt;1e12"), "{junit}");
    let ticket = fs::read_to_string(here.path("ticket.md")).unwrap();
    assert!(ticket.contains("1 requirement missed") || ticket.contains("is missed"), "{ticket}");
    assert!(fs::read_to_string(here.path("out.html")).unwrap().contains("missed: data.iops&gt;1e12"));
    // Before and after: two runs are too few to say that nothing became worse.
    let compared = here.run(&["compare", "last~1", "last", "--require", "no-regression"]).expect_status(1);
    assert!(compared.stdout.contains("too few samples"), "{}", compared.stdout);
    // A mistake in the pipeline is neither a yes nor a no.
    let mistake = here.run(&[&load[..], &["--require", "lgo.p99<1ms", "data.dat"]].concat()).expect_status(2);
    assert!(mistake.stderr.contains("hint:"), "{}", mistake.stderr);
}
