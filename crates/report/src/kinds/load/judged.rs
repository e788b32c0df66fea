//! The number of a role that its thresholds are about, and what it means.

use iostall_model::figures::{Row, RowKind, rows};
use iostall_model::outcome::{RoleOutcome, SpanOutcome};
use iostall_model::profile::{RoleProfile, Thresholds};
use iostall_model::{LoadOutcome, Run};

use crate::format::{number, shown};
use crate::judgement::{Judgement, is_of_storage, judged, judged_in_disks, of_latency, scale};

pub(super) struct Judged<'a> {
    pub(super) thresholds: &'a Thresholds,
    pub(super) kind: RowKind,
    pub(super) figure: Figure,
    /// `None` if there are too few requests for the number.
    pub(super) judgement: Option<Judgement>,
}

pub(super) enum Figure {
    Iops(f64),
    /// How long a user waits, in words.
    Latency(String),
}

impl<'a> Judged<'a> {
    /// `None` if the role has no thresholds, or if the numbers are not those of the storage.
    pub(super) fn of(
        run: &Run,
        span: &SpanOutcome,
        role: &RoleOutcome,
        asked: Option<&'a RoleProfile>,
    ) -> Option<Self> {
        let thresholds = asked?.thresholds.as_ref().filter(|_| is_of_storage(run))?;
        let rows = rows(role);
        if let Some(disk) = thresholds.iops_disk {
            let row = moved(&rows)?;
            let iops = row.iops(span.measured_ns)?;
            let judgement = judged_in_disks(iops / disk, &run.disturbed_by());
            return Some(Self { thresholds, kind: row.kind, figure: Figure::Iops(iops), judgement });
        }
        let row = waited(&rows)?;
        let latency = row.waited_ns()?;
        let disturbed_by = run.disturbed_by();
        let figure = Figure::Latency(of_latency(latency, thresholds, &disturbed_by)?);
        let judgement = judged(latency, thresholds, &disturbed_by);
        Some(Self { thresholds, kind: row.kind, figure, judgement })
    }

    /// From where on the number of the role `name` is slow or bad, and who says so.
    pub(super) fn scale(&self, name: &str) -> String {
        let name = shown(name);
        match self.thresholds.iops_disk.filter(|_| matches!(self.figure, Figure::Iops(_))) {
            Some(disk) => {
                let (disk, source) = (number(disk), shown(&self.thresholds.source));
                format!("{name}: slow (!) is what one hard disk does ({disk}), bad (!!) is less: {source}.")
            }
            None => format!("{name}: {}", scale(self.thresholds)),
        }
    }
}

fn moved(rows: &[Row]) -> Option<&Row> {
    let total = rows.iter().find(|row| row.kind == RowKind::Total);
    total.or_else(|| rows.iter().find(|row| row.kind.moves_data()))
}

/// What its users wait for: commits if it has them.
pub(super) fn waited(rows: &[Row]) -> Option<&Row> {
    rows.iter().find(|row| row.kind == RowKind::Commit).or_else(|| moved(rows))
}

/// The worst of the last span's roles; `None` if none is judged.
pub(super) fn worst(run: &Run, load: &LoadOutcome) -> Option<Judgement> {
    let (span, asked) = (load.spans.last()?, load.profile.spans.last()?);
    let roles = span.roles.iter().zip(&asked.roles);
    roles.filter_map(|(role, asked)| Judged::of(run, span, role, Some(asked))?.judgement).max()
}
