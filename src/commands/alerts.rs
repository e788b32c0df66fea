//! `iostall alerts`: checks a file of alerts, and tests its channels.

use std::path::Path;

use iostall_measure::clock::utc_now;
use iostall_measure::foreign::shown;
use iostall_notify::AlertFile;
use iostall_report::alerts::{listing, never_fire};
use iostall_watch::test_channels;

use crate::cli::{AlertsArgs, AlertsCommand, AlertsTestArgs};
use crate::failure::{Status, hinted};
use crate::printer::Printer;

pub(crate) fn run(args: &AlertsArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        AlertsCommand::Check(check) => {
            let file = read(&check.file)?;
            let never = file.book.rules_that_never_fire();
            printer.result(&(listing(&file, &[]) + &never_fire(&never)))?;
            Ok(if never.is_empty() { Status::Done } else { Status::No })
        }
        AlertsCommand::Test(test) => try_channels(test, printer),
    }
}

fn read(path: &Path) -> anyhow::Result<AlertFile> {
    AlertFile::read(path).map_err(|error| hinted(error, "docs/alerts.md explains the file"))
}

fn try_channels(args: &AlertsTestArgs, printer: &Printer) -> anyhow::Result<Status> {
    let file = read(&args.file)?;
    let mut outcome = Ok(());
    let all_arrived = test_channels(&file, args.rule.as_deref(), utc_now(), &mut |channel, result| {
        let (name, transport) = (shown(&channel.name), shown(&channel.transport.describe()));
        let line = match result {
            Ok(()) => format!("delivered  {name}: {transport}\n"),
            Err(error) => format!("FAILED     {name}: {transport}: {}\n", shown(&error.to_string())),
        };
        outcome = std::mem::replace(&mut outcome, Ok(())).and(printer.result(&line));
    })?;
    outcome?;
    Ok(if all_arrived { Status::Done } else { Status::No })
}
