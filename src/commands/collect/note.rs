//! `iostall collect note`, `notes`, `settings` and `advise`: what was done at a time, how sources are set, and what rules say of it.

use anyhow::anyhow;
use iostall_measure::clock::utc_now;
use iostall_model::Note;
use iostall_report::notes::NoteEntry;
use iostall_report::zone::timestamp as shown_time;
use iostall_store::{CollectorState as _, StoredNote};
use iostall_watch::{SourceChoice, add_note};

use crate::cli::timestamp::timestamp;
use crate::cli::{AdviseArgs, GlobalArgs, NoteArgs, NotesArgs, SettingsArgs};
use crate::failure::{Status, hinted};
use crate::printer::Printer;
use crate::settings::{notes_window, show_advice, show_notes, show_settings};
use crate::store::open_watch;

pub(super) fn run(args: &NoteArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let now = utc_now();
    let at = args.at.as_ref().map_or(Ok(now), |text| timestamp("--at", text, now))?;
    let end = args.end.as_ref().map(|text| timestamp("--end", text, now)).transpose()?;
    let note = Note { at, end, kind: args.kind.into(), text: args.text.clone() };
    add_note(&mut open_watch(global)?, args.source.as_deref(), &note)?;
    printer.note(&format!("noted at {}", shown_time(at)));
    Ok(Status::Done)
}

pub(super) fn list(args: &NotesArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let mut store = open_watch(global)?;
    for number in &args.remove {
        if !store.remove_note(*number)? {
            return Err(hinted(anyhow!("there is no note {number}"), "`iostall collect notes` lists them"));
        }
        printer.note(&format!("removed note {number}"));
    }
    if !args.remove.is_empty() {
        return Ok(Status::Done);
    }
    let choice = &args.choice;
    let (from, to) = notes_window(choice)?;
    let found = store.all_notes(from, to)?.into_iter();
    let entry =
        |StoredNote { number, source, note }| NoteEntry { number: Some(number), server: None, source, note };
    show_notes(found.map(entry).collect(), choice, printer)
}

pub(super) fn settings(
    args: &SettingsArgs,
    global: &GlobalArgs,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let sources = SourceChoice::of_store(args.choice.source.as_deref());
    show_settings(&open_watch(global)?, &sources, &args.choice, printer)
}

pub(super) fn advise(args: &AdviseArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let sources = SourceChoice::of_store(args.choice.source.as_deref());
    show_advice(&open_watch(global)?, &sources, &args.choice, printer)
}
