//! What a server has sent to a repository or a centre, for scripts.

use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FleetSent {
    /// Every source that the store samples, also where there was nothing to send.
    pub sources: Vec<SentSource>,
    pub runs: usize,
    /// Sheets of notes and settings that were sent: the notes of a month, or the settings of a source.
    pub sheets: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentSource {
    pub id: String,
    pub name: String,
    pub samples: usize,
}

impl SentSource {
    pub fn new(id: String, name: &str, samples: usize) -> Self {
        Self { id, name: name.to_owned(), samples }
    }
}
