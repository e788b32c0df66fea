//! How far pushes are.

use iostall_store::{PostgresHistory, PushedServer, StoredPush};
use serde::Serialize;

use crate::rollout_error::RolloutError;

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
