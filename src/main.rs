//! iostall: load-test, watch, move and judge the storage under database servers.

mod cli;
mod commands;
mod failure;
mod interrupt;
mod measuring;
mod output;
mod printer;
mod store;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::commands::{compare, load, matrix, presets, runs, sweep};
use crate::failure::Status;
use crate::printer::Printer;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let printer = Printer::new(cli.global.quiet, cli.global.color);
    let result = match &cli.command {
        Command::Load(args) => load::run(args, &cli.global, &printer),
        Command::Presets(args) => presets::run(args, &printer),
        Command::Sweep(args) => sweep::run(args, &cli.global, &printer),
        Command::Matrix(args) => matrix::run(args, &cli.global, &printer),
        Command::Compare(args) => compare::run(args, &cli.global, &printer),
        Command::Runs(args) => runs::run(args, &cli.global, &printer),
    };
    let status = result.unwrap_or_else(|error| {
        printer.error(&error);
        Status::CouldNot
    });
    status.into()
}
