//! The rows of a role and their statistics.

use iostall_measure::platform::CpuTicks;
use iostall_measure::{Op, Percent};

use super::*;
use crate::figures::{CpuUse, LatencyKind, RowKind, machine_busy, per_second, rows, span_total};
use crate::measured::Measured;
use crate::outcome::{CellInterval, IntervalOp, IntervalPoint, OpOutcome, OpenLoop};
use crate::point::setting;

fn near(one: Option<f64>, other: f64) -> bool {
    one.is_some_and(|one| (one - other).abs() < 1e-9 * other.abs().max(1.0))
}

/// A log role: writes, and a sync each second that covers them.
fn log() -> RoleOutcome {
    let cells = vec![
        cell(Op::Read, 2 * MIB, &[1, 1]),
        cell(Op::Write, 3 * MIB, &[4, 4, 4]),
        cell(Op::Write, MIB, &[6]),
        cell(Op::Sync, 0, &[9, 9]),
    ];
    RoleOutcome { commit: Some(latencies(&[10, 11])), ..role("log", cells) }
}

#[test]
fn a_role_has_a_row_an_operation_and_a_total_only_where_it_reads_and_writes() {
    let of_log = rows(&log());
    let names: Vec<&str> = of_log.iter().map(|row| row.kind.name()).collect();
    assert_eq!(names, ["read", "write", "read+write", "sync", "commit"]);
    let counts: Vec<(u64, u64)> = of_log.iter().map(|row| (row.count, row.bytes)).collect();
    assert_eq!(counts, [(2, 2 * MIB), (4, 4 * MIB), (6, 6 * MIB), (2, 0), (2, 0)]);
    let only_reads = rows(&role("data", vec![cell(Op::Read, MIB, &[1])]));
    assert_eq!(only_reads.iter().map(|row| row.kind).collect::<Vec<_>>(), [RowKind::Op(Op::Read)]);
    let nothing_committed = RoleOutcome { commit: Some(latencies(&[])), ..log() };
    assert!(rows(&nothing_committed).iter().all(|row| row.kind != RowKind::Commit));
}

#[test]
fn syncs_and_commits_have_a_rate_but_move_no_data() {
    let of_log = rows(&log());
    let rates: Vec<Option<f64>> = of_log.iter().map(|row| row.mib_per_s(2_000 * MS)).collect();
    assert_eq!(rates, [Some(1.0), Some(2.0), Some(3.0), None, None]);
    assert!(near(of_log[2].iops(2_000 * MS), 3.0) && near(of_log[3].iops(2_000 * MS), 1.0));
    assert_eq!((of_log[0].iops(0), of_log[0].mib_per_s(0)), (None, None), "no time, no rate");
    assert_eq!((per_second(5.0, 0), per_second(5.0, 500 * MS)), (None, Some(10.0)));
}

/// In open loop a user waits from the scheduled start; commits are timed only from there.
#[test]
fn in_open_loop_the_response_is_what_is_waited_for() {
    let with_response = |op, ms: &[u64], response: &[u64]| Cell {
        response_ns: Some(latencies(response)),
        ..cell(op, MIB, ms)
    };
    let open = RoleOutcome {
        open_loop: Some(OpenLoop::default()),
        commit: log().commit,
        ..role("log", vec![with_response(Op::Write, &[1], &[50])])
    };
    let rows = rows(&open);
    let kinds = |index: usize| rows[index].latencies().map(|(kind, _)| kind).collect::<Vec<_>>();
    assert_eq!(
        (kinds(0), kinds(1)),
        (vec![LatencyKind::Service, LatencyKind::Response], vec![LatencyKind::Response])
    );
    assert!(rows[0].waited_ns().unwrap().max() > Some(49 * MS));
    assert_eq!(rows[1].waited_ns().unwrap().count(), 2);
    let closed = super::figures::rows(&log());
    assert_eq!(closed[4].latencies().map(|(kind, _)| kind.name()).collect::<Vec<_>>(), ["service"]);
    assert_eq!(LatencyKind::Response.name(), "response");
    // If one worker lacks response times, the rest must not be shown as the total.
    let both = [with_response(Op::Write, &[1], &[50]), cell(Op::Write, MIB, &[1])];
    assert_eq!(OpOutcome::sum(&both).unwrap().response_ns, None);
    let two = [with_response(Op::Write, &[1], &[50]), with_response(Op::Write, &[2], &[60])];
    assert_eq!(OpOutcome::sum(&two).unwrap().latency_ns().count(), 2);
}

#[test]
fn a_sum_of_cells_leaves_out_those_that_did_nothing_and_keeps_those_that_failed() {
    let failed = Cell { failed: 3, ..cell(Op::Read, 0, &[]) };
    assert_eq!(OpOutcome::sum(&[cell(Op::Read, 0, &[])]), None);
    let sum = OpOutcome::sum([&failed, &cell(Op::Read, MIB, &[1]), &cell(Op::Read, MIB, &[2])]).unwrap();
    assert_eq!((sum.failed, sum.bytes, sum.count()), (3, 2 * MIB, 2));
    assert!(near(sum.iops(2_000 * MS), 1.0) && near(sum.mebibytes_per_second(2_000 * MS), 1.0));
    assert_eq!((sum.iops(0), sum.mebibytes_per_second(0)), (None, None));
}

#[test]
fn the_total_of_a_span_is_what_all_roles_read_and_wrote() {
    let span = span(vec![log(), role("data", vec![cell(Op::Read, MIB, &[1])])]);
    let total = span_total(&span).unwrap();
    assert_eq!((total.count(), total.bytes), (7, 7 * MIB));
    assert!(span_total(&super::span(vec![role("log", vec![cell(Op::Sync, 0, &[1])])])).is_none());
}

#[test]
fn processor_time_is_shared_out_over_all_requests_syncs_included() {
    let of_role = CpuUse::of_role(&log());
    assert_eq!((of_role.requests, of_role.total_ns()), (8, 8 * MS));
    assert_eq!(of_role.ns_per_request(), Some(1e6));
    assert_eq!(of_role.requests_per_cpu_second(), Some(1_000.0));
    let of_process = CpuUse::of_process(&span(vec![log(), log()]));
    assert_eq!((of_process.user_ns, of_process.system_ns, of_process.requests), (30 * MS, 10 * MS, 16));
    let idle = CpuUse { user_ns: 0, system_ns: 0, requests: 0 };
    assert_eq!((idle.ns_per_request(), idle.requests_per_cpu_second()), (None, None));
}

/// A machine whose processors were all in I/O wait was shown as busy, although they were free to work.
#[test]
fn a_processor_that_waits_for_storage_is_idle() {
    let ticks = |user, idle, iowait| CpuTicks { user, idle, iowait, ..CpuTicks::default() };
    let measured = SpanOutcome { cpus: vec![ticks(50, 20, 30), ticks(0, 40, 60)], ..span(Vec::new()) };
    assert_eq!(machine_busy(&measured), Some(0.25));
    assert_eq!(machine_busy(&span(Vec::new())), None);
}

fn interval_op(op: Op, count: u64, mean_ms: f64) -> IntervalOp {
    IntervalOp {
        op,
        count,
        bytes: count * MIB,
        latency_ns_mean: mean_ms * 1e6,
        latency_ns_p50: 2 * MS,
        latency_ns_p99: 9 * MS,
        latency_ns_max: 10 * MS,
    }
}

/// The last interval of a run is often only a few milliseconds long. Its rate is meaningless and made
/// comparisons undecided.
#[test]
fn a_series_for_a_comparison_has_whole_intervals_only_and_no_percentile_of_two_operations() {
    let interval = |length_ms: u64, ops| IntervalPoint { start_ns: 0, length_ns: length_ms * MS, ops };
    let both = || {
        vec![interval_op(Op::Read, 30, 1.0), interval_op(Op::Write, 10, 5.0), interval_op(Op::Sync, 9, 7.0)]
    };
    let series = vec![interval(2_000, both()), interval(500, vec![]), interval(499, both())];
    let log = RoleOutcome { series, ..log() };
    let span = span(vec![log.clone()]);
    let all: Vec<Measured> =
        rows(&log).iter().filter_map(|row| Measured::of_row("span 1 ", &span, &log, row)).collect();
    assert_eq!(all[0].name, "span 1 log read");
    assert_eq!((all[0].count, all[0].bytes, all[0].measured_ns), (2, 2 * MIB, 2_000 * MS));
    assert!(all.iter().all(|one| one.intervals.len() == 2), "the one of 499 ms is too short");
    let (reads, total) = (all[0].intervals[0], all[2].intervals[0]);
    assert_eq!((reads.iops, reads.mib_per_s), (Some(15.0), Some(15.0)));
    assert_eq!((reads.latency_ns_p50, reads.latency_ns_p99), (Some(2e6), Some(9e6)));
    assert_eq!(
        (total.iops, total.latency_ns_mean),
        (Some(20.0), Some(2e6)),
        "weighted by the number of requests"
    );
    assert_eq!((total.latency_ns_p50, total.latency_ns_p99), (None, None));
    assert_eq!(all[0].intervals[1].latency_ns_mean, None, "nothing was done in it");
    assert_eq!(all[0].intervals[1].iops, Some(0.0));
}

#[test]
fn a_point_is_called_by_everything_that_tells_it_from_others() {
    let mut point = point(8, [100, 300]);
    let name = |point: &Point| Measured::of_point(point).name;
    assert_eq!(name(&point), "random read 8K, depth 8 × 2 workers, target 1");
    point.write_pct = "30".parse::<Percent>().unwrap();
    point.targets = vec![0, 1];
    assert_eq!(name(&point), "random with 30 % writes 8K, depth 8 × 2 workers");
    point.write_pct = "100".parse::<Percent>().unwrap();
    (point.targets, point.workers, point.access) = (vec![1], 1, Access::Sequential);
    assert_eq!(name(&point), "sequential write 8K, depth 8 × 1 worker, target 2");
    assert_eq!(setting(1, 2), "depth 1 × 2 workers");
}

#[test]
fn a_point_adds_its_intervals_up() {
    let mut point = point(8, [100, 300]);
    let measured = Measured::of_point(&point);
    assert_eq!((measured.count, measured.bytes, measured.measured_ns), (400, 400 * 8192, 2_000 * MS));
    assert_eq!(measured.intervals.iter().map(|one| one.iops).collect::<Vec<_>>(), [Some(100.0), Some(300.0)]);
    assert!(near(measured.intervals[1].mib_per_s, 300.0 / 128.0));
    assert_eq!(measured.intervals[0].latency_ns_p99, Some(3e6));
    assert_eq!(measured.intervals[0].latency_ns_mean, Some(2e6));
    assert!(near(point.iops(), 200.0) && near(point.mib_per_s(), 200.0 / 128.0));
    assert_eq!(point.in_flight(), 16);
    (point.repeats[0].failed, point.repeats[1].failed) = (2, 3);
    assert_eq!(point.failed(), 5);
    point.targets = vec![0, 1, 2];
    assert_eq!(point.in_flight(), 48);
    point.repeats.clear();
    assert_eq!((point.iops(), point.mib_per_s(), point.measured_ns()), (None, None, 0));
    let of_no_time = Repeat { measured_ns: 0, ..super::point(1, [1, 1]).repeats[0].clone() };
    assert_eq!(of_no_time.iops(), None);
}

#[test]
fn the_fastest_point_is_the_one_with_the_most_requests_a_second() {
    let points = [point(1, [100, 100]), point(4, [500, 300]), point(8, [300, 300])];
    assert_eq!(Point::fastest(&points).map(|point| point.queue_depth), Some(4));
    assert!(Point::fastest(&[]).is_none());
}

#[test]
fn an_interval_keeps_what_its_histogram_shows() {
    let of_two = latencies(&[2, 4]);
    let op = IntervalOp::of(Op::Write, MIB, &of_two).unwrap();
    assert_eq!((op.op, op.count, op.bytes, op.latency_ns_max), (Op::Write, 2, MIB, of_two.max().unwrap()));
    assert_eq!(IntervalOp::of(Op::Write, 0, &latencies(&[])), None);
    let kept = CellInterval::of(&of_two);
    assert_eq!((kept.count, kept.latency_ns_min, kept.latency_ns_max), (2, of_two.min(), of_two.max()));
    assert!((kept.latency_ns_sum - 6e6).abs() < 1e5 && kept.latency_ns_sum_of_squares > 1.9e13);
}
