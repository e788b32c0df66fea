//! A load in one sentence: what its roles did, against what storage of each class does.

use iostall_measure::Op;
use iostall_measure::platform::TargetKind;
use iostall_model::figures::{Row, RowKind, rows};
use iostall_model::outcome::{RoleOutcome, SpanOutcome};
use iostall_model::profile::Thresholds;
use iostall_model::warning::Rank;
use iostall_model::{LoadOutcome, Run};

use super::line::line;
use crate::format::{number, shown};
use crate::judgement::of_latency;

/// The roles of the last span that have thresholds; without any, the figures alone.
pub(super) fn answer(run: &Run, load: &LoadOutcome) -> String {
    let (Some(span), Some(asked)) = (load.spans.last(), load.profile.spans.last()) else { return line(load) };
    // Where the numbers are not those of the storage, they say nothing about its class.
    let is_synthetic = run.targets.iter().any(|target| target.kind == TargetKind::Synthetic);
    let is_invalid = run.warnings.iter().any(|warning| warning.code.rank() == Rank::Invalidates);
    if is_synthetic || is_invalid {
        return line(load);
    }
    let roles = span.roles.iter().zip(&asked.roles);
    let clauses = roles.filter_map(|(role, asked)| of_role(span, role, asked.thresholds.as_ref()?));
    let clauses: Vec<String> = clauses.collect();
    if clauses.is_empty() { line(load) } else { clauses.join(" · ") }
}

/// `log commits 3.30 ms p99: a disk, not flash (flash ≤ 1 ms)`.
fn of_role(span: &SpanOutcome, role: &RoleOutcome, thresholds: &Thresholds) -> Option<String> {
    let rows = rows(role);
    let of_kind = |kind: RowKind| rows.iter().find(|row| row.kind == kind);
    let moved = of_kind(RowKind::Total).or_else(|| rows.iter().find(|row| row.kind.moves_data()))?;
    if let Some(disk) = thresholds.iops_disk {
        let iops = moved.iops(span.measured_ns)?;
        return Some(format!("{} {} IOPS: {}", shown(&role.name), number(iops), in_disks(iops, disk)));
    }
    let waited = of_kind(RowKind::Commit).unwrap_or(moved);
    let judged = of_latency(waited.waited_ns()?, thresholds)?;
    Some(format!("{} {} {judged}", shown(&role.name), plural(waited)))
}

fn plural(row: &Row) -> &'static str {
    match row.kind {
        RowKind::Op(Op::Read) => "reads",
        RowKind::Op(Op::Write) => "writes",
        RowKind::Op(Op::Sync) => "syncs",
        RowKind::Total => "requests",
        RowKind::Commit => "commits",
    }
}

/// How many hard disks it would take.
fn in_disks(iops: f64, of_one: f64) -> String {
    let disks = iops / of_one;
    let each = number(of_one);
    match disks.round() {
        few if few < 1.0 => format!("less than one hard disk ({each})"),
        one if one < 2.0 => format!("about one hard disk ({each})"),
        many => format!("as many as {} hard disks ({each} each)", number(many)),
    }
}

#[cfg(test)]
mod tests {
    use iostall_measure::Nanos;

    use super::*;
    use crate::fixture;

    fn with(thresholds: Option<Thresholds>) -> String {
        let mut run = fixture::run();
        run.warnings.clear();
        let load = fixture::load_mut(&mut run);
        // The log commits; its data has no thresholds.
        load.profile.spans[0].roles[1].thresholds = thresholds;
        answer(&run, fixture::load(&run))
    }

    fn thresholds(flash: u64, disk: u64) -> Thresholds {
        let p99 = |nanos| Some(Nanos(nanos));
        Thresholds { p99_flash: p99(flash), p99_disk: p99(disk), iops_disk: None, source: "test".into() }
    }

    /// A report had every number and no answer: is this what a log needs?
    #[test]
    fn a_role_with_thresholds_is_compared_with_flash_and_disks() {
        assert!(with(Some(thresholds(u64::MAX, u64::MAX))).contains(" p99: as fast as flash"));
        let disk = with(Some(thresholds(1_000, 100_000_000_000)));
        assert!(
            disk.starts_with("log commits ") && disk.ends_with(" p99: a disk, not flash (flash ≤ 1 µs)"),
            "{disk}"
        );
        assert!(with(Some(thresholds(1_000, 2_000))).ends_with("slower than a disk should be (≤ 2 µs)"));
        assert!(with(None).starts_with("data: 3,000 IOPS"));
    }

    #[test]
    fn requests_a_second_are_counted_in_disks() {
        assert_eq!(in_disks(40.0, 130.0), "less than one hard disk (130)");
        assert_eq!(in_disks(150.0, 130.0), "about one hard disk (130)");
        assert_eq!(in_disks(13_000.0, 130.0), "as many as 100 hard disks (130 each)");
    }
}
