//! iostall: load-test, watch, move and judge the storage under database servers.

mod cli;
mod collected;
mod command_line;
mod commands;
mod events;
mod failure;
mod frame;
mod interrupt;
mod metrics;
mod output;
mod printer;
mod screen;
mod settings;
mod store;

use std::process::ExitCode;

use iostall_host::fail_at_size_limits;
use jiff::tz::TimeZone;

use crate::cli::Command;
use crate::commands::{
    alerts, backup, collect, compare, completions, copy, diskspd, drive, fleet, fsync, load, man, matrix,
    profile, reference, report, runs, store as store_command, sweep, top, verify, write,
};
use crate::failure::Status;
use crate::printer::Printer;

fn main() -> ExitCode {
    iostall_report::zone::show_times_in(TimeZone::system);
    if let Some(status) = completions::answer() {
        return status;
    }
    let cli = match command_line::parse() {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    let printer = Printer::new(cli.global.quiet, cli.global.color);
    if let Err(error) = fail_at_size_limits() {
        let context = "cannot catch the signal of a file that is too large";
        printer.error(&anyhow::Error::new(error).context(context));
        return Status::CouldNot.into();
    }
    let result = match &cli.command {
        Command::Collect(args) => collect::run(args, &cli.global, &printer),
        Command::Alerts(args) => alerts::run(args, &printer),
        Command::Load(args) => load::run(args, &cli.global, &printer),
        Command::Copy(args) => copy::run(args, &cli.global, &printer),
        Command::Top(args) => top::run(args, &cli.global, &printer),
        Command::Verify(args) => verify::run(args, &cli.global, &printer),
        Command::Backup(args) => backup::run(args, &cli.global, &printer),
        Command::Drive(args) => drive::run(args, &cli.global, &printer),
        Command::Write(args) => write::run(args, &cli.global, &printer),
        Command::Presets(args) => profile::presets_by_old_name(args, &printer),
        Command::Profile(args) => profile::run(args, &printer),
        Command::Report(args) => report::run(args, &cli.global, &printer),
        Command::Sweep(args) => sweep::run(args, &cli.global, &printer),
        Command::Fsync(args) => fsync::run(args, &cli.global, &printer),
        Command::Matrix(args) => matrix::run(args, &cli.global, &printer),
        Command::Compare(args) => compare::run(args, &cli.global, &printer),
        Command::Runs(args) => runs::run(args, &cli.global, &printer),
        Command::Diskspd(args) => return diskspd::run(args, &cli.global, &printer),
        Command::Completions(args) => completions::run(args, &printer),
        Command::Man(args) => man::run(args, &printer),
        Command::Reference => reference::run(&printer),
        Command::Fleet(args) => fleet::run(args, &cli.global, &printer),
        Command::Store(args) => store_command::run(args, &cli.global, &printer),
    };
    let status = result.unwrap_or_else(|error| {
        printer.error(&error);
        Status::CouldNot
    });
    status.into()
}
