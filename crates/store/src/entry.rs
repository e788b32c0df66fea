//! What a listing of runs can be narrowed by.

pub use iostall_model::{Entry, RunNumber};
use jiff::Timestamp;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub kind: Option<String>,
    pub name: Option<String>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// Path, device or device model of a target contains this text.
    pub target_contains: Option<String>,
    pub limit: Option<u32>,
}

#[cfg(test)]
mod tests {
    use iostall_measure::Op;
    use iostall_model::{LoadOutcome, RunBody};

    use crate::sample::sample_run;

    #[test]
    fn a_summary_sums_reads_and_writes_over_the_measured_time_and_leaves_syncs_out() {
        let run = sample_run(1);
        let outcome = run.body.as_kind::<LoadOutcome>().unwrap();
        let summary = run.body.outcome().summary();
        let span = &outcome.spans[0];
        let count: u64 = span
            .roles
            .iter()
            .flat_map(|role| &role.cells)
            .filter(|cell| cell.op != Op::Sync)
            .map(|cell| cell.service_ns.count())
            .sum();
        assert_eq!(summary.measured_ns, Some(span.measured_ns));
        let iops = summary.iops.unwrap();
        assert!((iops * span.measured_ns as f64 / 1e9 - count as f64).abs() < 1e-6);
        assert_eq!(summary.block_size.as_deref(), Some("8K, 4K"));
        assert!(summary.latency_ns_p99.is_some());
    }

    #[test]
    fn a_run_that_measured_nothing_has_no_numbers_rather_than_zeros() {
        let mut run = sample_run(1);
        let RunBody::Load(outcome) = &mut run.body else { unreachable!("the sample is a load") };
        outcome.spans.clear();
        let summary = run.body.outcome().summary();
        assert_eq!((summary.measured_ns, summary.iops, summary.latency_ns_p99), (None, None, None));
    }
}
