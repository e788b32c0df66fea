//! `iostall backup rebuild`.

use iostall_measure::foreign::shown;
use iostall_session::backup::rebuild::{RebuildRequest, rebuild};

use super::keys::key_error;
use crate::cli::RebuildArgs;
use crate::failure::Status;
use crate::printer::Printer;

pub(super) fn run(args: &RebuildArgs, printer: &Printer) -> anyhow::Result<Status> {
    let unlock = args.unlock.unlock().map_err(key_error)?;
    let request = RebuildRequest { stripes: args.stripes.clone(), to: args.to.clone(), unlock };
    let rebuilt = rebuild(&request)?;
    for path in &rebuilt.paths {
        printer.result(&format!("{}\n", shown(&path.display().to_string())))?;
    }
    let (set, files) = (rebuilt.manifest.set, rebuilt.manifest.files.len());
    printer.note(&format!("the manifest of set {set} is there again, with {files} entries"));
    Ok(Status::Done)
}
