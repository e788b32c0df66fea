//! What a copy would do.

use iostall_model::transfer::{DryRun, PlannedAction};

use crate::format::{bytes, count, shown};
use crate::section::{Fact, Note};

/// How many entries of each action a report lists. JSON lists all.
const LISTED: usize = 100;

pub(super) fn headline(run: &DryRun) -> String {
    let total = run.totals.iter().map(|total| {
        let size = if total.bytes > 0 { format!(" ({})", bytes(total.bytes)) } else { String::new() };
        format!("{} {}{size}", total.action.name(), count(total.entries))
    });
    let totals: Vec<String> = total.collect();
    let totals = if totals.is_empty() { "nothing to do".to_owned() } else { totals.join(", ") };
    format!("dry run: {totals}; nothing was done")
}

pub(super) fn facts(run: &DryRun) -> Vec<Fact> {
    let fact = |total: &iostall_model::transfer::PlannedTotal| Fact {
        label: total.action.name().to_owned(),
        value: format!("{} · {}", count(total.entries), bytes(total.bytes)),
    };
    run.totals.iter().map(fact).collect()
}

/// The entries, those that remove something first and marked as such.
pub(super) fn notes(run: &DryRun) -> Vec<Note> {
    let mut notes = Vec::new();
    let removes =
        |action: PlannedAction| matches!(action, PlannedAction::Delete | PlannedAction::RemoveSource);
    let (removing, others): (Vec<PlannedAction>, Vec<PlannedAction>) =
        PlannedAction::ALL.into_iter().partition(|action| removes(*action));
    for action in removing.into_iter().chain(others) {
        let of = || run.entries.iter().filter(move |entry| entry.action == action);
        for entry in of().take(LISTED) {
            let size = if entry.bytes > 0 { format!("  {}", bytes(entry.bytes)) } else { String::new() };
            let text = format!("{} {}{size}", action.name(), shown(&entry.path));
            notes.push(if removes(action) { Note::caution(text) } else { Note::plain(text) });
        }
        let more = of().count().saturating_sub(LISTED) as u64;
        if more > 0 {
            notes.push(Note::plain(format!("{}: {} more, which JSON lists", action.name(), count(more))));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use iostall_model::transfer::PlannedEntry;

    use super::*;

    #[test]
    fn a_dry_run_says_what_would_be_done_and_what_would_go_first() {
        let entry = |action, path: &str, bytes| PlannedEntry { action, path: path.into(), bytes };
        let run = DryRun::new(vec![
            entry(PlannedAction::Copy, "/b/x", 2048),
            entry(PlannedAction::Create, "/b/dir", 0),
            entry(PlannedAction::Delete, "/b/old", 1024),
        ]);
        assert_eq!(headline(&run), "dry run: copy 1 (2 KiB), create 1, delete 1 (1 KiB); nothing was done");
        assert_eq!(notes(&run)[0].text, "delete /b/old  1 KiB");
        assert_eq!(headline(&DryRun::default()), "dry run: nothing to do; nothing was done");
        let many = (0..150).map(|at| entry(PlannedAction::Copy, &at.to_string(), 1)).collect();
        assert_eq!(notes(&DryRun::new(many)).last().unwrap().text, "copy: 50 more, which JSON lists");
    }
}
