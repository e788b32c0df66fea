//! `iostall fleet join` through a relay, and `iostall fleet receive`.

use iostall_measure::foreign::shown;
use iostall_measure::number::counted;
use iostall_store::{History as _, SqliteHistory};
use iostall_watch::relay::{
    JoinRelay, ReceiveEvent, RelayError, RelayPlace, join_relay, receive as receive_from,
};
use iostall_watch::{WatchError, open_repository};

use crate::cli::{FleetJoinArgs, FleetReceiveArgs, GlobalArgs};
use crate::failure::Status;
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
    let mut outcome = Ok(());
    receive_from(&mut repository, &from, &mut |event| {
        let line = match event {
            ReceiveEvent::Joined { name } => format!("{} has joined\n", shown(&name)),
            ReceiveEvent::Received { name, files } => {
                format!("{}: {}\n", shown(&name), counted(files as u64, "file"))
            }
            ReceiveEvent::Refused { server, reason } => {
                return printer.note(&format!("refused {}: {}", shown(&server), shown(&reason)));
            }
        };
        let line = printer.result(&line);
        outcome = std::mem::replace(&mut outcome, Ok(())).and(line);
    })?;
    outcome?;
    Ok(Status::Done)
}
