//! The forms of one run: text on standard output, and whatever files were asked for.

mod form;
mod outputs;
mod taken;

use std::io::Write;
use std::path::PathBuf;

pub(crate) use iostall_engine::output::Place;
use iostall_model::Run;
use iostall_report::json::JsonLayout;
use iostall_report::section::Section;
use iostall_report::{
    Report, TextOptions, text_to_svg, write_csv, write_html, write_json, write_markdown, write_sections,
    write_text,
};
use iostall_store::RunNumber;

use crate::cli::OutputArgs;
use crate::failure::{Hinted, Status, hinted};
use crate::printer::Printer;
use crate::store::Recorder;

pub(crate) use form::Form;
pub(crate) use outputs::{Outputs, Wanted};
pub(crate) use taken::Taken;

/// Columns of the text report drawn as a picture.
const SVG_WIDTH: usize = 110;

/// The options of `args` for [`Outputs::check`].
pub(crate) fn wanted(args: &OutputArgs) -> Vec<Wanted<'_>> {
    vec![
        ("--json", Form::Json, args.json.as_deref()),
        ("--csv", Form::Csv, args.csv.as_deref()),
        ("--html", Form::Html, args.html.as_deref()),
        ("--markdown", Form::Markdown, args.markdown.as_deref()),
        ("--svg", Form::Svg, args.svg.as_deref()),
    ]
}

/// The outputs that `args` name, which may be written.
pub(crate) fn check(args: &OutputArgs, taken: &Taken) -> anyhow::Result<Outputs> {
    Outputs::check(&wanted(args), taken)
}

/// What goes to standard output where no form takes it.
pub(crate) enum Shown {
    /// The report of the run, and under which number it is kept.
    Report,
    /// A text of the command's own.
    Text(String),
    /// Nothing.
    Nothing,
}

/// Writes the manifest of a copy.
type WriteManifest<'a> = &'a dyn Fn(&mut dyn Write) -> anyhow::Result<()>;

/// How a finished run is given out.
pub(crate) struct Delivery<'a> {
    outputs: &'a Outputs,
    percentiles: bool,
    pub(crate) shown: Shown,
    pub(crate) manifest: Option<WriteManifest<'a>>,
}

impl<'a> Delivery<'a> {
    /// Its report, and the forms that were asked for.
    pub(crate) fn new(outputs: &'a Outputs, args: &OutputArgs) -> Self {
        Self { outputs, percentiles: args.percentiles, shown: Shown::Report, manifest: None }
    }

    /// Gives out a run that has just ended: first every output and the text, then the store, for what cannot be stored must
    /// not be lost. A store that fails is a warning. Answers `status`, or that an output could not be written.
    pub(crate) fn give(&self, run: &Run, recorder: &mut Recorder<'_>, status: Status) -> Status {
        let printer = recorder.printer();
        let failed = self.write(run, printer);
        let has_document = failed.is_empty() && self.outputs.have_json();
        let number = keep(run, recorder, has_document);
        let says_number = matches!(self.shown, Shown::Report) && !self.outputs.take_stdout();
        if let Some(number) = number.filter(|_| says_number) {
            let line = format!("\nkept as run {number} (`iostall runs show {}`)\n", number.0);
            // Standard output that fails has failed with the report, and is told below.
            let _ = printer.result(&line);
        }
        report(failed, number, printer, status)
    }

    /// Gives out a run that is in the store, as `number`.
    pub(crate) fn show(&self, run: &Run, number: RunNumber, printer: &Printer, status: Status) -> Status {
        report(self.write(run, printer), Some(number), printer, status)
    }

    fn write(&self, run: &Run, printer: &Printer) -> Vec<anyhow::Error> {
        let render = |form, out: &mut dyn Write| match (form, self.manifest) {
            (Form::Manifest { .. }, Some(write)) => write(out),
            (form, _) => write_form(run, form, self.percentiles, out),
        };
        let text = || match &self.shown {
            Shown::Report => Ok(Some(text_of(run, &terminal(printer, self.percentiles))?)),
            Shown::Text(text) => Ok(Some(text.clone())),
            Shown::Nothing => Ok(None),
        };
        self.outputs.write(&render, &text, printer)
    }
}

/// Puts a run into the store, if that is wanted. A store that fails is a warning, which says where else the run is.
pub(crate) fn keep(run: &Run, recorder: &mut Recorder<'_>, has_document: bool) -> Option<RunNumber> {
    let was_usable = recorder.store().is_some();
    let error = match recorder.record(run) {
        Ok(number) => return number,
        Err(error) => error,
    };
    let whole = match (has_document, was_usable) {
        (true, _) => "the JSON that was asked for has all of this run".to_owned(),
        // This was told before it began, and it may be so at every run: nobody wants a file each time.
        (false, false) => "--json FILE keeps all of a run without a store".to_owned(),
        (false, true) => match rescue(run) {
            Ok(path) => format!("all of this run is in {}", path.display()),
            Err(error) => {
                format!(
                    "nor could all of this run be written to a file here ({error:#}); --json FILE names one"
                )
            }
        },
    };
    let hint = error.downcast_ref::<Hinted>().map(|hinted| format!("{}; ", hinted.hint)).unwrap_or_default();
    let error = error.context("the run could not be kept");
    recorder.printer().warning(&hinted(error, hint + &whole));
    None
}

/// Writes the document of a run that would else be lost into the working directory.
fn rescue(run: &Run) -> anyhow::Result<PathBuf> {
    let path = PathBuf::from(format!("iostall-{}-{}.json", run.body.kind(), run.id));
    let render = |out: &mut dyn Write| {
        write_json(&Report::of(run), JsonLayout::Pretty, out).map_err(std::io::Error::other)
    };
    Place::of(&path)?.write(&render, &|| ())?;
    Ok(path)
}

/// Tells which outputs failed, and how to get them.
fn report(
    failed: Vec<anyhow::Error>,
    number: Option<RunNumber>,
    printer: &Printer,
    status: Status,
) -> Status {
    let status = if failed.is_empty() { status } else { Status::CouldNot };
    for error in failed {
        printer.error(&match number {
            Some(number) if !error.is::<Hinted>() => {
                let again = format!("`iostall runs show {}` writes it again", number.0);
                hinted(error, format!("the run itself is kept: {again}"))
            }
            _ => error,
        });
    }
    status
}

fn write_form(run: &Run, form: Form, percentiles: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    match form {
        Form::Json => Ok(write_json(&Report::of(run), JsonLayout::Pretty, out)?),
        Form::Csv => Ok(write_csv(&Report::of(run), out)?),
        Form::Html => page(out, |text| write_html(&Report::of(run), text)),
        Form::Markdown => page(out, |text| write_markdown(&Report::of(run), text)),
        Form::Svg => {
            let options = TextOptions { width: SVG_WIDTH, colour: true, unicode: true, percentiles };
            let text = text_of(run, &options)?;
            Ok(out.write_all(text_to_svg(&format!("iostall {}", run.body.kind()), &text).as_bytes())?)
        }
        Form::Manifest { .. } => anyhow::bail!("only a copy has a manifest"),
    }
}

/// Writes what is made as one text.
pub(crate) fn page(
    out: &mut dyn Write,
    render: impl Fn(&mut String) -> std::fmt::Result,
) -> anyhow::Result<()> {
    let mut text = String::new();
    render(&mut text)?;
    Ok(out.write_all(text.as_bytes())?)
}

fn text_of(run: &Run, options: &TextOptions) -> anyhow::Result<String> {
    let mut text = String::new();
    write_text(&Report::of(run), options, &mut text)?;
    Ok(text)
}

/// As the terminal that is written to can show it.
fn terminal(printer: &Printer, percentiles: bool) -> TextOptions {
    TextOptions { width: Printer::width(), colour: printer.color(), unicode: Printer::unicode(), percentiles }
}

/// A report of several sections, as standard output can show it.
pub(crate) fn text_of_sections(
    title: &str,
    sections: &[Section],
    printer: &Printer,
) -> anyhow::Result<String> {
    let mut text = String::new();
    write_sections(title, sections, &terminal(printer, false), &mut text)?;
    Ok(text)
}

/// Writes a report of several sections to standard output.
pub(crate) fn sections_to_stdout(title: &str, sections: &[Section], printer: &Printer) -> anyhow::Result<()> {
    Ok(printer.result(&text_of_sections(title, sections, printer)?)?)
}

/// Renders to standard output.
pub(crate) fn to_stdout(
    printer: &Printer,
    render: &dyn Fn(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    render(&mut bytes)?;
    Ok(printer.document(&bytes)?)
}
