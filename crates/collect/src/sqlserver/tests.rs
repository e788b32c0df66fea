//! No SQL Server runs here. `testdata/sqlserver/*.tsv` holds result sets written by hand from the documented
//! columns and types of each version; the first line of each file says so.

use super::*;
use iostall_connect::sqlserver::whole;
use iostall_model::{Change, Counter, ResetReason, delta};

/// Reads a hand-written result set: a note, the column names, the rows. `\N` is NULL.
fn result_set(text: &str) -> Vec<Columns> {
    let mut lines = text.lines().skip(1);
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let texts = ["database", "name", "identity", "volume", "instance"];
    lines
        .map(|line| {
            let values = line.split('\t').map(str::to_owned);
            names
                .iter()
                .zip(values)
                .map(|(name, value)| {
                    let value = match value.as_str() {
                        "\\N" => Value::Missing,
                        text if texts.contains(name) => Value::Text(text.to_owned()),
                        number => whole(name, number.parse().unwrap()),
                    };
                    ((*name).to_owned(), value)
                })
                .collect()
        })
        .collect()
}

fn sample_of(instance: &str, files: &str) -> Sample {
    sample(Instance::from_columns(result_set(instance).remove(0)), result_set(files))
}

fn sample_2019(number: u32) -> Sample {
    match number {
        1 => sample_of(
            include_str!("../../testdata/sqlserver/2019_instance_1.tsv"),
            include_str!("../../testdata/sqlserver/2019_files_1.tsv"),
        ),
        _ => sample_of(
            include_str!("../../testdata/sqlserver/2019_instance_2.tsv"),
            include_str!("../../testdata/sqlserver/2019_files_2.tsv"),
        ),
    }
}

#[test]
fn two_samples_a_minute_apart_by_the_servers_own_ticks_give_stall_per_write_without_reads() {
    let (before, now) = (sample_2019(1), sample_2019(2));
    let changes = delta::compare(&before, &now);
    let log = now.rows.iter().position(|row| row.subject.name.contains("\\log\\")).unwrap();
    let totals = changes[log].delta().unwrap();
    assert_eq!(totals.covered_ns, 60_000_000_000);
    assert_eq!(totals.amounts.get(Counter::Reads), Some(0));
    assert!((totals.write_stall_ns_mean().unwrap() - 1_500_000.0).abs() < 1e-6, "1.5 ms, not 1 and not 0");
}

#[test]
fn a_database_taken_offline_and_back_is_a_reattach_by_its_handle() {
    let (before, now) = (sample_2019(1), sample_2019(2));
    let changes = delta::compare(&before, &now);
    let stock = now.rows.iter().position(|row| row.subject.scope.database() == Some("stock")).unwrap();
    assert_eq!(changes[stock], Change::Reset(ResetReason::Reattach));
}

#[test]
fn a_database_made_since_counts_from_zero() {
    let (before, now) = (sample_2019(1), sample_2019(2));
    let changes = delta::compare(&before, &now);
    let fresh = now.rows.iter().position(|row| row.subject.scope.database() == Some("fresh")).unwrap();
    assert_eq!(changes[fresh].delta().unwrap().amounts.get(Counter::Writes), Some(40));
}

#[test]
fn a_file_that_master_does_not_list_is_kept() {
    let sample = sample_2019(1);
    let nameless = sample.rows.iter().find(|row| row.subject.name == "file 3").unwrap();
    assert_eq!(nameless.subject.volume, None);
    assert_eq!(nameless.counters.get(Counter::Reads), Some(12));
}

#[test]
fn an_old_version_has_no_queued_stalls_and_they_stay_absent() {
    let sample = sample_of(
        include_str!("../../testdata/sqlserver/2008r2_instance.tsv"),
        include_str!("../../testdata/sqlserver/2008r2_files.tsv"),
    );
    assert_eq!(sample.rows[0].counters.get(Counter::QueuedReadStall), None);
}

#[test]
fn azure_sql_database_is_told_by_its_edition() {
    let sample = sample_of(
        include_str!("../../testdata/sqlserver/azure_instance.tsv"),
        include_str!("../../testdata/sqlserver/azure_files.tsv"),
    );
    assert!(sample.warnings.is_empty());
    assert_eq!(sample.rows[0].counters.get(Counter::QueuedWriteStall), Some(900));
}

#[test]
fn every_query_carries_its_tag_and_each_version_asks_only_for_what_it_has() {
    for (_, text) in FILES {
        assert!(text.starts_with("/* iostall:files */") && !text.contains("sys.master_files"), "locks there");
    }
    assert!(!FILES[0].1.contains("queued_read_stall") && FILES[1].1.contains("queued_read_stall"));
    assert!(FILES_AZURE.contains("DB_ID()") && !FILES_AZURE.contains("master_files AS"));
}
