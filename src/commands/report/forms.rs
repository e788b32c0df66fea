//! The forms of a report: text on standard output, and whatever files were asked for.

use std::io::Write;

use iostall_report::watch::{comparison, sections, sentences, title, write_watch_csv, write_watch_json};
use iostall_report::{write_comparison_html, write_watch_html};
use iostall_watch::windows::{WatchComparison, WatchReport, WatchSeries};

use crate::cli::{GlobalArgs, ReportArgs};
use crate::failure::Status;
use crate::output::{Form, Outputs, Taken, page, text_of_sections};
use crate::printer::Printer;

/// Where to.
pub(super) struct Forms {
    outputs: Outputs,
}

impl Forms {
    /// The forms asked for, which may be written where they were.
    pub(super) fn checked(args: &ReportArgs, global: &GlobalArgs) -> anyhow::Result<Self> {
        let wanted = [
            ("--csv", Form::Csv, args.csv.as_deref()),
            ("--json", Form::Json, args.json.as_deref()),
            ("--html", Form::Html, args.html.as_deref()),
        ];
        Ok(Self { outputs: Outputs::check(&wanted, &Taken::new(global))? })
    }

    /// Writes a window. Answers `status`, or that something could not be written.
    pub(super) fn report(
        &self,
        report: &WatchReport,
        series: Option<&WatchSeries>,
        printer: &Printer,
        status: Status,
    ) -> Status {
        let render = |form, out: &mut dyn Write| match (form, series) {
            (Form::Csv, _) => Ok(write_watch_csv(report, out)?),
            (Form::Html, Some(series)) => page(out, |text| write_watch_html(report, series, text)),
            _ => Ok(write_watch_json(report, out)?),
        };
        let text = || text_of_sections(&title(report), &sections(report), printer).map(Some);
        let status = self.outputs.write_or_show(&render, &text, printer, status);
        if self.outputs.take_stdout() {
            for source in &report.sources {
                for said in sentences(source) {
                    printer.note(&format!("{}: {said}", source.name));
                }
            }
        }
        status
    }

    /// Writes two windows, likewise.
    pub(super) fn comparison(&self, both: &WatchComparison, printer: &Printer) -> Status {
        let render = |form, out: &mut dyn Write| match form {
            Form::Csv => Ok(comparison::write_comparison_csv(both, out)?),
            Form::Html => page(out, |text| write_comparison_html(both, text)),
            _ => Ok(comparison::write_comparison_json(both, out)?),
        };
        let sections = comparison::sections(both);
        let text = || text_of_sections(&comparison::title(both), &sections, printer).map(Some);
        self.outputs.write_or_show(&render, &text, printer, Status::Done)
    }
}
