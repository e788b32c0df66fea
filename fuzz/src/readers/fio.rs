//! fio's job files.

use iostall_load::fio::{read_jobs, write_jobs};

/// A job file: a refusal says why, and what is accepted can be written as TOML or as a job file, or is refused by name.
pub(crate) fn jobs(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match read_jobs("input", text) {
        Ok(read) => {
            assert!(!read.profile.spans.is_empty(), "nothing to do");
            if let Err(error) = write_jobs(&read.profile) {
                assert!(!error.setting.is_empty());
            }
        }
        Err(error) => assert!(!error.to_string().is_empty(), "refused without a word"),
    }
}
