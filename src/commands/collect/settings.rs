//! `iostall collect settings`: how sources are set, and what changed.

use iostall_measure::clock::utc_now;
use iostall_model::SettingChange;
use iostall_report::settings::{changes_list, settings_list};
use iostall_watch::{SourceChanges, setting_changes, setting_difference, settings_at};
use jiff::Timestamp;
use serde::Serialize;

use crate::cli::timestamp::{timestamp, window};
use crate::cli::{GlobalArgs, SettingsArgs};
use crate::failure::Status;
use crate::printer::Printer;
use crate::store::open_watch;

/// Prints them, or the changes.
pub(super) fn run(args: &SettingsArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let (store, now, source) = (open_watch(global)?, utc_now(), args.source.as_deref());
    let time = |flag: &str, text: &Option<String>, otherwise| match text {
        Some(text) => timestamp(flag, text, now),
        None => Ok(otherwise),
    };
    let is_named = |subject: &str, name: &str| {
        args.name.as_ref().is_none_or(|part| subject.contains(part) || name.contains(part))
    };
    let mut changes: Vec<SourceChanges> = if let Some(text) = &args.diff {
        setting_difference(&store, source, window("--diff", text, now)?)?
    } else if args.changes {
        let from = time("--since", &args.since, Timestamp::MIN)?;
        setting_changes(&store, source, (from, time("--until", &args.until, Timestamp::MAX)?))?
    } else {
        let mut all = settings_at(&store, source, time("--at", &args.at, now)?)?;
        for of in &mut all {
            of.settings.retain(|version| is_named(&version.setting.subject, &version.setting.name));
        }
        return print(&all, settings_list, args.json, printer);
    };
    for of in &mut changes {
        of.changes.retain(|SettingChange { subject, name, .. }| is_named(subject, name));
    }
    print(&changes, changes_list, args.json, printer)
}

fn print<T: Serialize>(
    all: &[T],
    text: fn(&[T]) -> String,
    json: bool,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let text = if json { serde_json::to_string_pretty(all)? + "\n" } else { text(all) };
    printer.result(&text)?;
    Ok(Status::Done)
}
