//! `iostall profile`: built-in profiles, and those of other tools.

use iostall_load::fio::write_jobs;
use iostall_load::preset::{preset, preset_text, presets};
use iostall_load::profile::profile_text;
use iostall_session::translate::{from_diskspd, from_fio};

use crate::cli::{PresetsArgs, ProfileArgs, ProfileCommand, TranslateArgs};
use crate::failure::{Status, hinted};
use crate::printer::Printer;

pub(crate) fn run(args: &ProfileArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        ProfileCommand::List => list(printer),
        ProfileCommand::Show(args) => show(&args.name, args.fio, printer),
        ProfileCommand::Translate(args) => translate(args, printer),
    }
}

/// The older name.
pub(crate) fn presets_by_old_name(args: &PresetsArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.name {
        None => list(printer),
        Some(name) => show(name, args.fio, printer),
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

fn show(name: &str, as_jobs: bool, printer: &Printer) -> anyhow::Result<Status> {
    let advised = |error| hinted(error, "`iostall profile list` lists what is built in");
    if as_jobs {
        printer.result(&write_jobs(&preset(name).map_err(advised)?)?)?;
    } else {
        printer.result(preset_text(name).map_err(advised)?)?;
    }
    Ok(Status::Done)
}

fn translate(args: &TranslateArgs, printer: &Printer) -> anyhow::Result<Status> {
    let translated = match &args.fio {
        Some(jobs) => from_fio(jobs)?,
        None => from_diskspd(&args.diskspd)?,
    };
    translated.notes.iter().for_each(|note| printer.note(note));
    printer.result(&profile_text(&translated.profile)?)?;
    Ok(Status::Done)
}
