//! Files that a use case reads whole.

use std::path::Path;

use iostall_engine::Input;
use iostall_measure::ByteCount;

use crate::error::SessionError;

pub fn read_whole(what: &'static str, bytes_max: u64, path: &Path) -> Result<Vec<u8>, SessionError> {
    Ok(Input { what, limit: ByteCount(bytes_max) }.read(path)?)
}

/// The path of an input that a user named: `-` is standard input.
pub fn input_path(named: &Path) -> &Path {
    if named == Path::new("-") { Path::new("/dev/stdin") } else { named }
}
