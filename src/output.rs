//! Outputs of a command: text on standard output, requested files, and the store.

use std::io::{self, Write};
use std::path::Path;

use iostall_host::locale_is_utf8;
use iostall_model::requirement::Requirement;
use iostall_model::warning::Rank;
use iostall_model::{Run, Verdict};
use iostall_report::TextOptions;
use iostall_report::forms::{answer_line, answer_text, run_text, sections_text, write_run};
use iostall_report::section::Section;
use iostall_report::verdicts::sentence;
use iostall_session::output::{self, Form, OutputError, Outputs, Render, Taken};
use iostall_session::requirements::verdicts;
use iostall_session::run_writer::{RunWriter, WriteDocument};
use iostall_store::RunNumber;

use crate::cli::RunOutput;
use crate::failure::{Status, hinted};
use crate::printer::Printer;

/// The outputs in `args`, after checking that they may be written.
pub(crate) fn check(args: &dyn RunOutput, taken: &Taken) -> Result<Outputs, OutputError> {
    Outputs::check(&args.wanted(), taken)
}

/// What goes to standard output if no output uses it.
pub(crate) enum Shown {
    /// The report of the run, with its number in the store.
    Report,
    Text(String),
    /// The answer in one line, and the cautions: for who asked for quiet.
    Answer,
    Nothing,
}

pub(crate) struct Delivery<'a> {
    outputs: &'a Outputs,
    percentiles: bool,
    require: &'a [Requirement],
    pub(crate) shown: Shown,
    pub(crate) manifest: Option<WriteDocument<'a>>,
    printer: &'a Printer,
}

impl<'a> Delivery<'a> {
    pub(crate) fn new(outputs: &'a Outputs, args: &'a dyn RunOutput, printer: &'a Printer) -> Self {
        let (percentiles, require) = (args.percentiles(), args.require());
        Self { outputs, percentiles, require, shown: Shown::Report, manifest: None, printer }
    }

    /// What is shown after `status`: after an error nothing, and where quiet was asked for, of what is as it should be, the answer.
    pub(crate) fn after(mut self, status: Status, quiet: bool) -> Self {
        match status {
            Status::CouldNot => self.shown = Shown::Nothing,
            Status::Done | Status::Interrupted if quiet => self.shown = Shown::Answer,
            _ => {}
        }
        self
    }

    /// Writes a finished run: first the outputs and the text, then the store, so that a failing store loses
    /// nothing. A failing store is a warning. Returns `status`, or that a requirement was missed, or that an
    /// output could not be written.
    pub(crate) fn give(&self, run: &mut Run, writer: &mut RunWriter, status: Status) -> Status {
        let status = self.check(run, status);
        let failed = self.write(run);
        let has_document = failed.is_empty() && self.outputs.have_json();
        let number = keep(run, writer, has_document, self.printer);
        let stored =
            number.map(|number| format!("\nstored as run {number} (`iostall runs show {}`)\n", number.0));
        self.end(run, number, &stored.unwrap_or_default());
        if matches!(self.shown, Shown::Text(_)) {
            // The text is another program's report, which scripts read.
            self.printer.note(&answer_line(run, number));
        }
        report(failed, number, self.printer, status)
    }

    /// Shows a run that is stored as `number`, with what was required of it then or is now.
    pub(crate) fn show(&self, run: &mut Run, number: RunNumber) -> Status {
        let status = if self.require.is_empty() { Status::Done } else { self.check(run, Status::Done) };
        let failed = self.write(run);
        self.end(run, Some(number), "");
        report(failed, Some(number), self.printer, status)
    }

    /// Ends a report with `line` and the answer in one sentence.
    fn end(&self, run: &Run, number: Option<RunNumber>, line: &str) {
        if matches!(self.shown, Shown::Answer) {
            self.cautions(run);
        }
        if self.outputs.take_stdout() {
            return;
        }
        let end = match self.shown {
            Shown::Report => {
                let answer = answer_text(run, number, &terminal(self.printer, self.percentiles));
                format!("{line}\n{answer}")
            }
            Shown::Answer => format!("{}\n", answer_line(run, number)),
            Shown::Text(_) | Shown::Nothing => return,
        };
        // If standard output fails, so has the report, which is reported by the caller.
        let _ = self.printer.result(&end);
    }

    /// What no report says: a caution is never silent.
    pub(crate) fn cautions(&self, run: &Run) {
        for warning in run.warnings.iter().filter(|warning| warning.code.rank() != Rank::Note) {
            let error = anyhow::anyhow!(warning.message.clone());
            self.printer.warning(&match &warning.hint {
                Some(hint) => hinted(error, hint.clone()),
                None => error,
            });
        }
    }

    fn check(&self, run: &mut Run, status: Status) -> Status {
        run.verdicts = verdicts(run, self.require);
        let is_in_text = matches!(self.shown, Shown::Report) && !self.outputs.take_stdout();
        judged(&run.verdicts, is_in_text, self.printer, status)
    }

    fn write(&self, run: &Run) -> Vec<OutputError> {
        let render = |form, out: &mut dyn Write| match (form, self.manifest) {
            (Form::Manifest { .. }, Some(write)) => write(out),
            (form, _) => write_run(run, form, out),
        };
        let text = || match &self.shown {
            Shown::Report => Some(run_text(run, &terminal(self.printer, self.percentiles))),
            Shown::Text(text) => Some(text.clone()),
            Shown::Answer | Shown::Nothing => None,
        };
        write_all(self.outputs, &render, &text, self.printer)
    }
}

/// Returns `status`, or that a requirement was missed, with a warning where no report says so.
pub(crate) fn judged(verdicts: &[Verdict], is_in_text: bool, printer: &Printer, status: Status) -> Status {
    let missed = || verdicts.iter().filter(|verdict| !verdict.met);
    missed().filter(|_| !is_in_text).for_each(|verdict| printer.warning(&anyhow::anyhow!(sentence(verdict))));
    if status == Status::Done && missed().next().is_some() { Status::No } else { status }
}

fn write_all(
    outputs: &Outputs,
    render: Render<'_>,
    text: &dyn Fn() -> Option<String>,
    printer: &Printer,
) -> Vec<OutputError> {
    let show = |document: Option<Vec<u8>>| match document.or_else(|| text().map(String::into_bytes)) {
        Some(document) => printer.document(&document),
        None => Ok(()),
    };
    let waiting = |path: &Path| printer.note(&format!("waiting for a reader of {}", path.display()));
    outputs.write(output::Delivery { render, show: &show, waiting: &waiting })
}

/// Writes results that are not stored. Returns `status`, or a failure to write.
pub(crate) fn write_or_show(
    outputs: &Outputs,
    render: Render<'_>,
    text: &dyn Fn() -> Option<String>,
    printer: &Printer,
    status: Status,
) -> Status {
    report(write_all(outputs, render, text, printer), None, printer, status)
}

/// Stores a run, if wanted. A failing store is a warning, which says where else the run is.
pub(crate) fn keep(
    run: &Run,
    writer: &mut RunWriter,
    has_document: bool,
    printer: &Printer,
) -> Option<RunNumber> {
    let document = |out: &mut dyn Write| write_run(run, Form::Json, out);
    writer.keep(run, has_document, &document).unwrap_or_else(|not_kept| {
        printer.warning(&not_kept.into());
        None
    })
}

/// Reports which outputs failed, and how to get them.
fn report(failed: Vec<OutputError>, number: Option<RunNumber>, printer: &Printer, status: Status) -> Status {
    let status = if failed.is_empty() { status } else { Status::CouldNot };
    for error in failed {
        printer.error(&match number {
            Some(number) if error.hint().is_none() => {
                let again = format!("`iostall runs show {}` writes it again", number.0);
                hinted(error, format!("the run itself is stored: {again}"))
            }
            _ => error.into(),
        });
    }
    status
}

fn terminal(printer: &Printer, percentiles: bool) -> TextOptions {
    let (width, colour, unicode) = (Printer::width(), printer.color(), locale_is_utf8());
    TextOptions { width, colour, unicode, percentiles, bars: !printer.quiet() }
}

pub(crate) fn text_of_sections(title: &str, sections: &[Section], printer: &Printer) -> String {
    sections_text(title, sections, &terminal(printer, false))
}

pub(crate) fn to_stdout(
    printer: &Printer,
    render: &dyn Fn(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    render(&mut bytes)?;
    printer.document(&bytes)
}
