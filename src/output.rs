//! The forms of one run: text on standard output, and whatever files were asked for.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use iostall_model::Run;
use iostall_report::chapter::Chapter;
use iostall_report::json::JsonLayout;
use iostall_report::{
    TextOptions, text_to_svg, write_chapters, write_csv, write_html, write_json, write_text,
};
use iostall_store::RunNumber;

use crate::cli::OutputArgs;
use crate::failure::hinted;
use crate::printer::Printer;

/// Columns of the text report drawn as a picture.
const SVG_WIDTH: usize = 110;

/// Whether a form goes to standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Refuses, before anything is measured, forms that cannot be written afterwards.
pub(crate) fn check(args: &OutputArgs) -> anyhow::Result<()> {
    let forms: [(&str, &Option<PathBuf>); 4] =
        [("--json", &args.json), ("--csv", &args.csv), ("--html", &args.html), ("--svg", &args.svg)];
    let to_stdout: Vec<&str> = forms
        .iter()
        .filter(|(_, path)| path.as_deref().is_some_and(is_stdout))
        .map(|(flag, _)| *flag)
        .collect();
    if to_stdout.len() > 1 {
        let error = anyhow::anyhow!("{} all want standard output", to_stdout.join(" and "));
        return Err(hinted(error, "give all but one of them a file"));
    }
    for (flag, path) in forms {
        let Some(path) = path.as_deref().filter(|path| !is_stdout(path)) else { continue };
        let directory =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !directory.is_dir() {
            let error =
                anyhow::anyhow!("{flag} {}: there is no directory {}", path.display(), directory.display());
            return Err(hinted(error, "make the directory first; nothing was measured"));
        }
        if path.is_dir() {
            let error = anyhow::anyhow!("{flag} {}: that is a directory", path.display());
            return Err(hinted(error, "name a file; nothing was measured"));
        }
    }
    Ok(())
}

/// Writes every form that was asked for, and the text unless one of them took standard output.
pub(crate) fn write(
    run: &Run,
    number: Option<RunNumber>,
    args: &OutputArgs,
    printer: &Printer,
) -> anyhow::Result<()> {
    let written = write_files(run, number, args, printer);
    let stdout_taken = [&args.json, &args.csv, &args.html, &args.svg]
        .into_iter()
        .any(|path| path.as_deref().is_some_and(is_stdout));
    if !stdout_taken {
        let options = terminal(printer, args.percentiles);
        let mut text = text_of(run, &options)?;
        if let Some(number) = number {
            text.push_str(&format!("\nkept as run {number} (`iostall runs show {}`)\n", number.0));
        }
        printer.result(&text)?;
    }
    written
}

/// Writes every form that was asked for. One that fails does not keep the others from being written.
pub(crate) fn write_files(
    run: &Run,
    number: Option<RunNumber>,
    args: &OutputArgs,
    printer: &Printer,
) -> anyhow::Result<()> {
    let mut failed = Vec::new();
    let mut form = |path: &Option<PathBuf>, render: &dyn Fn(&mut dyn Write) -> anyhow::Result<()>| {
        let Some(path) = path else { return };
        let written = if is_stdout(path) {
            to_stdout(printer, render)
        } else {
            to_file(path, render).with_context(|| format!("cannot write {}", path.display()))
        };
        failed.extend(written.err());
    };
    form(&args.json, &|out| Ok(write_json(run, JsonLayout::Pretty, out)?));
    form(&args.csv, &|out| Ok(write_csv(run, out)?));
    form(&args.html, &|out| {
        let mut page = String::new();
        write_html(run, &mut page)?;
        Ok(out.write_all(page.as_bytes())?)
    });
    form(&args.svg, &|out| {
        let options =
            TextOptions { width: SVG_WIDTH, colour: true, unicode: true, percentiles: args.percentiles };
        let text = text_of(run, &options)?;
        Ok(out.write_all(text_to_svg(&format!("iostall {}", run.body.kind()), &text).as_bytes())?)
    });
    match (failed.into_iter().next(), number) {
        (None, _) => Ok(()),
        (Some(error), None) => Err(error),
        (Some(error), Some(number)) => {
            let again = format!("`iostall runs show {}` writes it again", number.0);
            Err(hinted(error, format!("the run itself is kept: {again}")))
        }
    }
}

fn text_of(run: &Run, options: &TextOptions) -> anyhow::Result<String> {
    let mut text = String::new();
    write_text(run, options, &mut text)?;
    Ok(text)
}

/// As the terminal that is written to can show it.
fn terminal(printer: &Printer, percentiles: bool) -> TextOptions {
    TextOptions { width: Printer::width(), colour: printer.color(), unicode: Printer::unicode(), percentiles }
}

/// Writes a report of several chapters to standard output.
pub(crate) fn chapters_to_stdout(title: &str, chapters: &[Chapter], printer: &Printer) -> anyhow::Result<()> {
    let mut text = String::new();
    write_chapters(title, chapters, &terminal(printer, false), &mut text)?;
    Ok(printer.result(&text)?)
}

/// Renders to standard output.
pub(crate) fn to_stdout(
    printer: &Printer,
    render: &dyn Fn(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    render(&mut bytes)?;
    Ok(printer.result(&String::from_utf8_lossy(&bytes))?)
}

/// Writes beside the name and renames, so that the name never stands for half a document.
pub(crate) fn to_file(
    path: &Path,
    render: &dyn Fn(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = (|| {
        let mut out = BufWriter::new(File::create(&part)?);
        render(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?;
        std::fs::rename(&part, path)?;
        Ok(())
    })();
    if written.is_err() {
        drop(std::fs::remove_file(&part));
    }
    written
}
