//! fio's job files.

use iostall_load::fio::read_jobs;

/// A job file: a refusal says why, and what is accepted has something to do.
pub(crate) fn jobs(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match read_jobs("input", text, &|_| None) {
        Ok(read) => assert!(read.profile.spans.iter().all(|span| !span.roles.is_empty()), "nothing to do"),
        Err(error) => assert!(!error.to_string().is_empty(), "refused without a word"),
    }
}
