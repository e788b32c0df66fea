//! `iostall diskspd`: command lines from articles, verbatim but for the seconds.

use std::collections::HashMap;
use std::fs;

use serde_json::Value;

use crate::support::{Workspace, counted};

/// Makes `t.dat` (64 MiB) the way DiskSpd's users do.
fn made() -> Workspace {
    let here = Workspace::new();
    here.run(&["diskspd", "-c64M", "-d1", "-W0", "-b64K", "t.dat"]).expect_status(0);
    here
}

/// The rows of each table of a text report, by its title, as a script of a DBA would read them.
fn tables(report: &str) -> HashMap<String, Vec<Vec<String>>> {
    let mut tables: HashMap<String, Vec<Vec<String>>> = HashMap::new();
    let mut title = String::new();
    for line in report.lines() {
        if line.ends_with(" IO") || line.ends_with("latency distribution:") {
            line.clone_into(&mut title);
        } else if line.contains('|') && !title.is_empty() {
            let cells = line.split(['|']).map(|cell| cell.trim().to_owned()).collect();
            tables.entry(title.clone()).or_default().push(cells);
        }
    }
    tables
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}

#[test]
fn the_articles_command_lines_run_and_their_reports_add_up() {
    let here = made();
    for line in [
        "-d1 -W0 -o32 -t2 -b64K -h -r -L -w0 t.dat",
        "-d1 -W0 -o32 -t4 -b64K -h -r -L -w0 t.dat",
        "-d1 -W0 -o32 -t2 -b64K -h -s -L -w0 t.dat",
        "-d1 -W0 -o32 -t2 -b64K -h -si -L -w0 t.dat",
        "-d1 -W0 -o1 -t1 -b60K -h -s -L -w100 t.dat",
        "-d1 -W0 -o32 -t4 -b512K -h -si -L -w0 t.dat",
    ] {
        let words: Vec<&str> = std::iter::once("diskspd").chain(line.split(' ')).collect();
        let report = here.run(&words).expect_status(0).stdout;
        assert!(
            report
                .starts_with(&format!("\nCommand Line: {} diskspd {line}\n", env!("CARGO_BIN_EXE_iostall")))
        );
        let tables = tables(&report);
        let total = &tables["Total IO"];
        let last = total.last().unwrap();
        assert!(last[0].starts_with("total:"), "{line}: {last:?}");
        let bytes: f64 = total[1..total.len() - 1].iter().map(|row| number(&row[1])).sum();
        let whole = number(last[0].trim_start_matches("total:").trim());
        assert!((bytes - whole).abs() < 0.5 && whole > 0.0, "{line}: {bytes} {whole}");
        let percentiles = &tables["Total latency distribution:"];
        assert_eq!(percentiles.len(), 16, "{line}");
        // The story: the Linux port took the system's uptime for the latency of the first requests when -W0 was given.
        let (median, max) = (number(&percentiles[3][3]), number(&percentiles[15][3]));
        assert!(median > 0.0 && median <= max && max < 5_000.0, "{line}: {median} {max}");
    }
}

#[test]
fn total_percentiles_are_those_of_reads_and_writes_together() {
    // The story: the Linux port added the threads seen so far once more for each thread.
    // A percentile is the upper edge of its bucket or the largest value seen, whichever is less; so that of
    // both kinds may pass the larger of the two by a bucket's width.
    let bucket = 1.0 + iostall_measure::histogram::RELATIVE_ERROR_MAX;
    let here = made();
    let report = here
        .run(&["diskspd", "-d1", "-W0", "-o8", "-t4", "-b4K", "-r", "-Su", "-L", "-w30", "t.dat"])
        .expect_status(0)
        .stdout;
    let percentiles = &tables(&report)["Total latency distribution:"];
    for row in &percentiles[1..] {
        let (read, write, total) = (number(&row[1]), number(&row[2]), number(&row[3]));
        assert!(total >= read.min(write) && total <= read.max(write) * bucket, "{row:?}");
    }
}

#[test]
fn one_run_gives_text_xml_json_and_a_page() {
    let here = made();
    let ran = here
        .run(&[
            "diskspd",
            "-d1",
            "-W0",
            "-L",
            "-D",
            "-Rtext,xml",
            "--json",
            "o.json",
            "--html",
            "o.html",
            "t.dat",
        ])
        .expect_status(0);
    assert!(ran.stdout.contains("Total IO") && ran.stdout.contains("<Results>"));
    let run: Value = here.json("o.json");
    let read = counted(&run, 0, "read");
    assert!(ran.stdout.contains(&format!("<ReadBytes>{}</ReadBytes>", read.1)), "{}", ran.stdout);
    assert!(here.path("o.html").exists());
    assert!(here.run(&["runs"]).expect_status(0).stdout.contains("diskspd"));
}

#[test]
fn a_profile_goes_out_as_xml_and_comes_back() {
    let here = made();
    let profile = here
        .run(&["diskspd", "-d1", "-W0", "-b8K", "-r", "-w0", "-t2", "-o4", "-Rpxml", "t.dat"])
        .expect_status(0)
        .stdout;
    fs::write(here.path("p.xml"), &profile).unwrap();
    let again = here.run(&["diskspd", "-Xp.xml", "-Rpxml"]).expect_status(0).stdout;
    assert_eq!(again, profile);
    let report = here.run(&["diskspd", "-Xp.xml", "-Rtext"]).expect_status(0).stdout;
    assert!(report.contains("block size: 8KiB") && report.contains("threads per file: 2"), "{report}");
}

#[test]
fn exit_statuses_are_diskspds() {
    let here = Workspace::new();
    let status = |words: &[&str]| {
        let words: Vec<&str> = std::iter::once("diskspd").chain(words.iter().copied()).collect();
        here.run(&words)
    };
    assert!(status(&["-?"]).expect_status(0).stdout.contains("-b"));
    status(&[]).expect_status(3);
    status(&["-b", "4K", "t.dat"]).expect_status(3);
    let late = status(&["t.dat", "-d1"]).expect_status(3);
    assert!(late.stderr.contains("must come before targets on the command line"), "{}", late.stderr);
    let traced = status(&["-eDISK_IO", "t.dat"]).expect_status(3);
    assert!(traced.stderr.contains("event tracing"), "{}", traced.stderr);
    let absent = status(&["-d1", "absent.dat"]).expect_status(1);
    assert!(absent.stderr.contains("-c"), "{}", absent.stderr);
}

#[test]
fn a_file_of_the_user_s_is_neither_replaced_nor_written() {
    let here = Workspace::new();
    let data = vec![5_u8; 4 << 20];
    fs::write(here.path("mine.dat"), &data).unwrap();
    for words in [vec!["-c64M", "-d1", "mine.dat"], vec!["-d1", "-W0", "-w100", "mine.dat"]] {
        let words: Vec<&str> = std::iter::once("diskspd").chain(words).collect();
        let refused = here.run(&words).expect_status(1);
        assert!(refused.stderr.contains("--overwrite"), "{}", refused.stderr);
        assert!(fs::read(here.path("mine.dat")).unwrap() == data);
    }
    here.run(&["diskspd", "-d1", "-W0", "--overwrite", "mine.dat", "-w100", "mine.dat"]).expect_status(0);
    assert!(fs::read(here.path("mine.dat")).unwrap() != data);
}

#[test]
fn a_link_named_diskspd_is_diskspd() {
    let here = made();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_iostall"), here.path("diskspd")).unwrap();
    let output = std::process::Command::new(here.path("diskspd"))
        .args(["-d1", "-W0", "t.dat"])
        .current_dir(here.path("."))
        .env("IOSTALL_STORE", here.path("store.db"))
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("Results for timespan 1:"), "{output:?}");
}

#[test]
fn a_rate_is_held_without_wrapping() {
    // The story: DiskSpd computes -g in 32-bit integers, so 100000i with 64K blocks wraps.
    let here = made();
    for (limit, threads, wanted) in [("-g100i", "-t1", 100.0), ("-g250i", "-t2", 500.0)] {
        let report = here
            .run(&["diskspd", "-d2", "-W0", "-o8", threads, "-b4K", "-r", "-Su", limit, "t.dat"])
            .expect_status(0)
            .stdout;
        let total = tables(&report)["Total IO"].last().unwrap().clone();
        let iops = number(&total[3]);
        assert!((iops / wanted - 1.0).abs() < 0.1, "{limit} {threads}: {iops}");
    }
}
