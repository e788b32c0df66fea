//! `iostall fleet settings`, `iostall fleet notes` and `iostall fleet advise`.

use iostall_report::notes::NoteEntry;
use iostall_store::{FleetNote, FleetNoteFilter, PostgresHistory, StoreError};
use iostall_watch::{SourceChoice, open_repository};

use crate::cli::{FleetAdviseArgs, FleetNotesArgs, FleetServerChoice, FleetSettingsArgs};
use crate::failure::Status;
use crate::printer::Printer;
use crate::settings::{notes_window, show_advice, show_notes, show_settings};

pub(super) fn settings(args: &FleetSettingsArgs, printer: &Printer) -> anyhow::Result<Status> {
    with_sources(&args.of, args.choice.source.as_deref(), |repository, sources| {
        show_settings(repository, sources, &args.choice, printer)
    })
}

pub(super) fn advice(args: &FleetAdviseArgs, printer: &Printer) -> anyhow::Result<Status> {
    with_sources(&args.of, args.choice.source.as_deref(), |repository, sources| {
        show_advice(repository, sources, &args.choice, printer)
    })
}

pub(super) fn notes(args: &FleetNotesArgs, printer: &Printer) -> anyhow::Result<Status> {
    let (from, to) = notes_window(&args.choice)?;
    let repository = open_repository(&args.of.url, &Printer::ask_password)?;
    let filter = FleetNoteFilter { server: args.of.server.clone(), from, to };
    let found = repository.fleet_notes(&filter).map_err(StoreError::from)?;
    let entry =
        |FleetNote { server, source, note }| NoteEntry { number: None, server: Some(server), source, note };
    show_notes(found.into_iter().map(entry).collect(), &args.choice, printer)
}

fn with_sources(
    of: &FleetServerChoice,
    part: Option<&str>,
    show: impl FnOnce(&PostgresHistory, &SourceChoice<'_>) -> anyhow::Result<Status>,
) -> anyhow::Result<Status> {
    let repository = open_repository(&of.url, &Printer::ask_password)?;
    let names = repository.server_names().map_err(StoreError::from)?;
    show(&repository, &SourceChoice { part, names: Some(&names), server: of.server.as_deref() })
}
