//! `iostall collect note`: what was done at a time.

use iostall_measure::clock::utc_now;
use iostall_model::Note;
use iostall_report::zone::timestamp as shown_time;
use iostall_watch::add_note;

use crate::cli::timestamp::timestamp;
use crate::cli::{GlobalArgs, NoteArgs};
use crate::failure::Status;
use crate::printer::Printer;
use crate::store::open_watch;

/// Stores the note.
pub(super) fn run(args: &NoteArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let at = match &args.at {
        Some(text) => timestamp("--at", text, utc_now())?,
        None => utc_now(),
    };
    let note = Note { at, text: args.text.clone() };
    add_note(&mut open_watch(global)?, args.source.as_deref(), &note)?;
    printer.note(&format!("noted at {}", shown_time(at)));
    Ok(Status::Done)
}
