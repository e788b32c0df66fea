//! What was deleted of an archive of PostgreSQL's log.

use iostall_model::wal_archive::WalPruned;

use crate::format::{bytes, count, shown};
use crate::section::Note;

pub(super) fn pruned_log(pruned: &WalPruned, is_dry_run: bool) -> Note {
    let directory = shown(&pruned.directory);
    if let Some(because) = &pruned.because {
        return Note::caution(format!("nothing of the log in {directory} was deleted: {}", shown(because)));
    }
    let verb = if is_dry_run { "would be deleted" } else { "deleted" };
    let needed = pruned.needed_from.as_deref().map(shown).unwrap_or_default();
    let files =
        format!("{} files of the log in {directory} {verb}, {}", count(pruned.files), bytes(pruned.bytes));
    let range = match (&pruned.first, &pruned.last) {
        (Some(first), Some(last)) => format!(", {} to {}", shown(first), shown(last)),
        _ => String::new(),
    };
    let text = format!("{files}{range}; kept backups need it from {needed} on");
    match pruned.left.as_slice() {
        [] => Note::strong(text),
        [first, ..] => {
            let left = count(pruned.left.len() as u64);
            Note::bad(format!(
                "{text}; {left} could not be deleted, or are not iostall's, the first: {}",
                shown(first)
            ))
        }
    }
}
