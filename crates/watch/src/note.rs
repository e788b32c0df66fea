//! Notes of what was done.

use iostall_model::Note;
use iostall_store::{CollectorState, History, Source};

use crate::error::WatchError;

/// It must fit beside a chart.
const CHARS_MAX: usize = 200;

/// Stores `note` about this store's source named `source`, or about all of them.
pub fn add_note(
    store: &mut (impl History + CollectorState),
    source: Option<&str>,
    note: &Note,
) -> Result<(), WatchError> {
    let text = &note.text;
    if text.trim().is_empty() || text.contains(char::is_control) || text.chars().count() > CHARS_MAX {
        return Err(WatchError::NoteText { max: CHARS_MAX });
    }
    if let Some(end) = note.end.filter(|end| *end < note.at) {
        return Err(WatchError::NoteEnds { at: note.at, end });
    }
    let own = store.id();
    let all: Vec<Source> = store.sources()?.into_iter().map(|watched| watched.source).collect();
    let id_of = |name: &str| {
        let mut named = all.iter().filter(|source| source.name == name);
        let found = named.clone().find(|source| source.store == own).or_else(|| named.next());
        found.map(|source| source.id).ok_or_else(|| WatchError::NoSourceNamed {
            name: name.to_owned(),
            known: all.iter().map(|source| source.name.clone()).collect(),
        })
    };
    let source = source.map(id_of).transpose()?;
    Ok(store.add_note(source, note)?)
}
