//! `iostall store`.

use iostall_store::History;

use crate::cli::{GlobalArgs, StoreArgs, StoreCommand};
use crate::failure::Status;
use crate::printer::Printer;
use crate::store::{open_watch, with_hint};

/// Looks after the history.
pub(crate) fn run(args: &StoreArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match args.command {
        StoreCommand::Rebuild => {
            let mut store = open_watch(global)?;
            for watched in store.sources().map_err(with_hint)? {
                let source = watched.source;
                store.rebuild(source.id).map_err(with_hint)?;
                printer.note(&format!("made the roll-ups of {} anew", source.name));
            }
        }
    }
    Ok(Status::Done)
}
