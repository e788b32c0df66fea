//! `iostall profile`: built-in profiles, and those of other tools.

use iostall_load::fio::FioFile;
use iostall_load::preset::{preset_text, presets};
use iostall_load::profile::profile_text;
use iostall_measure::foreign::shell_word;
use iostall_session::translate::{from_diskspd, from_fio};

use crate::cli::{PresetsArgs, ProfileArgs, ProfileCommand, TranslateArgs};
use crate::failure::{Status, hinted};
use crate::printer::Printer;

pub(crate) fn run(args: &ProfileArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        ProfileCommand::List => list(printer),
        ProfileCommand::Show(args) => show(&args.name, printer),
        ProfileCommand::Translate(args) => translate(args, printer),
    }
}

/// The older name.
pub(crate) fn presets_by_old_name(args: &PresetsArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.name {
        None => list(printer),
        Some(name) => show(name, printer),
    }
}

fn list(printer: &Printer) -> anyhow::Result<Status> {
    let width = presets().iter().map(|preset| preset.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for preset in presets() {
        text.push_str(&format!("{:width$}  {}\n", preset.name, preset.summary));
    }
    text.push_str(
        "\n`iostall load --preset NAME FILE` runs one, `iostall profile show NAME` prints it as TOML.\n",
    );
    printer.result(&text)?;
    Ok(Status::Done)
}

fn show(name: &str, printer: &Printer) -> anyhow::Result<Status> {
    let text =
        preset_text(name).map_err(|error| hinted(error, "`iostall profile list` lists what is built in"))?;
    printer.result(text)?;
    Ok(Status::Done)
}

fn translate(args: &TranslateArgs, printer: &Printer) -> anyhow::Result<Status> {
    let translated = match &args.fio {
        Some(jobs) => from_fio(jobs)?,
        None => from_diskspd(&args.diskspd)?,
    };
    translated.notes.iter().for_each(|note| printer.note(note));
    let files = files(&translated.files);
    printer.result(&format!("{files}{}", profile_text(&translated.profile)?))?;
    Ok(Status::Done)
}

/// A profile names no files: the command that does, as a comment.
fn files(files: &[FioFile]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let mut text =
        "# Its files are named where it runs, and made beforehand where they are not there:\n".to_owned();
    for file in files {
        let size = file.size.map_or_else(|| "as long as it is".to_owned(), |size| size.to_string());
        text.push_str(&format!("#   {} of {size}\n", file.path.display()));
    }
    let binding = |file: &FioFile| {
        format!(" --target {}", shell_word(&format!("{}={}", file.name, file.path.display())))
    };
    let targets: String = files.iter().map(binding).collect();
    format!("{text}#   iostall load --profile THIS{targets}\n\n")
}
