//! What the store knows of backups, and why a key is none.

use iostall_session::backup::known::KnownSets;
use iostall_transfer::backup::codec::KeyError;

use crate::cli::GlobalArgs;
use crate::failure::hinted;
use crate::printer::Printer;
use crate::store;

/// Nothing where there is no store, or where it cannot be read, which is a warning.
pub(super) fn known(global: &GlobalArgs, printer: &Printer) -> KnownSets {
    let read = || -> anyhow::Result<KnownSets> {
        let is_there = store::path(global)?.exists();
        Ok(if is_there { KnownSets::read(&store::open(global)?)? } else { KnownSets::default() })
    };
    read().unwrap_or_else(|error| {
        printer.warning(&error.context("what the store knows of backups is not used"));
        KnownSets::default()
    })
}

pub(super) fn key_error(error: KeyError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}
