//! The per-second series as comma-separated values (RFC 4180): a row a span, interval, role and operation.
//! The columns are drawn in `docs/formats.md`.

use std::collections::BTreeSet;
use std::io;

use iostall_measure::Op;
use iostall_model::outcome::{IntervalPoint, RoleOutcome};
use iostall_model::{Run, RunBody};
use serde::Serialize;
use thiserror::Error;

use crate::figures::per_second;
use crate::point;

/// Why the series was not written.
#[derive(Debug, Error)]
pub enum CsvError {
    /// The writer failed.
    #[error("cannot write the series: {0}")]
    Write(#[from] io::Error),
    /// A row was refused by the CSV writer.
    #[error("cannot write a row of the series: {0}")]
    Row(#[from] ::csv::Error),
}

/// One row. An interval in which the operation completed nothing has zero requests and no latency.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, PartialEq))]
struct SeriesRow {
    span: usize,
    start_s: f64,
    length_s: f64,
    role: String,
    op: String,
    latency_kind: String,
    count: u64,
    bytes: u64,
    iops: Option<f64>,
    mib_per_s: Option<f64>,
    latency_ms_mean: Option<f64>,
    latency_ms_p50: Option<f64>,
    latency_ms_p99: Option<f64>,
    latency_ms_max: Option<f64>,
}

const HEADER: [&str; 14] = [
    "span",
    "start_s",
    "length_s",
    "role",
    "op",
    "latency_kind",
    "count",
    "bytes",
    "iops",
    "mib_per_s",
    "latency_ms_mean",
    "latency_ms_p50",
    "latency_ms_p99",
    "latency_ms_max",
];

/// Writes the series of every span and role of `run`; for a run made of points, a row a point.
pub fn write_csv(run: &Run, out: impl io::Write) -> Result<(), CsvError> {
    let RunBody::Load(load) = &run.body else { return point::write_rows(run, out) };
    let mut writer =
        ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).has_headers(false).from_writer(out);
    // By hand, so that a run without a single interval still has its header.
    writer.write_record(HEADER)?;
    for (index, span) in load.spans.iter().enumerate() {
        for role in &span.roles {
            for op in ops_of(role) {
                for point in &role.series {
                    writer.serialize(row(index + 1, role, op, point))?;
                }
            }
        }
    }
    Ok(writer.flush()?)
}

/// The operations that a role did in any interval, in the order they are shown.
pub(crate) fn ops_of(role: &RoleOutcome) -> BTreeSet<Op> {
    role.series.iter().flat_map(|point| &point.ops).map(|op| op.op).collect()
}

fn row(span: usize, role: &RoleOutcome, op: Op, point: &IntervalPoint) -> SeriesRow {
    let found = point.ops.iter().find(|found| found.op == op);
    let (count, bytes) = found.map_or((0, 0), |found| (found.count, found.bytes));
    let kind = if role.open_loop.is_some() { "response" } else { "service" };
    let millis = |ns: u64| ns as f64 / 1e6;
    SeriesRow {
        span,
        start_s: point.start_ns as f64 / 1e9,
        length_s: point.length_ns as f64 / 1e9,
        role: role.name.clone(),
        op: op.name().to_owned(),
        latency_kind: kind.to_owned(),
        count,
        bytes,
        iops: per_second(count as f64, point.length_ns),
        mib_per_s: per_second(bytes as f64 / 1_048_576.0, point.length_ns),
        latency_ms_mean: found.map(|found| found.latency_ns_mean / 1e6),
        latency_ms_p50: found.map(|found| millis(found.latency_ns_p50)),
        latency_ms_p99: found.map(|found| millis(found.latency_ns_p99)),
        latency_ms_max: found.map(|found| millis(found.latency_ns_max)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn written(run: &Run) -> String {
        let mut out = Vec::new();
        write_csv(run, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn parsed(text: &str) -> Vec<SeriesRow> {
        ::csv::Reader::from_reader(text.as_bytes()).deserialize().map(Result::unwrap).collect()
    }

    #[test]
    fn every_second_of_every_role_and_operation_is_a_row() {
        let text = written(&fixture::run());
        assert_eq!(text.lines().next().unwrap(), HEADER.join(","));
        let rows = parsed(&text);
        assert_eq!(rows.len(), 20 * 4);
        let first = &rows[0];
        assert_eq!((first.role.as_str(), first.op.as_str(), first.count), ("data", "read", 2100));
        assert_eq!(first.iops, Some(2100.0));
        assert_eq!(first.mib_per_s, Some(2100.0 * 8192.0 / 1_048_576.0));
        assert_eq!(rows[79].latency_kind, "response");
        insta::assert_snapshot!(text.lines().take(3).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn a_second_in_which_nothing_completed_is_a_row_of_zeros_without_latency() {
        let mut run = fixture::run();
        let RunBody::Load(load) = &mut run.body else { unreachable!() };
        load.spans[0].roles[0].series[3].ops.clear();
        let row = &parsed(&written(&run))[3];
        assert_eq!((row.count, row.iops, row.latency_ms_p99), (0, Some(0.0), None));
    }

    #[test]
    fn a_name_with_commas_quotes_and_line_ends_reads_back_whole() {
        let mut run = fixture::run();
        let RunBody::Load(load) = &mut run.body else { unreachable!() };
        let name = "a \"b\", c\r\nd";
        load.spans[0].roles[0].name = name.into();
        assert_eq!(parsed(&written(&run))[0].role, name);
    }

    #[test]
    fn an_empty_run_has_its_header_and_no_row() {
        assert_eq!(written(&fixture::empty()), format!("{}\r\n", HEADER.join(",")));
    }
}
