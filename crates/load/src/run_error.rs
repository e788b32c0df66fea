//! Errors of a span.

use std::path::PathBuf;

use iostall_engine::EngineError;
use iostall_engine::open::OpenError;
use thiserror::Error;

use crate::plan::PlanError;
use crate::resource_limits::ResourceError;

#[derive(Debug, Error)]
pub enum RunError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Resources(#[from] ResourceError),
    #[error("{target}: {source}")]
    Plan { target: String, source: PlanError },
    #[error(
        "role {role:?} has {weights} target-weights and works on {targets} targets; give each target one weight, and name each target once"
    )]
    Weights { role: String, weights: usize, targets: usize },
    #[error("cannot read the data to write from {}: {source}", path.display())]
    WriteData { path: PathBuf, source: std::io::Error },
    #[error("role {role:?} has no target: name a file or device, or bind one with --target {names}=PATH")]
    NoTarget { role: String, names: String },
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("worker {worker} could not be started: {source}")]
    Thread { worker: u32, source: std::io::Error },
    #[error("worker {worker} of iostall crashed; please report it with the message above")]
    Broken { worker: u32 },
}

impl RunError {
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Engine(error) => error.hint(),
            Self::Resources(error) => Some(error.hint()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_about_a_load_that_needs_too_much_is_said_by_whoever_starts_it() {
        let deep = ResourceError::InFlight { role: "data".into(), in_flight: 100_000 };
        assert_eq!(RunError::from(deep.clone()).hint(), Some(deep.hint()));
        assert_eq!(RunError::Broken { worker: 3 }.hint(), None);
    }
}
