//! How far pushes are, and which servers are not what the last one made of them.

use std::collections::BTreeMap;

use iostall_store::{PostgresHistory, PushedServer, StoredPush};
use jiff::Timestamp;
use serde::Serialize;

use super::actions::{labels_of, objects_of};
use crate::error::RolloutError;
use crate::release::{Object, ObjectKind};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Drift {
    pub server: String,
    pub object: String,
    pub state: DriftState,
    /// The hash that is wanted, and the one that is there.
    pub wanted: String,
    pub there: Option<String>,
    pub as_of: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriftState {
    Same,
    Changed,
    Missing,
}

/// Every object that pushes have put on servers, by server, kind and name, with the hash that was there when its agent last asked.
pub fn drift(repository: &PostgresHistory) -> Result<Vec<Drift>, RolloutError> {
    let mut wanted: BTreeMap<String, Vec<Object>> = BTreeMap::new();
    for (store, objects) in repository.wanted_objects()? {
        let objects: Vec<Object> = serde_json::from_str(&objects).unwrap_or_default();
        wanted.entry(store.to_string()).or_default().extend(objects);
    }
    let mut found = Vec::new();
    for server in repository.push_agents()? {
        let (labels, there) = (labels_of(&server), objects_of(&server));
        // A later release replaces what an earlier one has put there.
        let mut last: BTreeMap<(ObjectKind, &str), &Object> = BTreeMap::new();
        for object in wanted.get(&server.store.to_string()).into_iter().flatten() {
            if object.is_for(&labels) {
                last.insert((object.kind, &object.name), object);
            }
        }
        for ((kind, name), object) in last {
            let now = there.iter().find(|now| now.kind == kind && now.name == name);
            let there = now.and_then(|now| now.sha256.clone());
            let state = match &there {
                None => DriftState::Missing,
                Some(there) if *there == object.sha256 => DriftState::Same,
                Some(_) => DriftState::Changed,
            };
            found.push(Drift {
                server: server.name.clone(),
                object: object.to_string(),
                state,
                wanted: object.sha256.clone(),
                there,
                as_of: server.last_contact,
            });
        }
    }
    Ok(found)
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PushEntry {
    #[serde(flatten)]
    pub push: StoredPush,
    /// Each of its servers, where one push was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<Vec<PushedServer>>,
}

/// All pushes, the newest first; or one, with its servers.
pub fn status(repository: &PostgresHistory, only: Option<u64>) -> Result<Vec<PushEntry>, RolloutError> {
    let entry = |push| PushEntry { push, servers: None };
    let mut pushes: Vec<PushEntry> = repository.pushes(only)?.into_iter().map(entry).collect();
    if let Some(push) = only {
        let found = pushes.first_mut().ok_or(RolloutError::NoPush { push })?;
        found.servers = Some(repository.pushed_servers(push)?);
    }
    Ok(pushes)
}
