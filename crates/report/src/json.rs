//! The JSON document of a run: the stored form as it is, and beside it the figures derived, so that a script
//! needs no histogram code. The format is drawn in `docs/formats.md`.

use std::collections::BTreeMap;
use std::io;

use iostall_measure::{Histogram, Percentile};
use iostall_model::outcome::SpanOutcome;
use iostall_model::{Run, RunBody};
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use crate::max_rate::MaxRateSummary;
use crate::point::{PointRow, points};
use crate::sweep::SweepSummary;
use iostall_model::figures::{CpuUse, Row, machine_busy, rows};

/// How the document is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonLayout {
    /// A line a field, lists of numbers on one line.
    #[default]
    Pretty,
    /// One line.
    Compact,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    run: &'a Run,
    summary: Summary,
}

#[derive(Serialize)]
struct Summary {
    spans: Vec<SpanSummary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    points: Vec<PointRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sweep: Option<SweepSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_rate: Option<MaxRateSummary>,
}

#[derive(Serialize)]
struct SpanSummary {
    measured_ns: u64,
    interrupted: bool,
    cpu_ns_per_request: Option<f64>,
    requests_per_cpu_second: Option<f64>,
    machine_busy_fraction: Option<f64>,
    roles: Vec<RoleSummary>,
}

#[derive(Serialize)]
struct RoleSummary {
    name: String,
    ops: Vec<OpSummary>,
}

#[derive(Serialize)]
struct OpSummary {
    op: &'static str,
    count: u64,
    bytes: u64,
    failed: u64,
    iops: Option<f64>,
    mib_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_ns: Option<LatencySummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_ns: Option<LatencySummary>,
}

#[derive(Serialize)]
struct LatencySummary {
    count: u64,
    mean: Option<f64>,
    stdev: Option<f64>,
    min: Option<u64>,
    max: Option<u64>,
    percentiles: BTreeMap<PercentileKey, PercentileSummary>,
}

/// Orders the keys by what they mean, not by how they are spelt.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PercentileKey(usize);

impl Serialize for PercentileKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let percent = Percentile::LADDER[self.0].0.percent().to_string();
        serializer.collect_str(&format_args!("p{}", percent.replace('.', "_")))
    }
}

#[derive(Serialize)]
struct PercentileSummary {
    ns: u64,
    supported: bool,
}

impl LatencySummary {
    fn of(histogram: &Histogram) -> Self {
        let percentiles = Percentile::LADDER.iter().enumerate().filter_map(|(index, (percentile, _))| {
            let ns = histogram.value_at(*percentile)?;
            let supported = percentile.is_supported_by(histogram.count());
            Some((PercentileKey(index), PercentileSummary { ns, supported }))
        });
        Self {
            count: histogram.count(),
            mean: histogram.mean(),
            stdev: histogram.stdev(),
            min: histogram.min(),
            max: histogram.max(),
            percentiles: percentiles.collect(),
        }
    }
}

impl OpSummary {
    fn of(row: &Row, measured_ns: u64) -> Self {
        Self {
            op: row.kind.name(),
            count: row.count,
            bytes: row.bytes,
            failed: row.failed,
            iops: row.iops(measured_ns),
            mib_per_s: row.mib_per_s(measured_ns),
            service_ns: row.service_ns.as_ref().map(LatencySummary::of),
            response_ns: row.response_ns.as_ref().map(LatencySummary::of),
        }
    }
}

fn summary_of(span: &SpanOutcome) -> SpanSummary {
    let cpu = CpuUse::of_process(span);
    let roles = span.roles.iter().map(|role| RoleSummary {
        name: role.name.clone(),
        ops: rows(role).iter().map(|row| OpSummary::of(row, span.measured_ns)).collect(),
    });
    SpanSummary {
        measured_ns: span.measured_ns,
        interrupted: span.interrupted,
        cpu_ns_per_request: cpu.ns_per_request(),
        requests_per_cpu_second: cpu.requests_per_cpu_second(),
        machine_busy_fraction: machine_busy(span),
        roles: roles.collect(),
    }
}

/// Writes the document of `run` and a line end. Fails where `out` does.
pub fn write_json(run: &Run, layout: JsonLayout, mut out: impl io::Write) -> io::Result<()> {
    let spans = match &run.body {
        RunBody::Load(load) => load.spans.iter().map(summary_of).collect(),
        _ => Vec::new(),
    };
    let points = points(run).iter().map(|point| PointRow::of(run, point)).collect();
    let sweep = match &run.body {
        RunBody::Sweep(outcome) => Some(SweepSummary::of(run, outcome)),
        _ => None,
    };
    let max_rate = match &run.body {
        RunBody::MaxRate(outcome) => Some(MaxRateSummary::of(outcome)),
        _ => None,
    };
    let document = Document { run, summary: Summary { spans, points, sweep, max_rate } };
    match layout {
        JsonLayout::Pretty => {
            document.serialize(&mut Serializer::with_formatter(&mut out, Folded::default()))?;
        }
        JsonLayout::Compact => {
            document.serialize(&mut Serializer::with_formatter(&mut out, CompactFormatter))?;
        }
    }
    out.write_all(b"\n")
}

/// Reads a document back; what was derived is left aside.
pub fn read_json(text: &[u8]) -> Result<Run, serde_json::Error> {
    serde_json::from_slice(text)
}

/// Indents objects and keeps lists of numbers on one line: a histogram has hundreds of buckets, and serde's
/// own pretty form would give each one four lines.
#[derive(Default)]
struct Folded {
    depth: usize,
    empty: bool,
}

impl Folded {
    fn new_line<W: ?Sized + io::Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Folded {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        self.empty = true;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        if !std::mem::take(&mut self.empty) {
            self.new_line(writer)?;
        }
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.empty = false;
        if !first {
            writer.write_all(b",")?;
        }
        self.new_line(writer)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use serde_json::Value;

    fn written(run: &Run, layout: JsonLayout) -> Vec<u8> {
        let mut out = Vec::new();
        write_json(run, layout, &mut out).unwrap();
        out
    }

    #[test]
    fn a_document_reads_back_as_the_same_run() {
        for run in [fixture::run(), fixture::empty(), fixture::interrupted(), fixture::two_spans()] {
            for layout in [JsonLayout::Pretty, JsonLayout::Compact] {
                assert_eq!(read_json(&written(&run, layout)).unwrap(), run);
            }
        }
    }

    #[test]
    fn a_path_that_is_no_text_does_not_lose_the_run() {
        let back = read_json(&written(&fixture::hostile(), JsonLayout::Pretty)).unwrap();
        assert!(back.targets[0].path.to_string_lossy().ends_with('\u{fffd}'));
    }

    #[test]
    fn a_script_finds_the_figures_without_histogram_code() {
        let run = fixture::run();
        let value: Value = serde_json::from_slice(&written(&run, JsonLayout::Pretty)).unwrap();
        assert_eq!(value["schema"], "iostall-run");
        assert_eq!(value["schema_version"], 1);
        let reads = &value["summary"]["spans"][0]["roles"][0]["ops"][0];
        assert_eq!(reads["op"], "read");
        assert_eq!(reads["count"], 42_000);
        assert_eq!(reads["iops"], 2100.0);
        assert_eq!(reads["service_ns"]["percentiles"]["p99"]["ns"], fixture::p99_of_reads(&run));
        assert_eq!(reads["service_ns"]["percentiles"]["p99"]["supported"], true);
        assert_eq!(reads["service_ns"]["percentiles"]["p99_9999999"]["supported"], false);
    }

    #[test]
    fn the_summary_of_the_fixture_is_laid_out_so() {
        let text = String::from_utf8(written(&fixture::run(), JsonLayout::Pretty)).unwrap();
        let summary = &text[text.find("\"summary\"").unwrap()..];
        insta::assert_snapshot!(summary);
    }

    #[test]
    fn what_was_not_measured_is_null_and_never_a_made_up_number() {
        let value: Value = serde_json::from_slice(&written(&fixture::empty(), JsonLayout::Compact)).unwrap();
        assert_eq!(value["summary"]["spans"][0]["roles"][0]["ops"], Value::Array(Vec::new()));
        assert_eq!(value["summary"]["spans"][0]["cpu_ns_per_request"], Value::Null);
    }
}
