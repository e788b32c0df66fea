//! A load: the whole, its roles, and their operations.

use iostall_model::LoadOutcome;
use iostall_model::figures::{Row, RowKind, rows, span_total};
use iostall_model::outcome::{RoleOutcome, SpanOutcome};
use iostall_model::part::{Part, PartName};

pub(super) fn parts(load: &LoadOutcome) -> Vec<Part> {
    let several = load.profile.spans.len() > 1;
    let mut parts = Vec::new();
    for (index, span) in load.spans.iter().enumerate() {
        let prefix = if several { format!("span {} ", index + 1) } else { String::new() };
        parts.push(whole(span, &prefix));
        for role in &span.roles {
            parts.push(of_role(span, role, &prefix));
            parts.extend(rows(role).iter().map(|row| of_row(span, role, row, &prefix)));
        }
    }
    parts
}

fn failed(role: &RoleOutcome) -> u64 {
    role.errors.iter().map(|error| error.count).sum()
}

/// What the whole is judged by: of a single role, what that role is judged by; of several, all their reads and writes.
fn whole(span: &SpanOutcome, prefix: &str) -> Part {
    let label = (!prefix.is_empty()).then(|| prefix.trim_end().to_owned());
    if let [role] = span.roles.as_slice() {
        return Part { name: PartName::Whole, label, ..of_role(span, role, prefix) };
    }
    let total = span_total(span);
    Part {
        label,
        iops: total.as_ref().and_then(|total| total.iops(span.measured_ns)),
        bytes_per_s: total
            .as_ref()
            .and_then(|total| total.mebibytes_per_second(span.measured_ns))
            .map(bytes_of_mib),
        latency_ns: total.map(|total| total.latency_ns().clone()),
        failed: Some(span.roles.iter().map(failed).sum()),
        ..Part::default()
    }
}

/// A role that syncs is judged by its commits: its users wait until the data is on stable media, not until it is in the cache
/// of the device.
fn of_role(span: &SpanOutcome, role: &RoleOutcome, prefix: &str) -> Part {
    let rows = rows(role);
    let of_kind = |kind: RowKind| rows.iter().find(|row| row.kind == kind);
    let moved = of_kind(RowKind::Total).or_else(|| rows.iter().find(|row| row.kind.moves_data()));
    let waited = of_kind(RowKind::Commit).or(moved).and_then(Row::waited_ns);
    Part {
        name: PartName::OneOf(vec![role.name.clone()]),
        label: Some(format!("{prefix}{}", role.name)),
        iops: moved.and_then(|row| row.iops(span.measured_ns)),
        bytes_per_s: moved.and_then(|row| row.mib_per_s(span.measured_ns)).map(bytes_of_mib),
        latency_ns: waited.cloned(),
        failed: Some(failed(role)),
        ..Part::default()
    }
}

fn of_row(span: &SpanOutcome, role: &RoleOutcome, row: &Row, prefix: &str) -> Part {
    let name = format!("{}.{}", role.name, row.kind.name());
    Part {
        label: Some(format!("{prefix}{name}")),
        name: PartName::OneOf(vec![name]),
        iops: row.iops(span.measured_ns),
        bytes_per_s: row.mib_per_s(span.measured_ns).map(bytes_of_mib),
        latency_ns: row.waited_ns().cloned(),
        failed: Some(row.failed),
        ..Part::default()
    }
}

fn bytes_of_mib(mib: f64) -> f64 {
    mib * 1_048_576.0
}
