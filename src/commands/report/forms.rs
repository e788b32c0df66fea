//! The forms of a report: text on standard output, and whatever files were asked for.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use iostall_report::chapter::Chapter;
use iostall_report::watch::{
    WatchComparison, WatchReport, WatchSeries, chapters, comparison, title, write_watch_csv, write_watch_json,
};
use iostall_report::{write_comparison_html, write_watch_html};

use crate::cli::ReportArgs;
use crate::failure::hinted;
use crate::output::{chapters_to_stdout, is_stdout, to_file, to_stdout};
use crate::printer::Printer;

/// Where to.
pub(super) struct Forms<'a> {
    csv: Option<&'a Path>,
    json: Option<&'a Path>,
    html: Option<&'a Path>,
}

/// Puts a form on paper.
type Render<'a> = &'a dyn Fn(&mut dyn Write) -> anyhow::Result<()>;

impl<'a> Forms<'a> {
    /// The forms asked for, of which one at most goes to standard output.
    pub(super) fn checked(args: &'a ReportArgs) -> anyhow::Result<Self> {
        let path = |path: &'a Option<PathBuf>| path.as_deref();
        let forms = Self { csv: path(&args.csv), json: path(&args.json), html: path(&args.html) };
        let to_stdout = forms.paths().filter(|path| is_stdout(path)).count();
        if to_stdout > 1 {
            let error = anyhow::anyhow!("{to_stdout} forms all want standard output");
            return Err(hinted(error, "give all but one of them a file"));
        }
        Ok(forms)
    }

    fn paths(&self) -> impl Iterator<Item = &'a Path> {
        [self.csv, self.json, self.html].into_iter().flatten()
    }

    /// Writes a window.
    pub(super) fn report(
        &self,
        report: &WatchReport,
        series: Option<&WatchSeries>,
        printer: &Printer,
    ) -> anyhow::Result<()> {
        write(self.csv, &|out| Ok(write_watch_csv(report, out)?), printer)?;
        write(self.json, &|out| Ok(write_watch_json(report, out)?), printer)?;
        if let Some(series) = series {
            write(self.html, &|out| page(out, |text| write_watch_html(report, series, text)), printer)?;
        }
        self.text(&title(report), &chapters(report), printer)?;
        if self.takes_stdout() {
            for source in &report.sources {
                source.sentences().iter().for_each(|said| printer.note(&format!("{}: {said}", source.name)));
            }
        }
        Ok(())
    }

    /// Writes two windows.
    pub(super) fn comparison(&self, both: &WatchComparison, printer: &Printer) -> anyhow::Result<()> {
        write(self.csv, &|out| Ok(comparison::write_comparison_csv(both, out)?), printer)?;
        write(self.json, &|out| Ok(comparison::write_comparison_json(both, out)?), printer)?;
        write(self.html, &|out| page(out, |text| write_comparison_html(both, text)), printer)?;
        self.text(&comparison::title(both), &comparison::chapters(both), printer)
    }

    fn takes_stdout(&self) -> bool {
        self.paths().any(is_stdout)
    }

    /// The text, unless standard output is taken.
    fn text(&self, title: &str, chapters: &[Chapter], printer: &Printer) -> anyhow::Result<()> {
        if self.takes_stdout() {
            return Ok(());
        }
        chapters_to_stdout(title, chapters, printer)
    }
}

fn write(path: Option<&Path>, render: Render<'_>, printer: &Printer) -> anyhow::Result<()> {
    match path {
        None => Ok(()),
        Some(path) if is_stdout(path) => to_stdout(printer, render),
        Some(path) => to_file(path, render).with_context(|| format!("cannot write {}", path.display())),
    }
}

fn page(out: &mut dyn Write, render: impl Fn(&mut String) -> std::fmt::Result) -> anyhow::Result<()> {
    let mut text = String::new();
    render(&mut text)?;
    Ok(out.write_all(text.as_bytes())?)
}
