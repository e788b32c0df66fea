//! Keys that cannot be had.

use iostall_transfer::backup::codec::KeyError;

use crate::failure::hinted;

pub(super) fn key_error(error: KeyError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}
