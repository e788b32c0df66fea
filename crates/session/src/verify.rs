//! Checks files against a list of checksums.

use iostall_model::{Run, RunBody, Warning, WarningCode};
use iostall_transfer::manifest::Manifest;
use iostall_transfer::rate::RateLimit;
use iostall_transfer::verify::verify_files;

use crate::error::SessionError;
use crate::event::Observer;
use crate::transfer::{Transfer, target};

/// What to verify.
pub struct VerifyRequest<'a> {
    pub list: &'a Manifest,
    pub shown: String,
    /// Maximum read rate, bytes a second.
    pub limit: Option<u64>,
}

/// Reads every file past the page cache and compares checksums.
pub fn verify(
    request: VerifyRequest<'_>,
    transfer: Transfer,
    observer: &dyn Observer,
) -> Result<Run, SessionError> {
    let VerifyRequest { list, shown, limit } = request;
    let rate = limit.map(RateLimit::new);
    let mut outcome =
        transfer.work(observer, |progress| verify_files(&list.files, rate.as_ref(), progress))?;
    outcome.manifest.clone_from(&shown);
    let warnings = list.is_partial.then(|| partial_list(&shown)).into_iter().collect();
    let targets = list.files.iter().take(1).filter_map(|file| target(&file.path)).collect();
    Ok(transfer.finish(shown, targets, warnings, RunBody::Verify(outcome)))
}

fn partial_list(shown: &str) -> Warning {
    let message =
        format!("{shown} is the list of an incomplete copy: files that are missing in it were not checked");
    Warning::new(WarningCode::PartialList, message)
        .hint("repeat the copy: it resumes, and writes the complete list")
}
