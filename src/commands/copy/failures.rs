//! What could not be copied: told as soon as it is known, listed in every form of the run, and in the exit status.

use anyhow::anyhow;
use iostall_model::CopyOutcome;
use iostall_transfer::CopyError;
use iostall_transfer::copy::CopyFailure;

use crate::failure::{Status, hinted};
use crate::printer::Printer;

/// So many are told one by one on the terminal. The forms of the run list all.
const LISTED: usize = 20;

/// Says what could not be copied, a hint only once.
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

/// 0 where all is there and as it should be, 1 where a part is, 2 where nothing is.
pub(super) fn status(outcome: &CopyOutcome, ended: Option<&CopyError>) -> Status {
    let is_complete = ended.is_none() && outcome.not_copied.is_empty() && outcome.mismatches.is_empty();
    match ended {
        Some(error) if error.is_cancelled() => Status::Interrupted,
        _ if is_complete => Status::Done,
        _ if outcome.has_brought_something() || !outcome.mismatches.is_empty() => Status::No,
        _ => Status::CouldNot,
    }
}
