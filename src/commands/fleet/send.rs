//! `iostall fleet send`.

use std::io;
use std::sync::atomic::Ordering;

use anyhow::anyhow;
use iostall_measure::MonotonicClock;
use iostall_measure::foreign::shown;
use iostall_measure::number::counted;
use iostall_report::fleet::{FleetSent, SentSource};
use iostall_store::SqliteHistory;
use iostall_watch::centre::Centre;
use iostall_watch::{
    Destination as _, FollowEvent, SendEvent, WatchError, follow_history, put_confirmed, send_history,
};

use crate::cli::{FleetSendArgs, GlobalArgs};
use crate::collected::set_aside_unknown;
use crate::failure::{Status, hinted};
use crate::interrupt::stop_flag;
use crate::printer::Printer;
use crate::store::{open_watch, path};

/// What the URL of a repository begins with.
const DATABASE: [&str; 2] = ["postgres:", "postgresql:"];

pub(super) fn run(args: &FleetSendArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    if DATABASE.iter().any(|scheme| args.url.starts_with(scheme)) {
        return Err(hinted(
            anyhow!("nothing was sent: servers send to a centre, and not into the database of a repository"),
            "let `iostall fleet serve` run before the database, join it with `iostall fleet join`, and name its https://HOST:PORT; \
             or let the centre read this server's databases with `iostall fleet pull`",
        ));
    }
    let mut to = Centre::open(&path(global)?, &args.url).map_err(WatchError::from)?;
    let (mut store, is_full) = SqliteHistory::open_to_send(path(global)?)?;
    if is_full && args.follow {
        // It would see nothing of what comes.
        drop(store);
        store = open_watch(global)?;
    } else if !is_full {
        set_aside_unknown(&mut store, printer)?;
    }
    let stop = stop_flag(Some(printer))?;
    let mut sent = FleetSent::default();
    let mut outcome = Ok(());
    let mut show = |event: SendEvent<'_>| {
        let line = show(&event, args, &mut sent, printer);
        outcome = std::mem::replace(&mut outcome, Ok(())).and(line);
    };
    if args.follow {
        let clock = MonotonicClock::new();
        follow_history(&mut store, &mut to, args.every, &clock, &stop, &mut |event| match event {
            FollowEvent::Send(event) => show(event),
            FollowEvent::Cut(error) => {
                let text = format!("not sent, and tried again: {error}");
                match error.hint() {
                    Some(hint) => printer.advise(&text, &hint),
                    None => printer.note(&text),
                }
            }
            FollowEvent::Continues => printer.note("sending again"),
        })?;
        outcome?;
        // Interrupting is the normal way to end it.
        return Ok(Status::Done);
    }
    let confirmed = send_history(&store, &mut to, &stop, &mut show)?;
    if is_full {
        printer.advise(
            "warning: the disk of the store is full: what is there was sent, and the store cannot remember that",
            "free space on its file system, and send again: nothing is sent twice",
        );
    } else {
        put_confirmed(&mut store, to.remembered_as(), &confirmed)?;
    }
    outcome?;
    if args.json {
        printer.result(&(serde_json::to_string_pretty(&sent)? + "\n"))?;
    }
    Ok(if stop.load(Ordering::Relaxed) { Status::Interrupted } else { Status::Done })
}

/// Shows an event, or adds it to what is shown at the end.
fn show(
    event: &SendEvent<'_>,
    args: &FleetSendArgs,
    sent: &mut FleetSent,
    printer: &Printer,
) -> io::Result<()> {
    match event {
        SendEvent::Note(text) => printer.note(text),
        SendEvent::Runs(count) if args.json => sent.runs += count,
        SendEvent::Sheets(count) => sent.sheets += count,
        SendEvent::Runs(count) => return printer.result(&format!("{}\n", counted(*count as u64, "run"))),
        SendEvent::Sent { source, samples } if args.json => {
            sent.sources.push(SentSource::new(source.id.to_string(), &source.name, *samples));
        }
        SendEvent::Sent { samples: 0, .. } if args.follow => {}
        SendEvent::Sent { source, samples } => {
            let samples = counted(*samples as u64, "sample");
            return printer.result(&format!("{}: {samples}\n", shown(&source.name)));
        }
    }
    Ok(())
}
