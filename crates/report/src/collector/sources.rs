//! Lists the sources of a store.

use iostall_measure::foreign::shown;
use jiff::Timestamp;
use serde::Serialize;

use crate::zone::{column, heading};

#[derive(Clone, Debug, Serialize)]
pub struct SourceEntry {
    pub id: String,
    pub name: String,
    /// The other store that sampled it, if it was not this one.
    pub store: Option<String>,
    pub first_utc: Option<Timestamp>,
    pub last_utc: Option<Timestamp>,
}

pub fn watched_sources(sources: &[SourceEntry]) -> String {
    if sources.is_empty() {
        return "no source has been watched; `iostall collect --help` has examples\n".to_owned();
    }
    let names: Vec<String> = sources.iter().map(|source| shown(&source.name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(6);
    let (first, last) = (heading("first sample"), heading("last sample"));
    let (first_width, last_width) = (first.chars().count().max(19), last.chars().count().max(19));
    let mut text = format!("{:width$}  {first:first_width$}  {last:last_width$}\n", "source");
    for (source, name) in sources.iter().zip(&names) {
        let at = |time: Option<Timestamp>| time.map_or("none".to_owned(), column);
        // Two stores may each have a source of this name; only its id tells them apart.
        let of = source.store.as_ref().map(|store| format!("  {} of store {store}", source.id));
        let (first, last) = (at(source.first_utc), at(source.last_utc));
        text.push_str(&format!(
            "{name:width$}  {first:first_width$}  {last:last_width$}{}\n",
            of.unwrap_or_default()
        ));
    }
    text
}
