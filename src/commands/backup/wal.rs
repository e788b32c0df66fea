//! `iostall backup wal`.

use std::panic::catch_unwind;

use iostall_report::backups::{wal_json, wal_sections};
use iostall_report::forms::write_figures;
use iostall_session::SessionError;
use iostall_session::backup::database::postgres_of;
use iostall_session::backup::wal::{
    Fetched, Received, archive as archive_file, drop_slot, fetch as fetch_file, list as listing,
    receive as receive_log,
};

use super::known::{key_error, known};
use crate::cli::{
    GlobalArgs, WalArchiveArgs, WalArgs, WalCommand, WalFetchArgs, WalListArgs, WalReceiveArgs,
};
use crate::failure::Status;
use crate::interrupt::stop_flag;
use crate::output::{text_of_sections, to_stdout};
use crate::printer::Printer;

pub(super) fn run(args: &WalArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        WalCommand::Archive(args) => archive(args),
        WalCommand::Fetch(args) => Ok(fetch(args, printer)),
        WalCommand::List(args) => list(args, global, printer),
        WalCommand::Receive(args) => receive(args, printer),
    }
}

/// The server's log is where its messages go: a segment that was archived is none.
fn archive(args: &WalArchiveArgs) -> anyhow::Result<Status> {
    archive_file(&args.request()).map_err(SessionError::from)?;
    Ok(Status::Done)
}

/// PostgreSQL takes every small status for the end of the log. What is not that must not look like it, a panic included.
fn fetch(args: &WalFetchArgs, printer: &Printer) -> Status {
    let request = args.request();
    match catch_unwind(|| fetch_file(&request)) {
        Ok(Ok(Fetched::There)) => Status::Done,
        Ok(Ok(Fetched::NotArchived)) => Status::No,
        Ok(Err(error)) => {
            printer.error(&SessionError::from(error).into());
            Status::StopRecovery
        }
        Err(_) => Status::StopRecovery,
    }
}

/// Lists; exit status 1 where a recovery would not get to the end of the archive.
fn list(args: &WalListArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let request = args.request(args.unlock.unlock().map_err(key_error)?);
    let listing = listing(&request, &known(global, printer))?;
    if args.json {
        to_stdout(printer, &|out| write_figures(&wal_json(&listing), out))?;
    } else {
        printer.result(&text_of_sections("backup wal list", &wal_sections(&listing), printer))?;
    }
    Ok(if listing.is_good() { Status::Done } else { Status::No })
}

/// Receives until it is interrupted, which is how it ends.
fn receive(args: &WalReceiveArgs, printer: &Printer) -> anyhow::Result<Status> {
    let (address, password) =
        postgres_of(&args.server, &Printer::ask_password).map_err(SessionError::from)?;
    let request = args.request(address, password);
    if args.drop_slot {
        drop_slot(&request).map_err(SessionError::from)?;
        return Ok(Status::Done);
    }
    let stop = stop_flag(Some(printer))?;
    let received = receive_log(&request, &stop, &|event| printer.note(&event.to_string()));
    let Received { flushed, timeline, segments } = received.map_err(SessionError::from)?;
    printer.note(&format!("durable up to {flushed} of timeline {timeline}; {segments} segments became full"));
    Ok(Status::Done)
}
