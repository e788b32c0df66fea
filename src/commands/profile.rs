//! `iostall presets`: the built-in profiles.

use iostall_load::fio::write_jobs;
use iostall_load::preset::{preset, preset_text, presets};

use crate::cli::PresetsArgs;
use crate::failure::{Status, hinted};
use crate::printer::Printer;

/// Lists the built-in profiles, or prints one as TOML to start from.
pub(crate) fn run(args: &PresetsArgs, printer: &Printer) -> anyhow::Result<Status> {
    if let Some(name) = args.name.as_ref().filter(|_| args.fio) {
        printer.result(&write_jobs(&preset(name)?)?)?;
        return Ok(Status::Done);
    }
    if let Some(name) = &args.name {
        let text =
            preset_text(name).map_err(|error| hinted(error, "`iostall presets` lists what is built in"))?;
        printer.result(text)?;
        return Ok(Status::Done);
    }
    let width = presets().iter().map(|preset| preset.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for preset in presets() {
        text.push_str(&format!("{:width$}  {}\n", preset.name, preset.summary));
    }
    text.push_str(
        "\n`iostall load --preset NAME FILE` runs one, `iostall presets NAME` prints it as TOML.\n",
    );
    printer.result(&text)?;
    Ok(Status::Done)
}
