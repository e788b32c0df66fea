//! What is known of all servers of a repository: what was noted, and what they are called.

use std::collections::HashMap;

use iostall_model::Note;
use jiff::Timestamp;

use crate::identity::StoreId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetNote {
    /// The name of its server, or that of its host, or the id of its store.
    pub server: String,
    /// `None`: it is about all sources of the server.
    pub source: Option<String>,
    pub note: Note,
}

/// Conditions for a listing, all of which must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetNoteFilter {
    /// The name of a server, that of its host, or the id of its store.
    pub server: Option<String>,
    pub from: Timestamp,
    /// Up to then.
    pub to: Timestamp,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerNames(HashMap<StoreId, [Option<String>; 2]>);

impl ServerNames {
    /// The server of `store` has joined under `name` and is the machine `host`.
    pub fn add(&mut self, store: StoreId, name: Option<String>, host: Option<String>) {
        self.0.insert(store, [name, host]);
    }

    pub fn of(&self, store: StoreId) -> String {
        let known = self.0.get(&store).and_then(|names| names.iter().flatten().next());
        known.cloned().unwrap_or_else(|| store.to_string())
    }

    /// Whether the server of `store` is called `name`, or its host, or that is its id.
    pub fn is_called(&self, store: StoreId, name: &str) -> bool {
        let names = self.0.get(&store).into_iter().flatten().flatten();
        names.into_iter().any(|known| known == name) || store.to_string() == name
    }
}
