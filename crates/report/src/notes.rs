//! Notes: in a sentence, as a list, and which of them there is room for.

use iostall_measure::foreign::shown;
use iostall_model::{Note, NoteKind};
use serde::Serialize;

use crate::zone::{column, heading, timestamp};

#[derive(Clone, Debug, Serialize)]
pub struct NoteEntry {
    /// By which it is removed; `None` in a repository, where that is done on its server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// Its server, in a repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// `None`: it is about all sources.
    pub source: Option<String>,
    #[serde(flatten)]
    pub note: Note,
}

pub fn note_list(notes: &[NoteEntry]) -> String {
    if notes.is_empty() {
        return "nothing was noted in this time\n".to_owned();
    }
    let heading = heading("at");
    let width = heading.chars().count().max(19);
    let first: Vec<String> = notes
        .iter()
        .map(|entry| match (&entry.server, entry.number) {
            (Some(server), _) => shown(server),
            (None, Some(number)) => format!("{number:>5}"),
            (None, None) => String::new(),
        })
        .collect();
    let first_width = first.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(5);
    let of = if notes.iter().any(|entry| entry.server.is_some()) { "server" } else { " note" };
    let mut text = format!("{of:first_width$}  {heading:width$}  {:11}  what\n", "kind");
    for (NoteEntry { source, note, .. }, first) in notes.iter().zip(&first) {
        let about = source.as_ref().map_or_else(String::new, |source| format!("  ({})", shown(source)));
        let end = note.end.map_or_else(String::new, |end| format!(", until {}", column(end)));
        let (at, kind, what) = (column(note.at), note.kind.name(), shown(&note.text));
        text.push_str(&format!("{first:first_width$}  {at:width$}  {kind:11}  {what}{end}{about}\n"));
    }
    text
}

pub(crate) fn note_sentence(note: &Note) -> String {
    let kind = match note.kind {
        NoteKind::Other => String::new(),
        kind => format!("{}: ", kind.name()),
    };
    let text = shown(&note.text);
    match note.end {
        Some(end) => format!("{} to {}: {kind}{text}", timestamp(note.at), timestamp(end)),
        None => format!("{}: {kind}{text}", timestamp(note.at)),
    }
}

/// At most `most` of `notes`, in their order, and how many are left out. A job that runs every minute would fill any page: what
/// iostall noted by itself goes first, and of that the oldest.
pub(crate) fn notes_with_room<'a>(
    notes: impl IntoIterator<Item = &'a Note>,
    most: usize,
) -> (Vec<&'a Note>, usize) {
    let all: Vec<&Note> = notes.into_iter().collect();
    let is_own = |note: &Note| matches!(note.kind, NoteKind::Job | NoteKind::Run);
    let mut by_weight: Vec<usize> = (0..all.len()).collect();
    by_weight.sort_by_key(|place| (is_own(all[*place]), std::cmp::Reverse(*place)));
    by_weight.truncate(most);
    by_weight.sort_unstable();
    let left_out = all.len() - by_weight.len();
    (by_weight.into_iter().map(|place| all[place]).collect(), left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::{SignedDuration, Timestamp};

    fn note(minute: i64, kind: NoteKind, text: &str) -> Note {
        Note::new(Timestamp::from_second(minute * 60).unwrap(), kind, text)
    }

    #[test]
    fn what_somebody_noted_has_room_before_what_runs_by_itself() {
        let mut all = vec![note(0, NoteKind::Deploy, "release 7")];
        all.extend((1..50).map(|minute| note(minute, NoteKind::Job, "every minute")));
        let (shown, left_out) = notes_with_room(&all, 3);
        let said: Vec<_> = shown.iter().map(|note| note.at.as_second() / 60).collect();
        assert_eq!((said, left_out), (vec![0, 48, 49], 47));
        assert_eq!(notes_with_room(&all[..2], 3).1, 0);
    }

    #[test]
    fn a_note_says_when_of_what_kind_and_about_whom() {
        let long = note(1, NoteKind::Failover, "to \u{1b}[31mdb2");
        let long = long.clone().until(long.at + SignedDuration::from_mins(2));
        assert!(
            note_sentence(&long).ends_with(" UTC: failover: to \\u{1b}[31mdb2"),
            "{}",
            note_sentence(&long)
        );
        assert!(!note_sentence(&note(1, NoteKind::Other, "x")).contains("other"));
        let entry = NoteEntry { number: Some(7), server: None, source: Some("db1".into()), note: long };
        let list = note_list(std::slice::from_ref(&entry));
        assert!(list.contains("    7  ") && list.contains("(db1)") && list.contains("until"), "{list}");
        let json = serde_json::to_value(&entry).unwrap();
        assert_eq!((json["number"].as_u64(), json["kind"].as_str()), (Some(7), Some("failover")));
        assert!(note_list(&[]).contains("nothing"));
    }
}
