//! A load in one sentence: what its roles did, against what storage of each class does.

use iostall_measure::{Op, Percentile};
use iostall_model::figures::{Row, RowKind, rows};
use iostall_model::outcome::SpanOutcome;
use iostall_model::{LoadOutcome, Run, SpanProfile};

use super::judged::{Figure, Judged};
use crate::format::{number, rates, shown};
use crate::judgement::not_judged;

/// The roles of the last span that have thresholds; without any, the figures alone.
pub(super) fn answer(run: &Run, load: &LoadOutcome) -> String {
    let (Some(span), Some(asked)) = (load.spans.last(), load.profile.spans.last()) else { return line(load) };
    let roles = span.roles.iter().zip(&asked.roles);
    let clauses = roles.filter_map(|(role, asked)| {
        of_role(&role.name, &Judged::of(run, span, role, Some(asked))?, &run.disturbed_by())
    });
    let clauses: Vec<String> = clauses.collect();
    if clauses.is_empty() { line(load) } else { clauses.join(" · ") }
}

/// `log commits 3.30 ms p99: a disk, not flash (flash ≤ 1 ms)`.
fn of_role(name: &str, judged: &Judged<'_>, disturbed_by: &str) -> Option<String> {
    let name = shown(name);
    match &judged.figure {
        Figure::Iops(iops) => {
            let disks = match judged.judgement {
                Some(_) => in_disks(*iops, judged.thresholds.iops_disk?),
                None => not_judged(disturbed_by),
            };
            Some(format!("{name} {} IOPS: {disks}", number(*iops)))
        }
        Figure::Latency(words) => match plural(judged.kind) {
            what if what == name => Some(format!("{name} {words}")),
            what => Some(format!("{name} {what} {words}")),
        },
    }
}

fn plural(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Op(Op::Read) => "reads",
        RowKind::Op(Op::Write) => "writes",
        RowKind::Op(Op::Sync) => "syncs",
        RowKind::Total => "requests",
        RowKind::Commit => "commits",
    }
}

fn in_disks(iops: f64, of_one: f64) -> String {
    let disks = iops / of_one;
    let each = number(of_one);
    match disks.round() {
        few if few < 1.0 => format!("less than one hard disk ({each})"),
        one if one < 2.0 => format!("about one hard disk ({each})"),
        many => format!("as many as {} hard disks ({each} each)", number(many)),
    }
}

/// The roles of its last span, where a sequence of spans ends.
pub(super) fn line(load: &LoadOutcome) -> String {
    let asked = load.profile.spans.get(load.spans.len().saturating_sub(1));
    let found =
        load.spans.last().map_or_else(|| "nothing measured".to_owned(), |span| span_line(span, asked));
    match load.profile.spans.len() {
        0 | 1 => found,
        many => format!("span {} of {many}: {found}", load.spans.len()),
    }
}

/// Where each write is followed by a sync, its users wait for both.
fn span_line(span: &SpanOutcome, asked: Option<&SpanProfile>) -> String {
    let named = span.roles.len() > 1;
    let roles = span.roles.iter().enumerate().map(|(index, role)| {
        let rows = rows(role);
        let total = rows.iter().find(|row| row.kind == RowKind::Total);
        let row = total.or_else(|| rows.first());
        let sync = asked.and_then(|asked| asked.roles.get(index)?.sync.as_ref());
        let commits = rows.iter().find(|row| row.kind == RowKind::Commit);
        let waited = commits.filter(|_| sync.is_some_and(|sync| sync.every == 1)).or(row);
        let said = match row {
            None => "no I/O".to_owned(),
            Some(row) => rates(
                row.iops(span.measured_ns).unwrap_or(0.0),
                row.mib_per_s(span.measured_ns).unwrap_or(0.0),
                waited.and_then(Row::waited_ns).and_then(|latency| latency.value_at(Percentile::P99)),
            ),
        };
        let word = match row.map(|row| row.kind) {
            Some(RowKind::Op(Op::Read)) => "read ",
            Some(RowKind::Op(Op::Write)) => "write ",
            Some(RowKind::Op(Op::Sync) | RowKind::Total | RowKind::Commit) | None => "",
        };
        if named { format!("{}: {word}{said}", shown(&role.name)) } else { format!("{word}{said}") }
    });
    roles.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use iostall_measure::Nanos;

    use iostall_model::profile::Thresholds;

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

    /// The story: 5.44 ms was the headline, where a commit took 11.9 ms and etcd asks for 10.
    #[test]
    fn where_each_write_is_synced_the_line_has_the_latency_of_the_commits() {
        let said = |every: u32| {
            let mut run = fixture::run();
            let load = fixture::load_mut(&mut run);
            let call = iostall_measure::SyncCall::default();
            load.profile.spans[0].roles[1].sync = Some(iostall_model::profile::SyncRule { every, call });
            let commit = load.spans[0].roles[1].commit.as_mut().unwrap();
            (0..100_000).for_each(|_| commit.record(77_000_000));
            line(fixture::load(&run))
        };
        assert!(said(1).contains("p99 77"), "{}", said(1));
        assert!(!said(2).contains("p99 77"), "{}", said(2));
    }

    #[test]
    fn a_role_that_is_called_as_what_it_does_is_named_once() {
        let judged = |kind| {
            let limits = Box::leak(Box::new(thresholds(1, 2)));
            let figure = Figure::Latency("8.98 ms p99".to_owned());
            Judged { thresholds: limits, kind, figure, judgement: None }
        };
        assert_eq!(of_role("reads", &judged(RowKind::Op(Op::Read)), "").unwrap(), "reads 8.98 ms p99");
        assert_eq!(of_role("data", &judged(RowKind::Op(Op::Read)), "").unwrap(), "data reads 8.98 ms p99");
    }

    #[test]
    fn requests_a_second_are_counted_in_disks() {
        assert_eq!(in_disks(40.0, 130.0), "less than one hard disk (130)");
        assert_eq!(in_disks(150.0, 130.0), "about one hard disk (130)");
        assert_eq!(in_disks(13_000.0, 130.0), "as many as 100 hard disks (130 each)");
    }
}
