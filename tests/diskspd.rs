//! `iostall diskspd` with command lines from articles, unchanged except for durations.

use std::collections::HashMap;
use std::fs;

use iostall_measure::{Clock, MonotonicClock};
use serde_json::Value;

use crate::support::{Workspace, binary, counted};

/// Creates `t.dat` (64 MiB) with -c, as DiskSpd's users do.
fn made() -> Workspace {
    let here = Workspace::new();
    here.run(&["diskspd", "-c64M", "-d1", "-W0", "-b64K", "t.dat"]).expect_status(0);
    here
}

/// Rows of the tables of a text report, by table title.
type Tables = HashMap<String, Vec<Vec<String>>>;

/// Rows of each table of a text report, by title, parsed as a DBA's script would.
fn tables(report: &str) -> Tables {
    let mut tables = Tables::new();
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

/// The tables of the report of `line`. Instead of `-d1` it runs as long as this machine needs to complete
/// requests in all `columns` of the percentiles. Returns that time too, seconds.
fn reported(here: &Workspace, line: &str, columns: &[usize]) -> (Tables, f64) {
    for seconds in ["-d1", "-d10", "-d100"] {
        let line = line.replace("-d1", seconds);
        let words: Vec<&str> = std::iter::once("diskspd").chain(line.split(' ')).collect();
        let clock = MonotonicClock::new();
        let report = here.run(&words).expect_status(0).stdout;
        let took_s = clock.now_ns() as f64 / 1e9;
        assert!(report.starts_with(&format!("\nCommand Line: {} diskspd {line}\n", binary().display())));
        let tables = tables(&report);
        let maxima = tables["Total latency distribution:"].last().unwrap();
        if columns.iter().all(|column| maxima[*column] != "N/A") {
            return (tables, took_s);
        }
    }
    panic!("{line} completes nothing");
}

/// Bytes of all threads.
fn total(tables: &Tables) -> f64 {
    let last = tables["Total IO"].last().unwrap();
    assert!(last[0].starts_with("total:"), "{last:?}");
    number(last[0].trim_start_matches("total:").trim())
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
        let (tables, took_s) = reported(&here, line, &[3]);
        let rows = &tables["Total IO"];
        let bytes: f64 = rows[1..rows.len() - 1].iter().map(|row| number(&row[1])).sum();
        let whole = total(&tables);
        assert!((bytes - whole).abs() < 0.5, "{line}: {bytes} {whole}");
        let percentiles = &tables["Total latency distribution:"];
        assert_eq!(percentiles.len(), 16, "{line}");
        // With -W0, the Linux port reported the system's uptime as the latency of the first requests.
        let (median, max) = (number(&percentiles[3][3]), number(&percentiles[15][3]));
        assert!(median > 0.0 && median <= max && max <= took_s * 1e3, "{line}: {median} {max} in {took_s} s");
    }
}

#[test]
fn total_percentiles_are_those_of_reads_and_writes_together() {
    // The Linux port added each thread's counts once more for every later thread. A percentile is the upper
    // edge of its bucket, or the largest value if that is lower, so the total's percentile may exceed the
    // larger one by one bucket; values are printed with three decimals.
    let bucket = 1.0 + iostall_measure::histogram::RELATIVE_ERROR_MAX;
    let printed = 0.000_501;
    let here = made();
    let (tables, _) = reported(&here, "-d1 -W0 -o8 -t4 -b4K -r -Su -L -w30 t.dat", &[1, 2, 3]);
    let percentiles = &tables["Total latency distribution:"];
    for row in &percentiles[1..] {
        let (read, write, total) = (number(&row[1]), number(&row[2]), number(&row[3]));
        let most = (read.max(write) + printed) * bucket + printed;
        assert!(total >= read.min(write) && total <= most, "{row:?}");
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
    std::os::unix::fs::symlink(binary(), here.path("diskspd")).unwrap();
    let output = std::process::Command::new(here.path("diskspd"))
        .args(["-d1", "-W0", "t.dat"])
        .current_dir(here.path("."))
        .env("IOSTALL_STORE", here.path("store.db"))
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("Results for timespan 1:"), "{output:?}");
}

/// The only role of the only span, with its length.
fn only_role(run: &Value) -> (&Value, f64) {
    let span = &run["load"]["spans"][0];
    (&span["roles"][0], span["measured_ns"].as_f64().unwrap() / 1e9)
}

#[test]
fn a_rate_of_a_hundredth_of_the_device_is_held_to_the_request() {
    // DiskSpd computes -g in 32-bit integers: small rates are truncated and large ones overflow. The test
    // counts instead of timing: exactly the requests that are due in the measured part are submitted, and
    // each has completed, is queued, or is one of the -o in flight.
    let here = made();
    for (limit, threads, wanted) in [("-g100i", 1_u32, 100.0), ("-g25i", 4, 100.0), ("-g409.6", 1, 100.0)] {
        let threads_word = format!("-t{threads}");
        here.run(&[
            "diskspd",
            "-d3",
            "-W0",
            "-o8",
            &threads_word,
            "-b4K",
            "-r",
            "-Su",
            limit,
            "--json",
            "o.json",
            "t.dat",
        ])
        .expect_status(0);
        let run = here.json("o.json");
        let (role, measured_s) = only_role(&run);
        let open = &role["open_loop"];
        let (arrivals, waiting) =
            (open["arrivals"].as_u64().unwrap(), open["backlog_at_end"].as_u64().unwrap());
        let due = wanted * measured_s;
        assert!((arrivals as f64 - due).abs() <= f64::from(threads), "{limit}: {arrivals} of {due}");
        let (done, _) = counted(&run, 0, "read");
        let in_flight_max = u64::from(8 * threads);
        assert!(done + waiting <= arrivals, "{limit}: {done} + {waiting} of {arrivals}");
        assert!(arrivals <= done + waiting + in_flight_max, "{limit}: {done} + {waiting} of {arrivals}");
    }
}

#[test]
fn a_rate_beyond_the_device_is_told_with_what_waited() {
    let here = made();
    let ran = here
        .run(&[
            "diskspd",
            "-d1",
            "-W0",
            "-o1",
            "-b64K",
            "-r",
            "-Su",
            "-g1000000i",
            "--json",
            "o.json",
            "t.dat",
        ])
        .expect_status(0);
    assert!(
        ran.stderr.contains("t.dat: ") && ran.stderr.contains("had not started at the end"),
        "{}",
        ran.stderr
    );
    let run = here.json("o.json");
    let (role, measured_s) = only_role(&run);
    let open = &role["open_loop"];
    assert!((open["arrivals"].as_f64().unwrap() - 1e6 * measured_s).abs() <= 1.0, "{open}");
    let (done, _) = counted(&run, 0, "read");
    assert!(
        open["backlog_at_end"].as_u64().unwrap() + done + 1 >= open["arrivals"].as_u64().unwrap(),
        "{open}"
    );
}

/// A profile of two time spans on `p.dat`, each with an optional `FileSize`.
fn two_spans(precreate: &str, sizes: [Option<u64>; 2]) -> String {
    let span = |bytes: Option<u64>| {
        let size = bytes.map(|bytes| format!("<FileSize>{bytes}</FileSize>")).unwrap_or_default();
        format!(
            "<TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets><Target><Path>p.dat</Path>{size}\
             <BlockSize>4096</BlockSize><Random>4096</Random></Target></Targets></TimeSpan>"
        )
    };
    format!("<Profile>{precreate}<TimeSpans>{}{}</TimeSpans></Profile>", span(sizes[0]), span(sizes[1]))
}

#[test]
fn each_time_span_uses_the_size_it_asks_for() {
    // PrecreateFiles used to be ignored: files were created once, and all of the largest was used in every
    // time span.
    let here = Workspace::new();
    let used = |precreate: &str, sizes| {
        fs::write(here.path("p.xml"), two_spans(precreate, sizes)).unwrap();
        let ran = here.run(&["diskspd", "-Xp.xml", "--json", "o.json"]).expect_status(0);
        let run = here.json("o.json");
        let bytes = |span: usize| run["load"]["spans"][span]["target_bytes"][0].as_u64().unwrap() >> 20;
        (bytes(0), bytes(1), ran.stdout)
    };
    let rule = |word: &str| format!("<PrecreateFiles>{word}</PrecreateFiles>");
    let (small, large) = (Some(1 << 20), Some(4 << 20));

    fs::write(here.path("p.xml"), two_spans(&rule("CreateOnlyFilesWithConstantSizes"), [None, large]))
        .unwrap();
    let refused = here.run(&["diskspd", "-Xp.xml"]).expect_status(1);
    assert!(
        refused.stderr.contains("is not there") && refused.stderr.contains("PrecreateFiles"),
        "{}",
        refused.stderr
    );

    let (first, second, report) = used("", [small, large]);
    assert_eq!((first, second), (1, 4));
    assert!(report.contains("p.dat (1MiB)") && report.contains("p.dat (4MiB)"), "{report}");
    let (first, second, _) = used(&rule("UseMaxSize"), [small, large]);
    assert_eq!((first, second), (4, 4));
    let (first, second, _) = used(&rule("CreateOnlyFilesWithConstantOrZeroSizes"), [None, large]);
    assert_eq!((first, second), (4, 4));
}

#[test]
fn what_the_machine_does_not_have_is_refused_with_what_to_ask_for() {
    let here = made();
    for (words, cause) in [
        (vec!["-w100", "-Z1T"], "of memory"),
        (vec!["-b1G", "-o4096", "-f2G", "-B0"], "of memory"),
        (vec!["-o100000"], "requests in flight"),
        (vec!["-b4K", "-g4000000000i"], "requests a second"),
        (vec!["-b128M"], "does not fit"),
    ] {
        let words: Vec<&str> = ["diskspd", "-d1", "-W0"].into_iter().chain(words).chain(["t.dat"]).collect();
        let refused = here.run(&words).expect_status(1);
        assert!(
            refused.stderr.contains(cause) && refused.stderr.contains("hint: "),
            "{words:?}: {}",
            refused.stderr
        );
    }
}

#[test]
fn a_line_for_sqlio_is_answered_in_diskspds_words() {
    let here = Workspace::new();
    let refused = here
        .run(&["diskspd", "-kW", "-t2", "-s120", "-dE", "-o1", "-frandom", "-b64", "-BH", "-LS", "F"])
        .expect_status(3);
    assert!(refused.stderr.contains("diskspd -b64K -d120 -o1 -t2 -r -Su -L -w100 F"), "{}", refused.stderr);
}

#[test]
fn a_range_that_ends_beyond_the_target_is_told() {
    let here = made();
    let told = here.run(&["diskspd", "-d1", "-W0", "-b4K", "-r", "-f1G", "t.dat"]).expect_status(0);
    assert!(told.stderr.contains("the target ends at 64 MiB"), "{}", told.stderr);
    let moved = here.run(&["diskspd", "-d1", "-W0", "-b4K", "-r", "-Su", "-B1000", "t.dat"]).expect_status(0);
    assert!(moved.stderr.contains("-B or -f is within a sector"), "{}", moved.stderr);
}

#[test]
fn the_null_engine_counts_for_the_targets_that_were_named() {
    // A templated target runs under a substitute name that was missing from the report, so every row was
    // zero.
    let here = Workspace::new();
    let line = ["diskspd", "--engine", "null", "-d1", "-W0", "-t2", "-b4K", "-r", "-c1G", "a.dat", "b.dat"];
    let report = here.run(&line).expect_status(0).stdout;
    let total = &tables(&report)["Total IO"];
    assert_eq!(total.len(), 6, "{total:?}");
    assert!(total[1..5].iter().all(|row| number(&row[2]) > 0.0), "{total:?}");
    assert!(!here.path("a.dat").exists());
}
