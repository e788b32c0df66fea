//! Which backups there are, and which are kept.

use std::collections::{BTreeMap, BTreeSet};

use iostall_model::backup_entry::{BackupEntry, BackupState, LeftUploads, PruneAction, Pruned};
use iostall_model::retention::{Proof, Reason, Rules};
use iostall_model::wal_archive::WalPruned;
use serde_json::{Value, json};

use super::plan::rules as rules_in_words;
use crate::format::{NONE, bytes, count, shown};
use crate::section::{Fact, Layout, Note, Section};
use crate::table::{Column, Severity, Table, TableCell};
use crate::zone::{column, heading, timestamp};

/// Digits of a set's id in a table; those of `--json` are all of them.
const SET_DIGITS: usize = 8;

pub fn list_sections(entries: &[BackupEntry]) -> Vec<Section> {
    let is_locked = |entry: &BackupEntry| entry.object_lock.is_some() || entry.legal_hold;
    let any_locked = entries.iter().any(is_locked);
    let locked_until = heading("locked until");
    let names: &[&str] = if any_locked { &["state", &locked_until] } else { &["state"] };
    let mut table = Table::new("Backups", columns(names));
    for entry in entries {
        let of_state = severity(entry.state);
        let is_cautioned = of_state == Severity::Plain && !entry.content_warnings.is_empty();
        let severity = if is_cautioned { Severity::Caution } else { of_state };
        let state = match (entry.wrong.as_str(), entry.left, entry.content_warnings.as_slice()) {
            ("", Some(left), _) => format!("{}: {}", entry.state.name(), uploaded(left)),
            ("", None, []) => entry.state.name().to_owned(),
            ("", None, [first, more @ ..]) => {
                format!("{}, IN DOUBT: {}", entry.state.name(), first_of(first, more.len()))
            }
            (wrong, ..) => format!("{}: {}", entry.state.name(), shown(wrong)),
        };
        let mut cells = cells(entry);
        cells.push(TableCell::from(state).severity(severity));
        if any_locked {
            cells.push(TableCell::from(lock(entry)));
        }
        table.row(cells);
    }
    let incomplete = entries.iter().filter(|entry| entry.state == BackupState::NotCompleted).count();
    let notes = (incomplete > 0).then(|| {
        Note::caution(
            "NOT COMPLETED: without a manifest it cannot be restored. It is being written, or it was interrupted; then \
             its files can be deleted. Of uploads that were killed `backup prune` removes the parts.",
        )
    });
    let results = (!entries.is_empty()).then_some(table);
    vec![Section {
        results,
        notes: notes.into_iter().collect(),
        layout: Layout::Figures,
        ..Section::default()
    }]
}

fn columns(last: &[&str]) -> Vec<Column> {
    let mut columns = vec![
        Column::words("set"),
        Column::words(&heading("created")),
        Column::words("source"),
        Column::words("base").droppable(4),
        Column::numbers("size").droppable(4),
        Column::numbers("stored").droppable(3),
        Column::numbers("ratio").droppable(2),
        Column::numbers("stripes").droppable(1),
        Column::words("proof"),
    ];
    columns.extend(last.iter().map(|name| Column::words(name)));
    columns
}

fn cells(entry: &BackupEntry) -> Vec<TableCell> {
    let size = entry.size_bytes;
    // An increment says nothing of how the source shrinks.
    let ratio = size.filter(|size| *size > 0 && entry.stored_bytes > 0 && entry.base.is_none());
    let ratio = ratio.map(|size| format!("{:.2}", size as f64 / entry.stored_bytes as f64));
    let source = match (&entry.source, entry.is_encrypted) {
        (Some(source), _) => shown(source),
        (None, true) => "(encrypted)".to_owned(),
        (None, false) => NONE.to_owned(),
    };
    let none = || NONE.to_owned();
    vec![
        TableCell::from(id(&entry.set)),
        TableCell::from(entry.created_utc.map_or_else(none, column)),
        TableCell::from(source),
        TableCell::from(entry.base.as_deref().map_or_else(none, id)),
        TableCell::from(size.map_or_else(none, bytes)),
        TableCell::from(bytes(entry.stored_bytes)),
        TableCell::from(ratio.unwrap_or_else(none)),
        TableCell::from(entry.stripes.to_string()),
        proof_cell(entry.proof),
    ]
}

fn first_of(first: &str, more: usize) -> String {
    let first = shown(first);
    if more == 0 { first } else { format!("{first}; and {more} more") }
}

fn uploaded(left: LeftUploads) -> String {
    if left.uploads == 0 {
        return format!("begun on {}", timestamp(left.newest_utc));
    }
    let uploads = if left.uploads == 1 { "1 upload".to_owned() } else { format!("{} uploads", left.uploads) };
    format!("{uploads} with {}, the last part on {}", bytes(left.bytes), timestamp(left.newest_utc))
}

fn lock(entry: &BackupEntry) -> String {
    match (entry.legal_hold, entry.object_lock) {
        (true, _) => "a legal hold ends".to_owned(),
        (false, Some(lock)) => format!("{} ({})", column(lock.until_utc), lock.mode),
        (false, None) => NONE.to_owned(),
    }
}

pub(super) fn id(set: &str) -> String {
    set.chars().take(SET_DIGITS).collect()
}

fn proof_cell(proof: Proof) -> TableCell {
    match proof {
        Proof::Damaged => TableCell::from("DAMAGED").severity(Severity::Bad),
        Proof::Unproven => TableCell::from("not verified").severity(Severity::Caution),
        Proof::Verified => TableCell::from("verified").severity(Severity::Good),
        Proof::Drilled => TableCell::from("drilled").severity(Severity::Good),
    }
}

fn severity(state: BackupState) -> Severity {
    match state {
        BackupState::Whole | BackupState::OnRecord => Severity::Plain,
        BackupState::Elsewhere | BackupState::BeingDeleted => Severity::Caution,
        BackupState::NotCompleted | BackupState::Damaged => Severity::Bad,
    }
}

pub fn list_json(entries: &[BackupEntry]) -> Value {
    json!(entries)
}

pub fn prune_sections(
    pruned: &[Pruned],
    wal: Option<&WalPruned>,
    rules: &Rules,
    is_dry_run: bool,
) -> Vec<Section> {
    let mut table = Table::new("Backups", columns(&["action", "because"]));
    for one in pruned {
        let severity = match one.action {
            PruneAction::Keep => Severity::Plain,
            PruneAction::Delete | PruneAction::Leave => Severity::Caution,
            PruneAction::Failed => Severity::Bad,
        };
        let mut cells = cells(&one.backup);
        cells.push(TableCell::from(one.action.name()).severity(severity));
        let reasons: Vec<String> = one.reasons.iter().map(reason).collect();
        let mut because = one.because.as_deref().map_or_else(|| reasons.join(", "), shown);
        if let [first, more @ ..] = one.backup.content_warnings.as_slice() {
            because = format!("{because}; IN DOUBT: {}", first_of(first, more.len()));
        }
        cells.push(TableCell::from(because));
        table.row(cells);
    }
    let results = (!pruned.is_empty()).then_some(table);
    let facts = vec![Fact::new("rules", rules_in_words(rules))];
    let of_log = wal.map(|wal| pruned_log(wal, is_dry_run));
    let notes = [Some(result(pruned, is_dry_run)), of_log].into_iter().flatten();
    let notes = one_source(pruned).into_iter().map(one_source_note).chain(notes).collect();
    vec![Section { results, facts, notes, layout: Layout::Facts, ..Section::default() }]
}

/// What was taken for one source although it had several names, by its key: whoever reads it can tell whether that is so.
fn one_source(pruned: &[Pruned]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for backup in pruned.iter().map(|one| &one.backup) {
        if let (Some(key), Some(source)) = (&backup.key, &backup.source) {
            names.entry(key).or_default().insert(source);
        }
    }
    names.retain(|_, sources| sources.len() > 1);
    names
}

fn one_source_note((key, sources): (&str, BTreeSet<&str>)) -> Note {
    let sources: Vec<String> = sources.into_iter().map(shown).collect();
    Note::plain(format!("taken for one source ({}): {}", shown(key), sources.join("; ")))
}

fn result(pruned: &[Pruned], is_dry_run: bool) -> Note {
    let of = |action| pruned.iter().filter(move |one| one.action == action);
    let size = |backup: &BackupEntry| match (backup.state, backup.left) {
        (BackupState::NotCompleted, left) => left.map_or(0, |left| left.bytes),
        _ => backup.stored_bytes,
    };
    let freed = bytes(of(PruneAction::Delete).map(|one| size(&one.backup)).sum());
    let uploads = of(PruneAction::Delete).filter(|one| one.backup.state == BackupState::NotCompleted).count();
    let deleted = deleted(of(PruneAction::Delete).count() - uploads, uploads);
    let kept = of(PruneAction::Keep).count() + of(PruneAction::Leave).count();
    let failed = of(PruneAction::Failed).count();
    if failed > 0 {
        return Note::bad(format!(
            "{} could not be deleted; {deleted} deleted, {freed} freed. Run it again: it goes on where it stopped.",
            number(failed)
        ));
    }
    let verb = if is_dry_run { "would be deleted" } else { "deleted" };
    let room = if is_dry_run { "would be freed" } else { "freed" };
    Note::strong(format!("{deleted} {verb}, {freed} {room}; {kept} kept"))
}

/// What was never completed is no backup.
fn deleted(backups: usize, uploads: usize) -> String {
    let killed =
        if uploads == 1 { "1 killed upload".to_owned() } else { format!("{uploads} killed uploads") };
    match (backups, uploads) {
        (_, 0) => number(backups),
        (0, _) => killed,
        _ => format!("{} and {killed}", number(backups)),
    }
}

fn number(count: usize) -> String {
    if count == 1 { "1 backup".to_owned() } else { format!("{count} backups") }
}

fn reason(reason: &Reason) -> String {
    match reason {
        Reason::Last => "one of the last".to_owned(),
        Reason::NewestOf(period) => format!("newest of its {}", period.name()),
        Reason::Within => "recent".to_owned(),
        Reason::LastGood => "the last good one".to_owned(),
        Reason::LastVerified => "the last verified one".to_owned(),
        Reason::LastDrilled => "the last that a drill started from".to_owned(),
        Reason::NothingBetter => "there is no better one".to_owned(),
        Reason::InTheFuture => "its time is in the future".to_owned(),
        Reason::LockedUntil(until) => format!("locked until {}", timestamp(*until)),
        Reason::LegalHold => "under a legal hold".to_owned(),
        Reason::BaseOf(set) => {
            let digits: String = set.chars().take(SET_DIGITS).collect();
            format!("{} is based on it", shown(&digits))
        }
    }
}

pub fn prune_json(pruned: &[Pruned], wal: Option<&WalPruned>, rules: &Rules, is_dry_run: bool) -> Value {
    let mut value = json!({"dry_run": is_dry_run, "rules": rules, "backups": pruned});
    let sources = one_source(pruned);
    if !sources.is_empty() {
        let of_one = |(key, names)| json!({"key": key, "names": names});
        value["one_source"] = sources.into_iter().map(of_one).collect();
    }
    if let Some(wal) = wal {
        value["wal"] = json!(wal);
    }
    value
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// The story: on a terminal of 120 columns a list showed the number of stripes, and not on which set an increment is based.
    #[test]
    fn base_and_size_stay_where_stripes_go() {
        let rank =
            |name: &str| columns(&["state"]).iter().find(|column| column.name == name).unwrap().drop_rank;
        let goes_first = columns(&["state"]).iter().filter_map(|column| column.drop_rank).min();
        assert_eq!(rank("stripes"), goes_first);
        assert!(
            ["ratio", "stored"].iter().all(|name| rank(name) < rank("base") && rank(name) < rank("size"))
        );
    }

    /// The story: a clean-up said "1 backup deleted" of an upload that had been killed, and somebody looked for that backup.
    #[test]
    fn a_killed_upload_is_no_backup() {
        assert_eq!(deleted(2, 0), "2 backups");
        assert_eq!(deleted(0, 1), "1 killed upload");
        assert_eq!(deleted(1, 3), "1 backup and 3 killed uploads");
        assert_eq!(deleted(0, 0), "0 backups");
    }
}
