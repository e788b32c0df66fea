//! `iostall fleet send`.

use std::io;
use std::sync::atomic::Ordering;

use iostall_measure::MonotonicClock;
use iostall_measure::foreign::shown;
use iostall_measure::number::counted;
use iostall_remote::centre::SCHEME;
use iostall_report::fleet_sent::{FleetSent, SentSource};
use iostall_watch::centre::Centre;
use iostall_watch::{
    Destination, FollowEvent, SendEvent, WatchError, follow_history, introduce, open_repository,
    put_confirmed, send_history,
};

use crate::cli::{FleetSendArgs, GlobalArgs};
use crate::failure::{Status, hinted};
use crate::interrupt::stop_flag;
use crate::printer::Printer;
use crate::store::{open_watch, path};

/// Sends the history of this store.
pub(super) fn run(args: &FleetSendArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    if args.url.starts_with(SCHEME) {
        let mut centre = Centre::open(&path(global)?, &args.url).map_err(WatchError::from)?;
        return send_to(&mut centre, args, global, printer);
    }
    let mut repository = open_repository(&args.url, &Printer::ask_password)?;
    if let Some(clone) = introduce(&open_watch(global)?, &mut repository, env!("CARGO_PKG_VERSION"))? {
        let (other, at) = (shown(&clone.other), clone.last_seen);
        printer.warning(&hinted(
            anyhow::anyhow!("another machine, {other}, has sent as this server at {at:.0}: its store is a copy of this one"),
            "let only one of them send: on the other, `iostall store remove` its sources, and sample them again",
        ));
    }
    send_to(&mut repository, args, global, printer)
}

fn send_to(
    to: &mut impl Destination,
    args: &FleetSendArgs,
    global: &GlobalArgs,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let mut store = open_watch(global)?;
    let stop = stop_flag(Some(printer))?;
    let mut sent = FleetSent::default();
    let mut outcome = Ok(());
    let mut show = |event: SendEvent<'_>| {
        let line = show(&event, args, &mut sent, printer);
        outcome = std::mem::replace(&mut outcome, Ok(())).and(line);
    };
    if args.follow {
        let clock = MonotonicClock::new();
        follow_history(&mut store, to, args.every, &clock, &stop, &mut |event| match event {
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
    let confirmed = send_history(&store, to, &stop, &mut show)?;
    put_confirmed(&mut store, to.remembered_as(), &confirmed)?;
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
