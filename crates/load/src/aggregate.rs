//! Aggregates the workers of each role.

use iostall_measure::{Histogram, Moments, Unavailable};
use iostall_model::RoleOutcome;
use iostall_model::outcome::{EngineUse, IntervalPoint, OpenLoop};

use crate::job::SpanJob;
use crate::worker::WorkerOutcome;
use crate::worker_stats;

/// One outcome per role of the span, from the outcomes of its workers in the order of their specs.
pub(crate) fn role_outcomes(
    job: &SpanJob<'_>,
    workers: Vec<(u32, WorkerOutcome)>,
    series: Vec<Vec<IntervalPoint>>,
    measured_ns: u64,
) -> Vec<RoleOutcome> {
    let mut workers = workers.into_iter().map(|(_, outcome)| outcome);
    job.span
        .roles
        .iter()
        .zip(series)
        .map(|(profile, series)| {
            let count = usize::try_from(profile.workers).unwrap_or(usize::MAX);
            let of_role: Vec<WorkerOutcome> = workers.by_ref().take(count).collect();
            let streams = of_role.iter().map(|worker| worker.stream_count as u64).sum::<u64>();
            let depths = if profile.target_weights.is_empty() { streams } else { of_role.len() as u64 };
            let mut role = empty(&profile.name, u64::from(profile.queue_depth) * depths, series);
            let mut gaps = Moments::default();
            for worker in of_role {
                add(&mut role, &mut gaps, worker);
            }
            finish(&mut role, &gaps, job.fallback, measured_ns);
            role
        })
        .collect()
}

fn empty(name: &str, depth_asked: u64, series: Vec<IntervalPoint>) -> RoleOutcome {
    RoleOutcome {
        name: name.to_owned(),
        engine: EngineUse::default(),
        cells: Vec::new(),
        series,
        commit: None,
        depth_asked,
        depth_mean: 0.0,
        open_loop: None,
        cpu_user_ns: 0,
        cpu_system_ns: 0,
        unfinished: 0,
        unfinished_age_ns_max: 0,
        errors: Vec::new(),
        submit_calls: 0,
    }
}

fn add(role: &mut RoleOutcome, gaps: &mut Moments, worker: WorkerOutcome) {
    if role.engine.name.is_empty() {
        role.engine = EngineUse {
            name: worker.report.name.to_owned(),
            features: worker.report.features,
            refused: worker.report.refused,
        };
    }
    role.cells.extend(worker.cells);
    if let Some(commit) = worker.commit {
        role.commit.get_or_insert_with(Histogram::new).merge(&commit);
    }
    for (kept, stream_gaps) in worker.open_loop {
        add_open_loop(role.open_loop.get_or_insert_with(OpenLoop::default), &kept);
        gaps.merge(&stream_gaps);
    }
    role.cpu_user_ns += worker.cpu.user_ns;
    role.cpu_system_ns += worker.cpu.system_ns;
    role.unfinished += worker.unfinished;
    role.unfinished_age_ns_max = role.unfinished_age_ns_max.max(worker.unfinished_age_ns_max);
    worker_stats::merge(&mut role.errors, worker.errors);
    role.submit_calls += worker.submit_calls;
}

fn add_open_loop(sum: &mut OpenLoop, stream: &OpenLoop) {
    sum.rate_asked_iops += stream.rate_asked_iops;
    sum.arrivals += stream.arrivals;
    sum.late_starts += stream.late_starts;
    sum.lateness_ns_max = sum.lateness_ns_max.max(stream.lateness_ns_max);
    sum.backlog_max += stream.backlog_max;
    sum.backlog_at_end += stream.backlog_at_end;
}

fn finish(role: &mut RoleOutcome, gaps: &Moments, fallback: Option<&Unavailable>, measured_ns: u64) {
    if let Some(open) = &mut role.open_loop {
        open.gap_coefficient_of_variation = gaps.coefficient_of_variation().unwrap_or(0.0);
    }
    if let Some(ring) = fallback {
        role.engine.refused.insert(0, ring.clone());
    }
    let in_service_ns: f64 = role.cells.iter().map(|cell| cell.service_ns.sum() as f64).sum();
    if measured_ns > 0 {
        role.depth_mean = in_service_ns / measured_ns as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arrivals that waited at the end were those of the first stream alone, and an overloaded target looked kept up with.
    #[test]
    fn an_open_loop_of_several_streams_is_their_sum_but_for_the_worst_lateness() {
        let stream = |scale: u64| OpenLoop {
            rate_asked_iops: 100.0,
            arrivals: 50 * scale,
            late_starts: 4 * scale,
            lateness_ns_max: 7 * scale,
            backlog_max: 9 * scale,
            backlog_at_end: 5 * scale,
            gap_coefficient_of_variation: 0.0,
        };
        let mut sum = OpenLoop::default();
        add_open_loop(&mut sum, &stream(3));
        add_open_loop(&mut sum, &stream(1));
        assert_eq!((sum.arrivals, sum.late_starts, sum.backlog_max, sum.backlog_at_end), (200, 16, 36, 20));
        assert_eq!(sum.lateness_ns_max, 21);
        assert!((sum.rate_asked_iops - 200.0).abs() < 1e-9);
    }
}
