//! Output formats of a report: text on standard output, and the requested files.

use std::io::Write;

use iostall_report::forms::{write_window, write_windows};
use iostall_report::watch::{comparison, sections, sentences, title};
use iostall_session::output::{Form, OutputError, Outputs, Render};
use iostall_watch::windows::{WatchComparison, WatchReport, WatchSeries};

use crate::cli::{GlobalArgs, ReportArgs};
use crate::failure::Status;
use crate::output::{judged, text_of_sections, write_or_show};
use crate::printer::Printer;
use crate::store::taken;

pub(super) struct Forms {
    outputs: Outputs,
}

impl Forms {
    /// The requested output formats, after checking that their files may be written.
    pub(super) fn checked(args: &ReportArgs, global: &GlobalArgs) -> Result<Self, OutputError> {
        let wanted = [
            ("--csv", Form::Csv, args.csv.as_deref()),
            ("--json", Form::Json, args.json.as_deref()),
            ("--html", Form::Html, args.html.as_deref()),
            ("--markdown", Form::Markdown, args.markdown.as_deref()),
            ("--junit", Form::Junit, args.junit.as_deref()),
        ];
        Ok(Self { outputs: Outputs::check(&wanted, &taken(global))? })
    }

    /// Writes a window. Returns `status`, or that something could not be written.
    pub(super) fn report(
        &self,
        report: &WatchReport,
        series: Option<&WatchSeries>,
        printer: &Printer,
        status: Status,
    ) -> Status {
        let render = |form, out: &mut dyn Write| write_window(report, series, form, out);
        let text = || Some(text_of_sections(&title(report), &sections(report), printer));
        let status = judged(&report.verdicts, !self.outputs.take_stdout(), printer, status);
        let status = write_or_show(&self.outputs, &render, &text, printer, status);
        if self.outputs.take_stdout() {
            for source in &report.sources {
                for said in sentences(source) {
                    printer.note(&format!("{}: {said}", source.name));
                }
            }
        }
        status
    }

    /// Writes what `render` gives, and shows no text.
    pub(super) fn only(&self, render: Render<'_>, printer: &Printer) -> Status {
        write_or_show(&self.outputs, render, &|| None, printer, Status::Done)
    }

    pub(super) fn comparison(&self, both: &WatchComparison, printer: &Printer) -> Status {
        let render = |form, out: &mut dyn Write| write_windows(both, form, out);
        let sections = comparison::sections(both);
        let text = || Some(text_of_sections(&comparison::title(both), &sections, printer));
        write_or_show(&self.outputs, &render, &text, printer, Status::Done)
    }
}
