//! `iostall collect settings` and `iostall collect advise`: how sources are set, what changed, and what rules say of it.

use iostall_watch::SourceChoice;

use crate::cli::{AdviseArgs, GlobalArgs, SettingsArgs};
use crate::failure::Status;
use crate::printer::Printer;
use crate::settings::{show_advice, show_settings};
use crate::store::open_watch;

pub(super) fn run(args: &SettingsArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let sources = SourceChoice::of_store(args.choice.source.as_deref());
    show_settings(&open_watch(global)?, &sources, &args.choice, printer)
}

pub(super) fn advise(args: &AdviseArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let sources = SourceChoice::of_store(args.choice.source.as_deref());
    show_advice(&open_watch(global)?, &sources, &args.choice, printer)
}
