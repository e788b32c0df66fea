//! `iostall completions`: completion rules for shells, and the answers that they ask the program for.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

use crate::cli::{Cli, CompletionsArgs};
use crate::failure::Status;
use crate::printer::Printer;

/// The variable by which the rules ask for completions.
const ASKING: &str = "IOSTALL_COMPLETE";

/// zsh reads the rules at the first key press, and they must answer that one too.
const AT_ONCE: &str = r#"if [ "$funcstack[1]" = "_iostall" ]; then
    _clap_dynamic_completer_iostall "$@"
fi
"#;

/// Answers a shell that asks what fits the line typed so far; `None` where nothing was asked.
pub(crate) fn answer() -> Option<ExitCode> {
    let here = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(Cli::command).var(ASKING);
    match asked.try_complete(std::env::args_os(), here.as_deref()) {
        Ok(false) => None,
        Ok(true) => Some(Status::Done.into()),
        Err(error) => error.exit(),
    }
}

pub(crate) fn run(args: &CompletionsArgs, printer: &Printer) -> anyhow::Result<Status> {
    let shells = Shells::builtins();
    let shell = shells.completer(&args.shell.to_string()).context("there are no rules for this shell")?;
    let mut rules = Vec::new();
    shell.write_registration(ASKING, "iostall", "iostall", "iostall", &mut rules)?;
    let mut rules = String::from_utf8(rules)?;
    if args.shell == Shell::Zsh {
        rules.push_str(AT_ONCE);
    }
    printer.result(&rules)?;
    Ok(Status::Done)
}
