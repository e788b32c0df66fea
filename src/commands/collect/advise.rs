//! `iostall collect advise`: what named rules say of how sources are set.

use iostall_measure::clock::utc_now;
use iostall_report::advice::advice_text;
use iostall_watch::advise;

use crate::cli::{AdviseArgs, GlobalArgs};
use crate::failure::Status;
use crate::printer::Printer;
use crate::store::open_watch;

/// Prints what they say.
pub(super) fn run(args: &AdviseArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let mut all = advise(&open_watch(global)?, args.source.as_deref(), utc_now())?;
    for of in &mut all {
        of.rules.retain(|advice| args.rule.is_empty() || args.rule.iter().any(|id| id == advice.rule.id));
    }
    let text = if args.json { serde_json::to_string_pretty(&all)? + "\n" } else { advice_text(&all) };
    printer.result(&text)?;
    Ok(Status::Done)
}
