//! The per-second series as comma-separated values (RFC 4180): a row a span, interval, role and operation.
//! The columns are drawn in `docs/formats.md`.

use std::collections::BTreeSet;
use std::io;

use iostall_measure::Op;
use iostall_model::CopyOutcome;
use iostall_model::PacedOutcome;
use iostall_model::outcome::{IntervalPoint, RoleOutcome};
use iostall_model::paced::{MethodOutcome, PacedInterval, WriteMethod};
use iostall_model::transfer::{NotCopied, TransferPoint};
use iostall_model::{Run, RunBody};
use serde::Serialize;

pub use crate::csv_error::CsvError;
use crate::format::shown;
use crate::point;
use iostall_model::figures::per_second;

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

/// Reads a table of jobs: a name and seconds in each row, with or without a header; further columns are left aside.
pub fn read_work(text: impl io::Read) -> Result<Vec<(String, f64)>, CsvError> {
    let mut reader = ::csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(::csv::Trim::All)
        .from_reader(text);
    let mut rows = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let record = record.map_err(CsvError::Read)?;
        let name = record.get(0).unwrap_or_default().trim_start_matches('\u{feff}');
        let seconds = record.get(1).unwrap_or_default();
        match seconds.parse::<f64>() {
            Ok(seconds) if seconds.is_finite() && seconds >= 0.0 && !name.is_empty() => {
                rows.push((name.to_owned(), seconds));
            }
            // A first row whose second field is no number is a header.
            Err(_) if index == 0 && record.len() >= 2 => {}
            _ => {
                let line = record.position().map_or(0, ::csv::Position::line);
                return Err(CsvError::Work { line, name: name.to_owned(), seconds: seconds.to_owned() });
            }
        }
    }
    Ok(rows)
}

/// Writes the series of every span and role of `run`; for a run made of points, a row a point.
pub fn write_csv(run: &Run, out: impl io::Write) -> Result<(), CsvError> {
    if matches!(run.body, RunBody::Sweep(_) | RunBody::Matrix(_) | RunBody::MaxRate(_)) {
        return point::write_rows(run, out);
    }
    let mut writer =
        ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).has_headers(false).from_writer(out);
    let load = match &run.body {
        RunBody::Load(load) => load,
        RunBody::Copy(copy) => return write_copy(copy, writer),
        RunBody::Verify(verify) => return write_points(&verify.series, writer),
        RunBody::Write(paced) => return write_intervals(paced, writer),
        _ => return Ok(writer.flush()?),
    };
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

/// The throughput of a copy, a row for each of its points; then a row for each thing that was not copied.
fn write_copy(copy: &CopyOutcome, mut writer: ::csv::Writer<impl io::Write>) -> Result<(), CsvError> {
    writer.write_record(["start_s", "length_s", "read_bytes", "written_bytes", "not_copied", "message"])?;
    for point in &copy.series {
        let (start_s, length_s) = (point.start_ns as f64 / 1e9, point.length_ns as f64 / 1e9);
        writer.serialize((start_s, length_s, point.read_bytes, point.written_bytes, "", ""))?;
    }
    for NotCopied { path, message } in &copy.not_copied {
        writer.write_record(["", "", "", "", path, message])?;
    }
    Ok(writer.flush()?)
}

/// The throughput of a transfer, a row for each of its points.
fn write_points(points: &[TransferPoint], mut writer: ::csv::Writer<impl io::Write>) -> Result<(), CsvError> {
    writer.write_record(["start_s", "length_s", "read_bytes", "written_bytes"])?;
    for point in points {
        writer.serialize((
            point.start_ns as f64 / 1e9,
            point.length_ns as f64 / 1e9,
            point.read_bytes,
            point.written_bytes,
        ))?;
    }
    Ok(writer.flush()?)
}

/// A paced writing, a row for each sampling interval of each method, and one for its failure.
fn write_intervals(paced: &PacedOutcome, mut writer: ::csv::Writer<impl io::Write>) -> Result<(), CsvError> {
    writer.write_record(INTERVAL_HEADER)?;
    for method in &paced.methods {
        let (name, packets) = (method.method, method.pace.packets_per_burst);
        for interval in &method.intervals {
            writer.serialize(interval_row(name, packets, interval))?;
        }
        if method.failed.is_some() {
            writer.serialize(failure_row(method))?;
        }
    }
    Ok(writer.flush()?)
}

const INTERVAL_HEADER: [&str; 11] = [
    "method",
    "packets_per_burst",
    "end_bytes",
    "bytes",
    "elapsed_s",
    "writing_s",
    "write_ms_mean",
    "write_ms_p99",
    "write_ms_max",
    "dirty_bytes",
    "failed",
];

/// A row of a paced writing. That of a failure has its cause and nothing that was measured.
#[derive(Serialize)]
struct IntervalRow {
    method: &'static str,
    packets_per_burst: u32,
    end_bytes: u64,
    bytes: Option<u64>,
    elapsed_s: Option<f64>,
    writing_s: Option<f64>,
    write_ms_mean: Option<f64>,
    write_ms_p99: Option<f64>,
    write_ms_max: Option<f64>,
    dirty_bytes: Option<u64>,
    failed: Option<String>,
}

fn interval_row(method: WriteMethod, packets_per_burst: u32, interval: &PacedInterval) -> IntervalRow {
    IntervalRow {
        method: method.name(),
        packets_per_burst,
        end_bytes: interval.end_bytes,
        bytes: Some(interval.bytes),
        elapsed_s: Some(interval.elapsed_ns as f64 / 1e9),
        writing_s: Some(interval.writing_ns as f64 / 1e9),
        write_ms_mean: Some(interval.write_ns_mean / 1e6),
        write_ms_p99: Some(interval.write_ns_p99 as f64 / 1e6),
        write_ms_max: Some(interval.write_ns_max as f64 / 1e6),
        dirty_bytes: interval.dirty_bytes,
        failed: None,
    }
}

fn failure_row(method: &MethodOutcome) -> IntervalRow {
    IntervalRow {
        method: method.method.name(),
        packets_per_burst: method.pace.packets_per_burst,
        end_bytes: method.bytes,
        bytes: None,
        elapsed_s: None,
        writing_s: None,
        write_ms_mean: None,
        write_ms_p99: None,
        write_ms_max: None,
        dirty_bytes: None,
        failed: method.failed.as_ref().map(|cause| shown(cause)),
    }
}

/// The table of a paced writing line by line, for one that is written while it grows: the same lines as [`write_csv`]'s.
pub mod growing {
    use super::{
        CsvError, INTERVAL_HEADER, MethodOutcome, PacedInterval, WriteMethod, failure_row, interval_row,
    };
    use serde::Serialize;

    /// Its header.
    pub fn header() -> Result<Vec<u8>, CsvError> {
        line(&INTERVAL_HEADER)
    }

    /// An interval of a method.
    pub fn interval(
        method: WriteMethod,
        packets_per_burst: u32,
        interval: &PacedInterval,
    ) -> Result<Vec<u8>, CsvError> {
        line(&interval_row(method, packets_per_burst, interval))
    }

    /// What comes behind the intervals of a method: why it failed, where it did.
    pub fn end(method: &MethodOutcome) -> Result<Vec<u8>, CsvError> {
        if method.failed.is_none() { Ok(Vec::new()) } else { line(&failure_row(method)) }
    }

    fn line(row: &impl Serialize) -> Result<Vec<u8>, CsvError> {
        let mut writer = ::csv::WriterBuilder::new()
            .terminator(::csv::Terminator::CRLF)
            .has_headers(false)
            .from_writer(Vec::new());
        writer.serialize(row)?;
        writer.into_inner().map_err(|error| CsvError::Write(error.into_error()))
    }
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
    fn a_table_of_jobs_is_read_with_and_without_a_header_and_a_broken_row_is_named() {
        let read = |text: &str| read_work(text.as_bytes());
        let row = |name: &str, seconds: f64| (name.to_owned(), seconds);
        assert_eq!(
            read("job,seconds\nload, 1218\n\"a, b\",0.5,x\n").unwrap(),
            [row("load", 1218.0), row("a, b", 0.5)]
        );
        assert_eq!(read("\u{feff}load,12\r\n").unwrap(), [row("load", 12.0)]);
        assert!(read("").unwrap().is_empty());
        for text in ["load,1\nindex,fast\n", "load,1\nindex,-3\n", "load,1\n,3\n", "load,1\nindex,NaN\n"] {
            assert!(read(text).unwrap_err().to_string().starts_with("line 2"), "{text}");
        }
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

    /// What a killed run leaves must be read like what a finished one writes.
    #[test]
    fn the_lines_of_a_table_that_grows_are_those_of_the_table_at_the_end() {
        let pace = iostall_model::paced::Pace { packet_bytes: 4096, packets_per_burst: 3, period_ns: 7 };
        let interval =
            PacedInterval { end_bytes: 8192, bytes: 8192, elapsed_ns: 9, ..PacedInterval::default() };
        let whole = MethodOutcome {
            intervals: vec![interval, PacedInterval { dirty_bytes: Some(5), ..interval }],
            ..MethodOutcome::new(WriteMethod::Buffered, pace)
        };
        let full = MethodOutcome {
            bytes: 8192,
            failed: Some("writing, \"full\"\u{1b}[2J".to_owned()),
            ..MethodOutcome::new(WriteMethod::Direct, pace)
        };
        let paced = PacedOutcome {
            interval_bytes: 8192,
            total_bytes: None,
            memory_limit_bytes: None,
            methods: vec![whole, full],
            sweet_spots: Vec::new(),
        };
        let mut grown = growing::header().unwrap();
        for method in &paced.methods {
            for interval in &method.intervals {
                grown.extend(growing::interval(method.method, 3, interval).unwrap());
            }
            grown.extend(growing::end(method).unwrap());
        }
        let mut run = fixture::run();
        run.body = RunBody::Write(paced);
        let text = written(&run);
        assert_eq!(String::from_utf8(grown).unwrap(), text);
        let last = text.lines().last().unwrap();
        assert!(last.starts_with("direct,3,8192,,,,,,,,\"writing, \"\"full\"\""), "{last}");
        assert!(!text.contains('\u{1b}'));
    }
}
