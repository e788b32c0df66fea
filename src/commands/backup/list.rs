//! `iostall backup list` and `prune`.

use iostall_measure::clock::utc_now;
use iostall_model::backup_entry::{BackupState, PruneAction};
use iostall_model::retention::Proof;
use iostall_report::backups::{list_json, list_sections, prune_json, prune_sections};
use iostall_report::forms::write_figures;
use iostall_session::backup::catalog::catalog;
use iostall_session::backup::prune::{PruneRequest, prune as prune_sets};
use jiff::tz::TimeZone;

use super::known::{key_error, known};
use crate::cli::{BackupListArgs, GlobalArgs, PruneArgs};
use crate::failure::{Status, hinted};
use crate::output::{text_of_sections, to_stdout};
use crate::printer::Printer;

/// Lists; exit status 1 where one of them is damaged.
pub(super) fn list(args: &BackupListArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let known = known(global, printer);
    let entries = if args.directories.is_empty() {
        known.entries()
    } else {
        let found = catalog(&args.directories, args.unlock.unlock().map_err(key_error)?.as_ref(), &known)?;
        found.into_iter().map(|one| one.entry).collect()
    };
    if args.json {
        to_stdout(printer, &|out| write_figures(&list_json(&entries), out))?;
    } else if entries.is_empty() && args.directories.is_empty() {
        printer
            .note("the store knows of no backup; `iostall backup list DIR…` looks for them in directories");
    } else if entries.is_empty() {
        printer.note("there is no backup in these directories");
    } else {
        printer.result(&text_of_sections("backups", &list_sections(&entries), printer))?;
    }
    let is_bad = |state| matches!(state, BackupState::Damaged);
    let any_bad = entries.iter().any(|entry| is_bad(entry.state) || entry.proof == Proof::Damaged);
    Ok(if any_bad { Status::No } else { Status::Done })
}

pub(super) fn prune(args: &PruneArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let rules = args.keep.rules();
    if rules.is_empty() {
        let error =
            anyhow::anyhow!("no rule says what to keep, so all backups but the last good one would go");
        return Err(hinted(error, "name a rule, such as --keep-daily 7; --dry-run shows what it does"));
    }
    let request = PruneRequest {
        directories: args.directories.clone(),
        rules,
        unlock: args.unlock.unlock().map_err(key_error)?,
        now: utc_now(),
        zone: TimeZone::system(),
        abandoned_after: args.abandoned_after,
        dry_run: args.dry_run,
        wal: args.wal.clone(),
    };
    let pruned = prune_sets(&request, &known(global, printer))?;
    if args.json {
        to_stdout(printer, &|out| {
            write_figures(&prune_json(&pruned.sets, pruned.wal.as_ref(), &rules, args.dry_run), out)
        })?;
    } else {
        let sections = prune_sections(&pruned.sets, pruned.wal.as_ref(), &rules, args.dry_run);
        printer.result(&text_of_sections("backup prune", &sections, printer))?;
    }
    let left_log = pruned.wal.as_ref().is_some_and(|wal| !wal.left.is_empty());
    let has_failed = left_log || pruned.sets.iter().any(|one| one.action == PruneAction::Failed);
    Ok(if has_failed { Status::CouldNot } else { Status::Done })
}
