//! Files that commands read whole.

use std::path::Path;

use iostall_engine::Input;
use iostall_measure::ByteCount;

use crate::failure::hinted;

/// The bytes of the file at `path`, which is a `what` and has `bytes_max` at most.
pub(crate) fn read(what: &'static str, bytes_max: u64, path: &Path) -> anyhow::Result<Vec<u8>> {
    let input = Input { what, limit: ByteCount(bytes_max) };
    input.read(path).map_err(|error| match error.hint() {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    })
}
