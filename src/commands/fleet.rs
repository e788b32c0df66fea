//! `iostall fleet`.

mod members;
mod serve;

use std::sync::atomic::Ordering;

use iostall_measure::MonotonicClock;
use iostall_measure::foreign::shown;
use iostall_remote::centre::SCHEME;
use iostall_report::fleet::RepositoryEntry;
use iostall_store::Initialised;
use iostall_watch::centre::Centre;
use iostall_watch::{
    Destination, FollowEvent, SendEvent, WatchError, follow_history, initialise_repository, open_repository,
    put_confirmed, send_history,
};

use crate::cli::{FleetArgs, FleetCommand, FleetInitArgs, FleetSendArgs, GlobalArgs};
use crate::failure::Status;
use crate::interrupt::stop_flag;
use crate::printer::Printer;
use crate::store::{open_watch, path};

/// Works on a central repository.
pub(crate) fn run(args: &FleetArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        FleetCommand::Init(args) => init(args, printer),
        FleetCommand::Send(args) => send(args, global, printer),
        FleetCommand::Serve(args) => serve::run(args, printer),
        FleetCommand::Code(args) => members::code(args, printer),
        FleetCommand::Join(args) => members::join(args, global, printer),
        FleetCommand::Servers(args) => members::servers(args, printer),
        FleetCommand::Revoke(args) => members::revoke(args, printer),
    }
}

fn init(args: &FleetInitArgs, printer: &Printer) -> anyhow::Result<Status> {
    let repository = initialise_repository(&args.url, &Printer::ask_password)?;
    let (done, before) = match repository.done {
        Initialised::Created => ("created", None),
        Initialised::Upgraded { from } => ("upgraded", Some(from)),
        Initialised::UpToDate => ("up-to-date", Some(repository.schema_version)),
    };
    let entry = RepositoryEntry {
        repository: repository.name,
        id: repository.id.to_string(),
        done,
        schema_version_before: before,
        schema_version: repository.schema_version,
        postgres_version: repository.server_version,
    };
    let text = if args.json { serde_json::to_string_pretty(&entry)? + "\n" } else { entry.line() };
    printer.result(&text)?;
    Ok(Status::Done)
}

fn send(args: &FleetSendArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    if args.url.starts_with(SCHEME) {
        let mut centre = Centre::open(&path(global)?, &args.url).map_err(WatchError::from)?;
        send_to(&mut centre, args, global, printer)
    } else {
        send_to(&mut open_repository(&args.url, &Printer::ask_password)?, args, global, printer)
    }
}

fn send_to(
    to: &mut impl Destination,
    args: &FleetSendArgs,
    global: &GlobalArgs,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let mut store = open_watch(global)?;
    let stop = stop_flag(Some(printer))?;
    let mut outcome = Ok(());
    let mut show = |event: SendEvent<'_>| match event {
        SendEvent::Note(text) => printer.note(&text),
        SendEvent::Sent { samples: 0, .. } if args.follow => {}
        SendEvent::Sent { source, samples } => {
            let line = printer.result(&format!("{}: {samples} samples\n", shown(&source.name)));
            outcome = std::mem::replace(&mut outcome, Ok(())).and(line);
        }
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
    put_confirmed(&mut store, to, &confirmed)?;
    outcome?;
    Ok(if stop.load(Ordering::Relaxed) { Status::Interrupted } else { Status::Done })
}
