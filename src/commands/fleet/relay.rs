//! `iostall fleet join` through a relay, and `iostall fleet receive`.

use std::io;

use iostall_measure::MonotonicClock;
use iostall_measure::foreign::shown;
use iostall_measure::number::counted;
use iostall_report::fleet_received::{FleetReceived, ReceivedServer, RefusedServer};
use iostall_store::{History as _, SqliteHistory};
use iostall_watch::relay::{
    JoinRelay, ReceiveEvent, RelayError, RelayPlace, join_relay, receive as receive_from, receive_as_it_comes,
};
use iostall_watch::{WatchError, open_repository};

use crate::cli::{FleetJoinArgs, FleetReceiveArgs, GlobalArgs};
use crate::failure::Status;
use crate::interrupt::stop_flag;
use crate::printer::Printer;
use crate::store::path;

/// Asks to join through a relay.
pub(super) fn join(
    args: &FleetJoinArgs,
    global: &GlobalArgs,
    store: &mut SqliteHistory,
    printer: &Printer,
) -> anyhow::Result<Status> {
    if args.certificate.is_some() {
        return Err(WatchError::from(RelayError::NoCertificate { address: args.url.clone() }).into());
    }
    let (store_path, id) = (path(global)?, store.id());
    let request = JoinRelay { store: &store_path, id, address: &args.url, code_file: &args.code_file };
    join_relay(&request, store)?;
    let address = shown(&args.url);
    printer.result(&format!(
        "asked to join through {address}: `iostall fleet receive` at the centre answers\n"
    ))?;
    Ok(Status::Done)
}

/// Takes what is in a relay.
pub(super) fn receive(args: &FleetReceiveArgs, printer: &Printer) -> anyhow::Result<Status> {
    let from = RelayPlace::parse(&args.from).map_err(WatchError::from)?;
    let mut repository = open_repository(&args.url, &Printer::ask_password)?;
    let stop = stop_flag(Some(printer))?;
    let mut received = FleetReceived::default();
    let mut outcome = Ok(());
    let mut show = |event: ReceiveEvent| {
        let line = show(event, args, &mut received, printer);
        outcome = std::mem::replace(&mut outcome, Ok(())).and(line);
    };
    if args.follow {
        let clock = MonotonicClock::new();
        receive_as_it_comes(&mut repository, &from, args.every, &clock, &stop, &mut show)?;
    } else {
        receive_from(&mut repository, &from, &mut show)?;
    }
    outcome?;
    if args.json {
        printer.result(&(serde_json::to_string_pretty(&received)? + "\n"))?;
    }
    // Interrupting is the normal way to end --follow.
    Ok(Status::Done)
}

/// Shows an event, or adds it to what is shown at the end.
fn show(
    event: ReceiveEvent,
    args: &FleetReceiveArgs,
    received: &mut FleetReceived,
    printer: &Printer,
) -> io::Result<()> {
    match event {
        ReceiveEvent::Joined { name } if args.json => received.joined.push(name),
        ReceiveEvent::Joined { name } => return printer.result(&format!("{} has joined\n", shown(&name))),
        ReceiveEvent::Received { name, files } if args.json => {
            received.servers.push(ReceivedServer { name, files });
        }
        ReceiveEvent::Received { name, files } => {
            return printer.result(&format!("{}: {}\n", shown(&name), counted(files as u64, "file")));
        }
        ReceiveEvent::Refused { server, reason } => {
            printer.note(&format!("refused {}: {}", shown(&server), shown(&reason)));
            received.refused.push(RefusedServer { server, reason });
        }
        ReceiveEvent::Cut { reason, hint } => {
            let text = format!("nothing is taken now, and it is tried again: {reason}");
            hint.map_or_else(|| printer.note(&text), |hint| printer.advise(&text, &hint));
        }
        ReceiveEvent::Continues => printer.note("taking files again"),
    }
    Ok(())
}
