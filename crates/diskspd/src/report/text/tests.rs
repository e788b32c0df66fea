use std::collections::BTreeMap;

use super::*;
use crate::Distribution;
use crate::report::fixture::{profile, report};
use crate::report::input::{Processor, TargetResult, ThreadResult};

/// The part of the report from the line that begins with `from` up to the first blank line after it.
fn section(text: &str, from: &str) -> String {
    let lines = text.lines().skip_while(|line| !line.starts_with(from));
    lines.take_while(|line| !line.is_empty()).flat_map(|line| [line, "\n"]).collect()
}

fn parameters(line: &str) -> String {
    let mut out = String::new();
    let report = DiskspdReport { profile: profile(line), ..report("F") };
    super::parameters::write(&mut out, &report);
    out
}

#[test]
fn the_head_shows_the_command_and_every_setting_of_an_article() {
    let text = write_text(&report("-d15 -o32 -t2 -b64K -h -r -L -w0 /data/t.dat"));
    let expected = "\n\
        Command Line: diskspd -d15 -o32 -t2 -b64K -h -r -L -w0 /data/t.dat\n\
        \n\
        Input parameters:\n\
        \n\
        \ttimespan:   1\n\
        \t-------------\n\
        \tduration: 15s\n\
        \twarm up time: 5s\n\
        \tcool down time: 0s\n\
        \tmeasuring latency\n\
        \trandom seed: 0\n\
        \tpath: '/data/t.dat'\n\
        \t\tthink time: 0ms\n\
        \t\tburst size: 0\n\
        \t\tsoftware cache disabled\n\
        \t\thardware write cache disabled, writethrough on\n\
        \t\tperforming read test\n\
        \t\tblock size: 64KiB\n\
        \t\tusing random I/O (alignment: 64KiB)\n\
        \t\tnumber of outstanding I/O operations per thread: 32\n\
        \t\tthreads per file: 2\n\
        \t\tusing I/O Completion Ports\n\
        \t\tIO priority: normal\n\
        \n\
        System information:\n\
        \n\
        \tcomputer name: dbhost\n\
        \tstart time: 2026/03/05 07:08:09 UTC\n\
        \n\
        \tcpu count:\t\t2\n\
        \tcore count:\t\t2\n\
        \tgroup count:\t\t1\n\
        \tnode count:\t\t1\n\
        \tsocket count:\t\t1\n\
        \theterogeneous cores:\tn\n\
        \n\
        \tactive power scheme:\tperformance (00000000-0000-0000-0000-000000000000)\n\
        \n\
        Results for timespan 1:\n\
        *******************************************************************************\n\
        \n\
        actual test time:\t10.00s\n\
        thread count:\t\t2\n\
        \n\
        CPU |  Usage |  User  | Kernel |  Idle\n\
        ----------------------------------------\n";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn a_distribution_is_listed_as_asked() {
    let text = parameters("-r -rdpct10/10:10/10:0/10 F");
    let expected = "\t\tIO priority: normal\n\
        \t\tIO Distribution:\n\
        \t\t    10% of IO => [ 0% -  10%) of target\n\
        \t\t    10% of IO => [10% -  20%) of target\n\
        \t\t     0% of IO => [20% -  30%) of target\n\
        \t\t    80% of IO => [30% - 100%) of target\n\n";
    assert!(text.ends_with(expected), "{text}");
    let text = parameters("-r -rdabs10/1G:10/1G:0/100G F");
    let expected = "\
        \t\t    10% of IO => [     0    -      1GiB)\n\
        \t\t    10% of IO => [     1GiB -      2GiB)\n\
        \t\t     0% of IO => [     2GiB -    102GiB)\n\
        \t\t    80% of IO => [   102GiB -       end)\n\n";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn rarer_settings_have_diskspds_words_in_diskspds_order() {
    let text = parameters(
        "-:1 -v -n -D250 -z7 -Zr -Sw -Z1M,s.bin -p -w30 -B1G -f4G -T1M -t2 -o8 -frst -x -I1 -i4 -j9 F",
    );
    let expected = "Experiment Flags: 0x1 (1)\n\
        \n\
        Input parameters:\n\
        \n\
        \tusing verbose mode\n\
        \ttimespan:   1\n\
        \t-------------\n\
        \tduration: 10s\n\
        \twarm up time: 5s\n\
        \tcool down time: 0s\n\
        \taffinity disabled\n\
        \tgathering IOPS at intervals of 250ms\n\
        \trandom seed: 7\n\
        \tgenerating random data for each write IO\n\
        \t  WARNING: this increases the CPU cost of issuing writes and should only\n\
        \t           be compared to other results using the -Zr flag\n\
        \tpath: 'F'\n\
        \t\tthink time: 9ms\n\
        \t\tburst size: 4\n\
        \t\tusing software cache\n\
        \t\thardware and software write caches disabled, writethrough on\n\
        \t\twrite buffer size: 1MiB\n\
        \t\twrite buffer source: 's.bin'\n\
        \t\tusing parallel async I/O\n\
        \t\tperforming mix test (read/write ratio: 70/30)\n\
        \t\tblock size: 64KiB\n\
        \t\tusing sequential I/O (stride: 64KiB)\n\
        \t\tnumber of outstanding I/O operations per thread: 8\n\
        \t\tbase file offset: 1GiB\n\
        \t\tmax file size: 4GiB\n\
        \t\tthread stride size: 1MiB\n\
        \t\tusing FILE_FLAG_SEQUENTIAL_SCAN hint\n\
        \t\tusing FILE_FLAG_RANDOM_ACCESS hint\n\
        \t\tusing FILE_ATTRIBUTE_TEMPORARY hint\n\
        \t\tthreads per file: 2\n\
        \t\tusing completion routines (ReadFileEx/WriteFileEx)\n\
        \t\tIO priority: very low\n\n";
    assert!(text.ends_with(expected), "{text}");
    let pool = parameters("-F4 -O16 -a0,2 -rs30 -r4K a");
    for part in [
        "\tthread pool with 4 threads\n\tnumber of outstanding I/O operations per thread: 16\n\
         \tadvanced affinity round robin (group/core): 0/0, 0/2\n\tpath: 'a'\n",
        "\t\tusing mixed random/sequential I/O (30% random) (alignment/stride: 4KiB)\n\
         \t\trelative IO weight in thread pool: 1\n\t\tIO priority: normal\n",
    ] {
        assert!(pool.contains(part), "{pool}");
    }
    assert!(parameters("-g500i F").contains("\t\tthroughput rate-limited to 500 IOPS\n"));
    assert!(parameters("-g1024 F").contains("\t\tthroughput rate-limited to 1024 B/ms\n"));
    assert!(parameters("-si F").contains("\t\tusing interlocked sequential I/O (stride: 64KiB)\n"));
    assert!(parameters("-o1 F").contains("threads per file: 1\n\t\tIO priority"));
}

#[test]
fn the_processor_table_shows_shares_of_the_time_the_machine_had() {
    let text = write_text(&report("F"));
    let expected = "\
        CPU |  Usage |  User  | Kernel |  Idle\n\
        ----------------------------------------\n\
        \x20  0|  30.00%|  10.00%|  20.00%|  70.00%\n\
        \x20  1|   5.00%|   0.00%|   5.00%|  95.00%\n\
        ----------------------------------------\n\
        avg.|  17.50%|   5.00%|  12.50%|  82.50%\n";
    assert_eq!(section(&text, "CPU |"), expected);
}

#[test]
fn places_of_processors_are_columns_only_where_there_is_more_than_one() {
    let mut report = report("F");
    report.topology.socket_count = 2;
    report.topology.core_count = 1;
    report.topology.processors = vec![
        Processor { id: 0, efficiency_class: 1, ..Processor::default() },
        Processor { id: 1, socket: 1, ..Processor::default() },
    ];
    let text = write_text(&report);
    let expected = "\
        Socket | Core | Class | CPU |  Usage |  User  | Kernel |  Idle\n\
        ----------------------------------------------------------------\n\
        \x20     0|     0|     1P|    0|  30.00%|  10.00%|  20.00%|  70.00%\n\
        \x20     1|     0|     0 |    1|   5.00%|   0.00%|   5.00%|  95.00%\n\
        ----------------------------------------------------------------\n\
        \x20                       avg.|  17.50%|   5.00%|  12.50%|  82.50%\n";
    assert_eq!(section(&text, "Socket |"), expected);
    assert!(text.contains("heterogeneous cores:\ty\n"));
}

#[test]
fn the_tables_have_the_columns_that_were_asked_for() {
    let full = write_text(&report("-L -D -t2 -b8K /data/t.dat"));
    let expected = "\
        Total IO\n\
        thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | IopsStdDev | LatStdDev |  file\n\
        ------------------------------------------------------------------------------------------------------------------\n\
        \x20    0 |      1073741824 |       131072 |     102.40 |   13107.20 |    0.305 |     120.50 |     0.210 | /data/t.dat (4GiB)\n\
        \x20    1 |      1073741824 |       131072 |     102.40 |   13107.20 |    0.305 |      98.00 |     0.210 | /data/t.dat (4GiB)\n\
        ------------------------------------------------------------------------------------------------------------------\n\
        total:        2147483648 |       262144 |     204.80 |   26214.40 |    0.305 |     218.50 |     0.210\n";
    assert_eq!(section(&full, "Total IO"), expected);
    let writes = section(&full, "Write IO");
    let idle = "     0 |               0 |            0 |       0.00 |       0.00 |    0.000 |       0.00 |       N/A | /data/t.dat (4GiB)";
    assert_eq!(writes.lines().nth(3), Some(idle));
    for (options, width) in [("", 78), ("-D", 91), ("-L", 101), ("-L -D", 114)] {
        let text = write_text(&report(&format!("{options} F")));
        assert_eq!(section(&text, "Read IO").lines().nth(2).map(str::len), Some(width), "{options}");
    }
    let plain = section(&write_text(&report("F")), "Total IO");
    assert_eq!(
        plain.lines().nth(3),
        Some("     0 |      1073741824 |       131072 |     102.40 |   13107.20 | F (4GiB)")
    );
}

#[test]
fn threads_without_a_series_of_their_own_leave_the_deviation_to_the_total() {
    let mut report = report("-D -t2 F");
    let result = &mut report.time_spans[0];
    result.read_buckets = result.threads[0].targets[0].read.buckets.clone().unwrap();
    for thread in &mut result.threads {
        thread.targets[0].read.buckets = None;
    }
    let table = section(&write_text(&report), "Total IO");
    assert!(table.lines().nth(3).unwrap().contains(" |        N/A | "), "{table}");
    assert!(table.lines().last().unwrap().ends_with(" |     120.50"), "{table}");
}

#[test]
fn percentiles_stand_under_diskspds_labels_with_na_where_nothing_was_done() {
    let text = write_text(&report("-L F"));
    let expected = "\
        Total latency distribution:\n\
        \x20 %-ile |  Read (ms) | Write (ms) | Total (ms)\n\
        ----------------------------------------------\n\
        \x20   min |      0.095 |        N/A |      0.095\n\
        \x20  25th |      0.095 |        N/A |      0.095\n\
        \x20  50th |      0.095 |        N/A |      0.095\n\
        \x20  75th |      0.515 |        N/A |      0.515\n\
        \x20  90th |      0.515 |        N/A |      0.515\n\
        \x20  95th |      0.515 |        N/A |      0.515\n\
        \x20  99th |      0.515 |        N/A |      0.515\n\
        3-nines |      0.515 |        N/A |      0.515\n\
        4-nines |      0.515 |        N/A |      0.515\n\
        5-nines |      0.515 |        N/A |      0.515\n\
        6-nines |      0.515 |        N/A |      0.515\n\
        7-nines |      0.515 |        N/A |      0.515\n\
        8-nines |      0.515 |        N/A |      0.515\n\
        9-nines |      0.515 |        N/A |      0.515\n\
        \x20   max |      0.515 |        N/A |      0.515\n";
    assert_eq!(section(&text, "Total latency"), expected);
    assert!(!write_text(&report("F")).contains("%-ile"));
}

#[test]
fn several_targets_have_a_percentile_table_each_before_the_total() {
    let text = write_text(&report("-L -t2 a b"));
    let places: Vec<_> =
        ["\nLatency distribution: a\n", "\nLatency distribution: b\n", "\nTotal latency distribution:\n"]
            .iter()
            .map(|heading| text.find(heading).expect(heading))
            .collect();
    assert!(places.is_sorted());
    assert_eq!(section(&text, "Total IO").lines().filter(|line| line.ends_with("b (4GiB)")).count(), 2);
}

#[test]
fn effective_distributions_are_shown_once_for_the_threads_that_share_them() {
    let mut report = report("-t6 F");
    let distribution = Distribution::parse("pct10/10:10/10:0/10", 4096).unwrap();
    let ranges = distribution.effective(100 << 10, 4096, 4096);
    let place = |thread: &mut ThreadResult, path: &str| {
        let target: &mut TargetResult = &mut thread.targets[0];
        target.path = path.into();
        target.distribution.clone_from(&ranges);
    };
    for (thread, path) in report.time_spans[0].threads.iter_mut().zip(["x", "x", "x", "y", "x", "y"]) {
        place(thread, path);
    }
    let expected = "\
        Effective IO Distributions\n\
        --------------------------\n\
        target: x [thread: 0 - 2 4]\n\
        \x20   10% of IO => [     0    -      8KiB)\n\
        \x20   10% of IO => [     8KiB -     20KiB)\n\
        \x20   80% of IO => [    28KiB -    100KiB)\n\
        target: y [thread: 3 5]\n\
        \x20   10% of IO => [     0    -      8KiB)\n\
        \x20   10% of IO => [     8KiB -     20KiB)\n\
        \x20   80% of IO => [    28KiB -    100KiB)\n";
    assert_eq!(section(&write_text(&report), "Effective IO"), expected);
}

#[test]
fn a_run_stopped_in_its_warm_up_says_so_and_shows_no_numbers() {
    let mut report = report("-L F");
    report.time_spans[0].measured_ns = 0;
    let text = write_text(&report);
    let expected = "*\n\nThe test was interrupted before the measurements began. No results are displayed.\n";
    assert!(text.ends_with(expected), "{text}");
    assert!(!text.contains("Total IO"));
}

#[test]
fn several_time_spans_end_in_their_totals() {
    let mut report = report("-b8K F");
    report.profile.time_spans.push(report.profile.time_spans[0].clone());
    report.time_spans.push(report.time_spans[0].clone());
    let text = write_text(&report);
    assert!(text.contains("\nResults for timespan 2:\n"));
    let rule = "-".repeat(79);
    let expected = format!(
        "\n\nTotals:\n{}\n\n\
         type   |       bytes     |     I/Os     |    MiB/s   |  I/O per s\n{rule}\n\
         write  |               0 |            0 |       0.00 |       0.00\n\
         read   |      2147483648 |       262144 |     102.40 |   13107.20\n{rule}\n\
         total  |      2147483648 |       262144 |     102.40 |   13107.20\n\n\
         total test time:\t20.00s\n",
        "*".repeat(79)
    );
    assert!(text.ends_with(&expected), "{text}");
}

/// Reads a report as the scripts of DBAs do: find the table, split its rows at the bars.
fn scrape(text: &str) -> BTreeMap<String, Vec<Vec<String>>> {
    let mut tables: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    let mut table = String::new();
    for line in text.lines() {
        if line.ends_with(" IO") || line == "Total latency distribution:" {
            table = line.to_owned();
        } else if line.contains('|') && !table.is_empty() {
            let cells = line.trim_start_matches("total:").split('|').map(|cell| cell.trim().to_owned());
            tables.entry(table.clone()).or_default().push(cells.collect());
        }
    }
    tables
}

#[test]
fn a_reader_of_diskspd_reports_finds_its_numbers() {
    for line in [
        "-d15 -o32 -t2 -b64K -h -r -L -w0 FILE",
        "-d15 -o32 -t4 -b64K -h -r -L -w0 FILE",
        "-d15 -o32 -t2 -b64K -h -s -L -w0 FILE",
        "-d15 -o1 -t1 -b60K -h -s -L -w100 FILE",
        "-d15 -o32 -t4 -b512K -h -si -L -w0 FILE",
    ] {
        let report = report(line);
        let tables = scrape(&write_text(&report));
        let threads = report.time_spans[0].threads.len();
        let total = &tables["Total IO"];
        assert_eq!(total.len(), threads + 2, "{line}");
        let sum = total.last().unwrap();
        assert_eq!(sum[0], (threads as u64 * (1 << 30)).to_string(), "{line}");
        assert_eq!(sum[1], (threads as u64 * 131_072).to_string());
        assert_eq!(sum[2], format!("{:.2}", 102.4 * threads as f64));
        let kind = if line.contains("-w100") { "Write IO" } else { "Read IO" };
        assert_eq!(tables[kind].last(), Some(sum), "{line}");
        let percentiles = &tables["Total latency distribution:"];
        assert_eq!(percentiles.len(), 16);
        assert_eq!((percentiles[1][0].as_str(), percentiles[15][0].as_str()), ("min", "max"));
        assert_eq!(percentiles[15][3], "0.515");
    }
}
