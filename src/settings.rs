//! Prints settings, what rules say of them, and notes: of a store, or of all servers of a repository.

use iostall_measure::clock::utc_now;
use iostall_model::{NoteKind, SettingChange, SettingVersion};
use iostall_report::advice::advice_text;
use iostall_report::notes::{NoteEntry, note_list};
use iostall_report::settings::{changes_list, settings_list};
use iostall_store::History;
use iostall_watch::{
    SourceChanges, SourceChoice, SourceSettings, advise, setting_changes, setting_difference, settings_at,
};
use jiff::Timestamp;
use serde::Serialize;

use crate::cli::timestamp::{timestamp, window};
use crate::cli::{AdviseChoice, NotesChoice, SettingsChoice};
use crate::failure::Status;
use crate::printer::Printer;

pub(crate) fn show_settings(
    history: &impl History,
    sources: &SourceChoice<'_>,
    args: &SettingsChoice,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let now = utc_now();
    let time = |flag: &str, text: &Option<String>, otherwise| match text {
        Some(text) => timestamp(flag, text, now),
        None => Ok(otherwise),
    };
    let is_narrowed = args.name.is_some() || args.value.is_some();
    let is_named = |subject: &str, name: &str| {
        args.name.as_ref().is_none_or(|part| subject.contains(part) || name.contains(part))
    };
    let is_value = |value: &str| args.value.as_ref().is_none_or(|wanted| wanted == value);
    let mut changes: Vec<SourceChanges> = if let Some(text) = &args.diff {
        setting_difference(history, sources, window("--diff", text, now)?)?
    } else if args.changes {
        let from = time("--since", &args.since, Timestamp::MIN)?;
        setting_changes(history, sources, (from, time("--until", &args.until, Timestamp::MAX)?))?
    } else {
        let mut all: Vec<SourceSettings> = settings_at(history, sources, time("--at", &args.at, now)?)?;
        for of in &mut all {
            of.settings.retain(|SettingVersion { setting, .. }| {
                is_named(&setting.subject, &setting.name) && is_value(&setting.value)
            });
        }
        all.retain(|of| !is_narrowed || !of.settings.is_empty());
        return print(&all, settings_list, args.json, printer);
    };
    for of in &mut changes {
        of.changes.retain(|SettingChange { subject, name, before, after, .. }| {
            is_named(subject, name) && [before, after].into_iter().flatten().any(|value| is_value(value))
        });
    }
    changes.retain(|of| !is_narrowed || !of.changes.is_empty());
    print(&changes, changes_list, args.json, printer)
}

fn print<T: Serialize>(
    all: &[T],
    text: fn(&[T]) -> String,
    json: bool,
    printer: &Printer,
) -> anyhow::Result<Status> {
    if all.is_empty() && !json {
        printer.note("no such setting");
    }
    let text = if json { serde_json::to_string_pretty(all)? + "\n" } else { text(all) };
    printer.result(&text)?;
    Ok(Status::Done)
}

pub(crate) fn show_advice(
    history: &impl History,
    sources: &SourceChoice<'_>,
    args: &AdviseChoice,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let mut all = advise(history, sources, utc_now())?;
    for of in &mut all {
        of.rules.retain(|advice| args.rule.is_empty() || args.rule.iter().any(|id| id == advice.rule.id));
    }
    let text = if args.json { serde_json::to_string_pretty(&all)? + "\n" } else { advice_text(&all) };
    printer.result(&text)?;
    Ok(Status::Done)
}

pub(crate) fn notes_window(choice: &NotesChoice) -> anyhow::Result<(Timestamp, Timestamp)> {
    let now = utc_now();
    let time = |flag: &str, text: &Option<String>, otherwise| match text {
        Some(text) => timestamp(flag, text, now),
        None => Ok(otherwise),
    };
    Ok((time("--since", &choice.since, Timestamp::MIN)?, time("--until", &choice.until, Timestamp::MAX)?))
}

pub(crate) fn show_notes(
    mut notes: Vec<NoteEntry>,
    choice: &NotesChoice,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let kind = choice.kind.map(NoteKind::from);
    notes.retain(|entry| {
        let about = entry.source.as_ref().zip(choice.source.as_ref());
        kind.is_none_or(|kind| entry.note.kind == kind)
            && about.is_none_or(|(name, part)| name.contains(part))
    });
    let text = if choice.json { serde_json::to_string_pretty(&notes)? + "\n" } else { note_list(&notes) };
    printer.result(&text)?;
    Ok(Status::Done)
}
