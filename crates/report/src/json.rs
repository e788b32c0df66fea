//! The JSON document of a run: the stored form, plus derived figures so that a script needs no histogram
//! code. The format is described in `docs/formats.md`.

use std::io;

use iostall_model::Run;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use crate::answer::answer;
use crate::report::Report;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonLayout {
    /// One field per line, lists of numbers on one line.
    #[default]
    Pretty,
    Compact,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    run: &'a Run,
    answer: String,
    summary: Box<dyn erased_serde::Serialize + 'a>,
}

pub fn write_json(report: &Report<'_>, layout: JsonLayout, mut out: impl io::Write) -> io::Result<()> {
    let document = Document { run: report.run, answer: answer(report, None), summary: (report.summary)() };
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

/// Parses a document, ignoring derived figures.
pub fn read_json(text: &[u8]) -> Result<Run, serde_json::Error> {
    serde_json::from_slice(text)
}

/// Indents objects and keeps lists of numbers on one line: a histogram has hundreds of buckets, and serde's
/// pretty format would use four lines for each.
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
        write_json(&Report::of(run), layout, &mut out).unwrap();
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
