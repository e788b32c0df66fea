//! Each rule of the module, by name.

#![expect(clippy::large_types_passed_by_value, reason = "test builders read better by value")]

use super::*;
use crate::sample::SampleTime;

const SECOND_NS: u64 = 1_000_000_000;

fn epoch() -> Epoch {
    Epoch {
        instance: "instance-1".into(),
        version: 16,
        process_start: "started-1".into(),
        counters_since: vec!["io 1".into(), "wal 1".into()],
        uptime_s: None,
    }
}

fn row(kind: Kind, name: &str, identity: &str, counters: Counters) -> Row {
    let subject = Subject {
        kind,
        scope: Scope::Database("sales".into()),
        name: name.into(),
        identity: identity.into(),
        volume: None,
    };
    Row { subject, counters, age_ms: None }
}

fn sample(at_s: u64, rows: Vec<Row>) -> Sample {
    let taken = SampleTime {
        utc: "2026-05-01T00:00:00Z".parse().unwrap(),
        clock: "boot-1".into(),
        clock_ns: at_s * SECOND_NS,
    };
    Sample { taken, epoch: epoch(), rows, warnings: Vec::new() }
}

fn reads(reads: u64) -> Counters {
    Counters::new().with(Counter::Reads, reads).with(Counter::ReadStall, reads * 2)
}

fn file(counters: Counters) -> Row {
    row(Kind::SqlServerFile, "sales.mdf", "5/1/guid", counters)
}

fn device(reads: u64, read_ms: u64) -> Row {
    let counters = Counters::new().with(Counter::Reads, reads).with(Counter::ReadStall, read_ms);
    row(Kind::LinuxDevice, "sda", "8:0", counters)
}

fn only(before: &Sample, now: &Sample) -> Change {
    let mut changes = compare(before, now);
    assert_eq!(changes.len(), 1);
    changes.remove(0)
}

#[test]
fn the_same_thing_in_the_same_epoch_gives_the_difference_in_whole_units_of_ours() {
    let change = only(&sample(10, vec![file(reads(100))]), &sample(12, vec![file(reads(150))]));
    let totals = change.delta().unwrap();
    assert_eq!(totals.covered_ns, 2 * SECOND_NS);
    assert_eq!(totals.amounts.get(Counter::Reads), Some(50));
    assert_eq!(totals.amounts.get(Counter::ReadStall), Some(100_000_000), "100 ms in nanoseconds");
    assert_eq!(totals.amounts.get(Counter::Writes), None, "what was not told is absent");
}

#[test]
fn rows_that_change_places_are_compared_with_themselves() {
    let of = |name: &str, count: u64| row(Kind::SqlServerFile, name, name, reads(count));
    let before = sample(10, vec![of("a", 100), of("b", 500), of("c", 900)]);
    let now = sample(12, vec![of("c", 901), of("new", 7), of("a", 110), of("b", 500)]);
    let changes = compare(&before, &now);
    let amount = |place: usize| Some(changes[place].delta()?.amounts.or_zero(Counter::Reads));
    assert_eq!([0, 1, 2, 3].map(amount), [Some(1), None, Some(10), Some(0)]);
}

#[test]
fn idle_is_a_delta_of_zeros_and_not_missing() {
    let change = only(&sample(10, vec![file(reads(100))]), &sample(20, vec![file(reads(100))]));
    assert!(change.delta().unwrap().amounts.is_zero());
}

#[test]
fn a_decrease_in_any_column_resets_the_whole_row() {
    let before = file(reads(100).with(Counter::Writes, 7));
    let now = file(reads(200).with(Counter::Writes, 6));
    let change = only(&sample(10, vec![before]), &sample(20, vec![now]));
    assert_eq!(change, Change::Reset(ResetReason::Reattach));
}

#[test]
fn a_decrease_under_the_same_identity_means_truncated_statistics_where_files_do_not_close() {
    let before = row(Kind::MysqlFile, "./a.ibd", "a|1", reads(100));
    let now = row(Kind::MysqlFile, "./a.ibd", "a|1", reads(3).with(Counter::ReadStall, 900));
    let change = only(&sample(10, vec![before]), &sample(20, vec![now]));
    assert_eq!(change, Change::Reset(ResetReason::StatisticsReset));
}

#[test]
fn a_restart_that_loses_the_counters_resets_every_row_even_those_that_grew() {
    let before = sample(10, vec![file(reads(100))]);
    let mut now = sample(20, vec![file(reads(900))]);
    now.epoch.process_start = "started-2".into();
    now.epoch.counters_since = vec!["io 2".into(), "wal 2".into()];
    assert_eq!(compare(&before, &now), [Change::Reset(ResetReason::Restart)]);
}

#[test]
fn a_restart_that_keeps_the_counters_is_not_a_reset() {
    let before = sample(10, vec![file(reads(100))]);
    let mut now = sample(20, vec![file(reads(140))]);
    now.epoch.process_start = "started-2".into();
    assert_eq!(only(&before, &now).delta().unwrap().amounts.get(Counter::Reads), Some(40));
}

#[test]
fn resetting_one_view_moves_one_mark_and_leaves_the_others_rows_alone() {
    let marked = |since, count| file(reads(count).with(Counter::StatisticsReset, since));
    let before = sample(10, vec![marked(1, 100), row(Kind::PostgresWal, "wal", "wal", reads(5))]);
    let mut now = sample(20, vec![marked(2, 700), row(Kind::PostgresWal, "wal", "wal", reads(9))]);
    now.epoch.counters_since = vec!["io 2".into(), "wal 1".into()];
    let changes = compare(&before, &now);
    assert_eq!(changes[0], Change::Reset(ResetReason::StatisticsReset));
    assert_eq!(changes[1].delta().unwrap().amounts.get(Counter::Reads), Some(4));
}

#[test]
fn an_uptime_shorter_than_the_interval_demands_is_a_restart() {
    let mut before = sample(100, vec![file(reads(100))]);
    let mut now = sample(160, vec![file(reads(900))]);
    (before.epoch.uptime_s, now.epoch.uptime_s) = (Some(5_000), Some(5_058));
    assert!(only(&before, &now).delta().is_some(), "whole seconds may be two apart");
    now.epoch.uptime_s = Some(5_020);
    assert_eq!(compare(&before, &now), [Change::Reset(ResetReason::Restart)]);
}

#[test]
fn all_marks_moved_under_the_same_process_is_a_statistics_reset() {
    let before = sample(10, vec![file(reads(100))]);
    let mut now = sample(20, vec![file(reads(900))]);
    now.epoch.counters_since = vec!["io 2".into(), "wal 2".into()];
    assert_eq!(compare(&before, &now), [Change::Reset(ResetReason::StatisticsReset)]);
}

#[test]
fn another_version_is_an_upgrade_and_nothing_spans_it() {
    let before = sample(10, vec![file(reads(100))]);
    let mut now = sample(20, vec![file(reads(900))]);
    now.epoch.version = 18;
    now.epoch.instance = "instance-2".into();
    assert_eq!(compare(&before, &now), [Change::Reset(ResetReason::Upgrade)]);
}

#[test]
fn another_instance_behind_the_same_address_is_an_identity_change() {
    let before = sample(10, vec![file(reads(100))]);
    let mut now = sample(20, vec![file(reads(900))]);
    now.epoch.instance = "instance-2".into();
    assert_eq!(compare(&before, &now), [Change::Reset(ResetReason::IdentityChange)]);
}

#[test]
fn a_known_name_with_a_new_identity_is_an_identity_change() {
    let before = row(Kind::MysqlFile, "./a.ibd", "a|1", reads(100));
    let now = row(Kind::MysqlFile, "./a.ibd", "a|2", reads(900));
    let change = only(&sample(10, vec![before]), &sample(20, vec![now]));
    assert_eq!(change, Change::Reset(ResetReason::IdentityChange));
}

#[test]
fn a_renamed_thing_keeps_its_identity_and_its_delta() {
    let before = row(Kind::PostgresTable, "public.a", "16384", reads(100));
    let now = row(Kind::PostgresTable, "public.b", "16384", reads(101));
    let change = only(&sample(10, vec![before]), &sample(20, vec![now]));
    assert_eq!(change.delta().unwrap().amounts.get(Counter::Reads), Some(1));
}

#[test]
fn the_same_id_in_another_database_is_another_thing() {
    let before = row(Kind::PostgresTable, "public.a", "16384", reads(100));
    let mut now = before.clone();
    now.subject.scope = Scope::Database("stock".into());
    assert_eq!(only(&sample(10, vec![before]), &sample(20, vec![now])), Change::Baseline);
}

#[test]
fn a_thing_first_seen_is_a_baseline_whatever_its_values() {
    let change = only(&sample(10, vec![]), &sample(20, vec![file(reads(1_000_000))]));
    assert_eq!(change, Change::Baseline);
}

#[test]
fn a_thing_made_after_the_previous_sample_counts_from_zero() {
    let mut young = file(reads(10));
    young.age_ms = Some(4_000);
    let change = only(&sample(10, vec![]), &sample(20, vec![young.clone()]));
    assert_eq!(change.delta().unwrap().amounts.get(Counter::Reads), Some(10));
    young.age_ms = Some(11_000);
    assert_eq!(only(&sample(10, vec![]), &sample(20, vec![young])), Change::Baseline);
}

/// A database that is renamed gets a new date of creation and keeps its open files: taken for new, its counters since
/// the start would all have fallen into one interval.
#[test]
fn a_renamed_database_is_a_baseline_though_the_server_calls_it_young() {
    let opened = |reads_: u64| reads(reads_).with(Counter::Handle, 2700);
    let before = sample(10, vec![row(Kind::SqlServerFile, "sales.mdf", "5/1/old", opened(1_000_000))]);
    let mut renamed = row(Kind::SqlServerFile, "sales.mdf", "5/1/new", opened(1_000_040));
    renamed.subject.scope = Scope::Database("sales_2026".into());
    renamed.age_ms = Some(4_000);
    assert_eq!(only(&before, &sample(20, vec![renamed])), Change::Baseline);
}

#[test]
fn a_handle_that_changed_is_a_reattach_though_every_counter_grew() {
    let before = file(reads(100).with(Counter::Handle, 0xA8));
    let now = file(reads(900).with(Counter::Handle, 0xB4));
    let change = only(&sample(10, vec![before]), &sample(20, vec![now]));
    assert_eq!(change, Change::Reset(ResetReason::Reattach));
}

#[test]
fn a_statistics_mark_that_appears_is_a_reset() {
    let before = row(Kind::PostgresDatabase, "sales", "5", reads(100));
    let now = row(Kind::PostgresDatabase, "sales", "5", reads(900).with(Counter::StatisticsReset, 1));
    let change = only(&sample(10, vec![before]), &sample(20, vec![now]));
    assert_eq!(change, Change::Reset(ResetReason::StatisticsReset));
}

#[test]
fn a_gap_is_one_delta_over_its_true_length() {
    let change = only(&sample(10, vec![file(reads(100))]), &sample(3_610, vec![file(reads(200))]));
    assert_eq!(change.delta().unwrap().covered_ns, 3_600 * SECOND_NS);
}

#[test]
fn a_clock_that_went_back_or_changed_leaves_no_interval_and_so_no_delta() {
    let before = sample(20, vec![file(reads(100))]);
    let mut now = sample(20, vec![file(reads(200))]);
    assert_eq!(compare(&before, &now), [Change::Reset(ResetReason::ClockChange)]);
    now.taken.clock_ns = SECOND_NS;
    assert_eq!(compare(&before, &now), [Change::Reset(ResetReason::ClockChange)]);
    now.taken.clock_ns = 30 * SECOND_NS;
    now.taken.clock = "boot-2".into();
    assert_eq!(compare(&before, &now), [Change::Reset(ResetReason::ClockChange)]);
}

#[test]
fn the_wall_clock_may_step_either_way_without_a_trace_in_the_rates() {
    let before = sample(10, vec![file(reads(100))]);
    let mut now = sample(20, vec![file(reads(200))]);
    now.taken.utc = "2026-04-30T23:00:00Z".parse().unwrap();
    assert_eq!(only(&before, &now).delta().unwrap().covered_ns, 10 * SECOND_NS);
}

#[test]
fn a_32_bit_timer_that_passed_its_end_is_subtracted_modulo_its_width() {
    let end = u64::from(u32::MAX);
    let change = only(&sample(10, vec![device(100, end - 4)]), &sample(20, vec![device(130, 5)]));
    let totals = change.delta().unwrap();
    assert_eq!(totals.amounts.get(Counter::ReadStall), Some(10_000_000), "10 ms");
    assert_eq!(totals.amounts.get(Counter::Reads), Some(30));
}

#[test]
fn a_64_bit_picosecond_timer_wraps_too() {
    let counters = |count, ps| Counters::new().with(Counter::Reads, count).with(Counter::ReadStall, ps);
    let before = row(Kind::MysqlFile, "./a.ibd", "a|1", counters(10, u64::MAX - 999));
    let now = row(Kind::MysqlFile, "./a.ibd", "a|1", counters(11, 2_000));
    let change = only(&sample(10, vec![before]), &sample(20, vec![now]));
    assert_eq!(change.delta().unwrap().amounts.get(Counter::ReadStall), Some(3));
}

#[test]
fn a_wrapped_difference_that_cannot_be_is_a_wrap_reset() {
    // From 1,000,000 to 5 would be 4,293,967,301 ms in one second: more than 1,024 requests can wait.
    let change = only(&sample(10, vec![device(100, 1_000_000)]), &sample(11, vec![device(130, 5)]));
    assert_eq!(change, Change::Reset(ResetReason::Wrap));
}

#[test]
fn a_timer_that_fell_together_with_its_count_did_not_wrap() {
    let end = u64::from(u32::MAX);
    let change = only(&sample(10, vec![device(100, end)]), &sample(20, vec![device(2, 5)]));
    assert_eq!(change, Change::Reset(ResetReason::Reattach));
}

#[test]
fn a_gap_in_which_a_timer_may_have_wrapped_unseen_leaves_the_timer_out_and_keeps_the_counts() {
    // 1,024 requests waiting fill 2^32 ms in 4,194 s.
    let change = only(&sample(0, vec![device(100, 50)]), &sample(4_200, vec![device(130, 90)]));
    let totals = change.delta().unwrap();
    assert_eq!(totals.amounts.get(Counter::Reads), Some(30));
    assert_eq!(totals.amounts.get(Counter::ReadStall), None);
    assert_eq!(totals.read_stall_ns_mean(), None);
}

#[test]
fn a_column_that_only_one_of_the_readings_has_is_left_out() {
    let before = file(reads(100));
    let now = file(reads(150).with(Counter::QueuedReadStall, 77));
    let change = only(&sample(10, vec![before]), &sample(20, vec![now]));
    assert_eq!(change.delta().unwrap().amounts.get(Counter::QueuedReadStall), None);
}

#[test]
fn a_gauge_may_fall_without_a_reset() {
    let before = file(reads(100).with(Counter::SizeBytes, 900));
    let now = file(reads(150).with(Counter::SizeBytes, 10));
    let change = only(&sample(10, vec![before]), &sample(20, vec![now]));
    assert_eq!(change.delta().unwrap().amounts.get(Counter::SizeBytes), None);
}

#[test]
fn operations_whose_timer_is_left_out_are_counted_as_such() {
    let change = only(&sample(0, vec![device(100, 50)]), &sample(4_200, vec![device(130, 90)]));
    assert_eq!(change.delta().unwrap().amounts.get(Counter::UntimedReads), Some(30));
    let change = only(&sample(10, vec![device(100, 50)]), &sample(20, vec![device(130, 90)]));
    assert_eq!(change.delta().unwrap().amounts.get(Counter::UntimedReads), None);
}

/// MySQL counts the I/O of an instrument with TIMED = NO and adds nothing to its timer: that was a stall of 0.000 ms.
#[test]
fn an_instrument_that_is_not_timed_tells_no_stall() {
    let counters = |count, ps| Counters::new().with(Counter::Reads, count).with(Counter::ReadStall, ps);
    let ibd = |count, ps| row(Kind::MysqlFile, "./a.ibd", "a|1", counters(count, ps));
    let totals = |change: Change| *change.delta().unwrap();
    let untimed = totals(only(&sample(10, vec![ibd(10, 7_000)]), &sample(20, vec![ibd(15, 7_000)])));
    assert_eq!((untimed.read_stall_ns_mean(), untimed.amounts.get(Counter::UntimedReads)), (None, Some(5)));
    let idle = totals(only(&sample(10, vec![ibd(10, 7_000)]), &sample(20, vec![ibd(10, 7_000)])));
    assert_eq!(idle.amounts.get(Counter::ReadStall), Some(0), "idle is a number");
}
