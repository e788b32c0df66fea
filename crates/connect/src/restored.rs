//! What sessions with a server that was started on a restored copy share: a check of a large database takes hours, so every wait
//! looks now and then whether it is still wanted.

use std::pin::pin;
use std::time::Duration;

use thiserror::Error;
use tokio::runtime::Runtime;

use crate::error::SourceError;

/// How often a wait looks whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(100);

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CopyError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("{0}")]
    Said(String),
    /// Nobody wants the answer any more.
    #[error("stopped")]
    Over,
}

impl CopyError {
    /// Whether it may be gone a little later: the server is still recovering, or nothing listens yet.
    pub fn is_not_up_yet(&self) -> bool {
        matches!(self, Self::Source(SourceError::Connect { .. } | SourceError::Full { .. }))
    }
}

/// Runs `work` to its end, or until nobody wants it any more.
pub(crate) fn wanted<T>(
    runtime: &Runtime,
    is_over: &dyn Fn() -> bool,
    work: impl Future<Output = T>,
) -> Result<T, CopyError> {
    runtime.block_on(async {
        let mut work = pin!(work);
        loop {
            if let Ok(answer) = tokio::time::timeout(LOOK_EVERY, &mut work).await {
                return Ok(answer);
            }
            if is_over() {
                return Err(CopyError::Over);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ctrl-C had no effect until a check of many hours was through.
    #[test]
    fn a_wait_that_nobody_wants_any_more_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let never = std::future::pending::<()>();
        assert!(matches!(wanted(&runtime, &|| true, never), Err(CopyError::Over)));
        assert!(matches!(wanted(&runtime, &|| true, async { 7 }), Ok(7)));
    }
}
