//! A report's series as comma-separated values (RFC 4180), and reading of tables in that form.

use std::io;

use thiserror::Error;

use crate::report::{Field, Report};

/// Reads a table of jobs: a name and seconds in each row, with or without a header; further columns are
/// ignored.
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
            // A first row whose second field is not a number is a header.
            Err(_) if index == 0 && record.len() >= 2 => {}
            _ => {
                let line = record.position().map_or(0, ::csv::Position::line);
                return Err(CsvError::Work { line, name: name.to_owned(), seconds: seconds.to_owned() });
            }
        }
    }
    Ok(rows)
}

/// Writes the series of a report. One without rows still has its header.
pub fn write_csv(report: &Report<'_>, out: impl io::Write) -> Result<(), CsvError> {
    let series = (report.series)();
    let mut writer = writer(out);
    writer.write_record(series.header)?;
    for row in series.rows {
        writer.serialize(row)?;
    }
    Ok(writer.flush()?)
}

pub(crate) fn line(row: &[Field<'_>]) -> Result<Vec<u8>, CsvError> {
    let mut writer = writer(Vec::new());
    writer.serialize(row)?;
    writer.into_inner().map_err(|error| CsvError::Write(error.into_error()))
}

fn writer<W: io::Write>(out: W) -> ::csv::Writer<W> {
    ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).has_headers(false).from_writer(out)
}

#[derive(Debug, Error)]
pub enum CsvError {
    #[error("cannot write the series: {0}")]
    Write(#[from] io::Error),
    #[error("cannot write a row of the series: {0}")]
    Row(#[from] ::csv::Error),
    #[error("cannot read the table: {0}")]
    Read(::csv::Error),
    #[error("line {line}: a job's name and its seconds are wanted, here are {name:?} and {seconds:?}")]
    Work {
        /// Line, from 1.
        line: u64,
        name: String,
        seconds: String,
    },
}

#[cfg(test)]
mod tests {
    use iostall_model::paced::{MethodOutcome, PacedInterval, WriteMethod};
    use iostall_model::{PacedOutcome, Run, RunBody};

    use super::*;
    use crate::{fixture, growing};

    #[derive(Debug, serde::Deserialize, PartialEq)]
    struct SeriesRow {
        role: String,
        op: String,
        latency_kind: String,
        count: u64,
        iops: Option<f64>,
        mib_per_s: Option<f64>,
        latency_ms_p99: Option<f64>,
    }

    fn header(run: &Run) -> String {
        (Report::of(run).series)().header.join(",")
    }

    fn written(run: &Run) -> String {
        let mut out = Vec::new();
        write_csv(&Report::of(run), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn parsed(text: &str) -> Vec<SeriesRow> {
        ::csv::Reader::from_reader(text.as_bytes()).deserialize().map(Result::unwrap).collect()
    }

    #[test]
    fn every_second_of_every_role_and_operation_is_a_row() {
        let text = written(&fixture::run());
        assert_eq!(text.lines().next().unwrap(), header(&fixture::run()));
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
        assert_eq!(written(&fixture::empty()), format!("{}\r\n", header(&fixture::empty())));
    }

    /// The output of a killed run must parse like that of a finished one.
    #[test]
    fn the_lines_of_a_table_that_grows_are_those_of_the_table_at_the_end() {
        let pace = iostall_model::paced::Pace {
            packet_bytes: 4096,
            packets_per_burst: 3,
            period_ns: 7,
            delay_ns: 0,
        };
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
            gave_way: None,
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
