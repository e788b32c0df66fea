//! What is done about servers that do not answer: skip one, or end the push.

use iostall_store::PostgresHistory;

use super::serve::advance;
use crate::rollout_error::RolloutError;

/// No ring of `push` waits for `server` any more. When it comes back it takes the release, unless the push was halted, ended or undone by
/// then, or a newer one has reached it; until then it counts as drifted.
pub fn skip(repository: &PostgresHistory, push: u64, server: &str) -> Result<(), RolloutError> {
    repository.change_pushes(|repository| {
        repository.pushes(Some(push))?.pop().ok_or(RolloutError::NoPush { push })?;
        if !repository.skip_server(push, server)? {
            return Err(RolloutError::NotAwaited { push, server: server.to_owned() });
        }
        advance(repository, push)
    })
}

/// No further server is asked for `push`; of one that is being undone, those that have not answered count as not undone. Who has begun
/// still answers.
pub fn end(repository: &PostgresHistory, push: u64) -> Result<(), RolloutError> {
    repository.change_pushes(|repository| {
        let found = repository.pushes(Some(push))?.pop().ok_or(RolloutError::NoPush { push })?;
        match found.state.as_str() {
            "running" => {
                repository.put_push_state(push, "ended", found.ring)?;
                Ok(repository.leave_servers(push)?)
            }
            "undoing" => {
                repository.skip_undo(push)?;
                advance(repository, push)
            }
            state => Err(RolloutError::NotRunning { push, state: state.to_owned() }),
        }
    })
}
