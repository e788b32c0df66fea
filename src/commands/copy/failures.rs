//! Reports files that could not be copied: as soon as it is known, in every output format, and in the exit
//! status.

use anyhow::anyhow;
use iostall_model::CopyOutcome;
use iostall_transfer::CopyError;
use iostall_transfer::copy::CopyFailure;

use crate::failure::{Status, hinted};
use crate::printer::Printer;

/// How many are listed on the terminal. The output formats list all.
const LISTED: usize = 20;

/// Prints what could not be copied, each hint only once.
pub(crate) fn show(failures: &[CopyFailure], printer: &Printer) {
    let mut last_hint = None;
    for CopyFailure { error, .. } in failures.iter().take(LISTED) {
        let hint = error.hint();
        let said = match hint.clone().filter(|_| hint != last_hint) {
            Some(hint) => hinted(anyhow!("{error}"), hint),
            None => anyhow!("{error}"),
        };
        printer.error(&said);
        last_hint = hint;
    }
    if failures.len() > LISTED {
        let more = failures.len() - LISTED;
        let error = anyhow!("{more} more cannot be copied");
        printer.error(&hinted(error, "`--json FILE` lists all of them"));
    }
}

/// 0 if everything is copied and correct, 1 if only a part is, 2 if nothing is.
pub(super) fn status(outcome: &CopyOutcome, ended: Option<&CopyError>) -> Status {
    let is_complete = ended.is_none() && outcome.not_copied.is_empty() && outcome.mismatches.is_empty();
    match ended {
        Some(error) if error.is_cancelled() => Status::Interrupted,
        _ if is_complete => Status::Done,
        _ if outcome.has_copied_something() || !outcome.mismatches.is_empty() => Status::No,
        _ => Status::CouldNot,
    }
}
