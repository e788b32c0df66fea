//! Runs and notes of a fleet's servers.

use std::collections::HashMap;

use iostall_model::{Entry, Note};
use jiff::Timestamp;

use crate::identity::StoreId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunPut {
    /// It is there, as it is now.
    Added,
    AlreadyThere,
    /// The repository cannot store its document.
    Unfit {
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct FleetRun {
    pub server: String,
    pub server_id: String,
    pub entry: Entry,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetRunFilter {
    /// The name of a server, that of its host, or the id of its store.
    pub server: Option<String>,
    pub kind: Option<String>,
    pub since: Option<Timestamp>,
    pub limit: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetNote {
    pub server: String,
    /// `None`: it is about all sources of the server.
    pub source: Option<String>,
    pub note: Note,
}

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
