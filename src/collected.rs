//! Prints a collector's events on standard error.

use std::path::Path;
use std::time::Duration;

use iostall_measure::foreign::shown;
use iostall_model::Warning;
use iostall_notify::{Delivery, Message};
use iostall_report::collector::{push_line, run_lines};
use iostall_store::CollectorState;
use iostall_watch::{
    AlertEvent, CollectEvent, Missed, SetAside, Unconfirmed, WatchError, WriterEvent, set_aside,
};

use crate::printer::Printer;

pub(crate) fn show(event: CollectEvent<'_>, store: &Path, printer: &Printer) {
    match event {
        CollectEvent::AnswersAgain { source, at } => {
            printer.note(&format!("{source}: answers again at {at:.0}"));
        }
        CollectEvent::Missed { source, missed } => printer.advise(&gap_line(source, missed), &missed.hint),
        CollectEvent::SettingsLate { source, limit } => show_late(source, limit, printer),
        CollectEvent::Writer(event) => show_writer(event, store, printer),
        CollectEvent::Alert(AlertEvent::Notice(message @ Message::Alert(_))) => {
            printer.note(&format!("alert: {}", message.summary()));
        }
        // Runs of jobs are shown below, and a sign of life is for the other side.
        CollectEvent::Alert(AlertEvent::Notice(
            Message::Job(_) | Message::Heartbeat(_) | Message::LeftOut { .. },
        )) => {}
        CollectEvent::Job(run) => {
            for line in run_lines(run) {
                printer.note(&line);
            }
        }
        CollectEvent::Push(event) => printer.note(&push_line(event)),
        CollectEvent::Reloaded(path) => {
            printer.note(&format!("{} has changed and counts from now on", path.display()));
        }
        CollectEvent::Refused(error) => {
            let hint = error.hint().unwrap_or_default();
            printer.advise(
                &format!("the file has changed, and what was read before still counts: {error}"),
                &hint,
            );
        }
        CollectEvent::Alert(AlertEvent::Unmet(said)) => printer.note(&format!("warning: {said}")),
        CollectEvent::Alert(AlertEvent::Delivery(Delivery { channel, summary, result, .. })) => {
            if let Err(error) = result
                && !error.is_more_of_the_same()
            {
                printer.note(&format!("not sent through {channel}: {error} ({summary})"));
            }
        }
    }
}

pub(crate) fn show_late(source: &str, limit: Duration, printer: &Printer) {
    printer.advise(
        &format!(
            "warning: {}: its settings were not there within {limit:?}; they are left as they were",
            shown(source)
        ),
        "a file system of a server that is gone may be mounted there: `df` hangs at it, too",
    );
}

/// Sets aside what this iostall does not understand in `store`, and says so.
pub(crate) fn set_aside_unknown(
    store: &mut impl CollectorState,
    printer: &Printer,
) -> Result<(), WatchError> {
    for SetAside { name, kept_as } in set_aside(store)? {
        printer.advise(
            &format!("warning: what the store remembers as {name:?} is not understood, and what it is for begins anew"),
            &format!("a newer iostall wrote it, or it was damaged by hand; it is kept in the store as {kept_as:?}"),
        );
    }
    Ok(())
}

pub(crate) fn show_writer(event: WriterEvent<'_>, store: &Path, printer: &Printer) {
    match event {
        WriterEvent::Warning { source, at, warning: Warning { message, hint, .. } } => {
            let text = format!("warning: {} at {at:.0}: {message}", shown(source));
            match hint {
                Some(hint) => printer.advise(&text, hint),
                None => printer.note(&text),
            }
        }
        WriterEvent::Unwritable(error) => {
            printer.error(
                &anyhow::Error::new(error).context("samples are lost until the store can be written again"),
            );
        }
        WriterEvent::Unconfirmed(Unconfirmed { oldest, deleted_before }) => {
            let what = match deleted_before {
                None => "they are kept".to_owned(),
                Some(before) => format!("those before {before:.0} are deleted"),
            };
            printer.advise(
                &format!("warning: a centre has not confirmed samples since {oldest:.0}: {what}"),
                "`iostall fleet send` sends them; docs/fleet.md says how long they are kept",
            );
        }
        WriterEvent::WritableAgain => {
            printer.note(&format!("the store {} can be written again", store.display()));
        }
    }
}

fn gap_line(name: &str, missed: &Missed) -> String {
    let next = missed.retry.map(|retry| format!("; next try at {:.0}", retry.at)).unwrap_or_default();
    format!("{name}: no sample at {:.0}: {}{next}", missed.gap.at, missed.gap.reason)
}
