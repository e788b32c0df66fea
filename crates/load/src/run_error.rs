//! Why a span cannot be run.

use std::path::PathBuf;

use iostall_engine::EngineError;
use iostall_engine::open::OpenError;
use thiserror::Error;

use crate::plan::PlanError;
use crate::resource_limits::ResourceError;

/// Why a span could not be run.
#[derive(Debug, Error)]
pub enum RunError {
    /// A target could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// More than this machine has.
    #[error(transparent)]
    Resources(#[from] ResourceError),
    /// A role does not fit its target.
    #[error("{target}: {source}")]
    Plan {
        /// The target.
        target: String,
        /// What does not fit.
        source: PlanError,
    },
    /// Weights for other targets than there are.
    #[error(
        "role {role:?} has {weights} target-weights and works on {targets} targets; give each target one weight, and name each target once"
    )]
    Weights {
        /// The role.
        role: String,
        /// How many weights.
        weights: usize,
        /// How many targets.
        targets: usize,
    },
    /// What is to be written cannot be read.
    #[error("cannot read the data to write from {}: {source}", path.display())]
    WriteData {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A role names a target that the run does not have.
    #[error("role {role:?} has no target: name a file or device, or bind one with --target {names}=PATH")]
    NoTarget {
        /// The role.
        role: String,
        /// The names it asks for.
        names: String,
    },
    /// An engine could not be made, or broke.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A thread could not be started.
    #[error("worker {worker} could not be started: {source}")]
    Thread {
        /// Which.
        worker: u32,
        /// What the system said.
        source: std::io::Error,
    },
    /// A worker panicked: a defect of iostall.
    #[error("worker {worker} of iostall broke; please report it with the message above")]
    Broken {
        /// Which.
        worker: u32,
    },
}

impl RunError {
    /// What the user can do about it, where there is something.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Engine(error) => error.hint(),
            Self::Resources(error) => Some(error.hint()),
            _ => None,
        }
    }
}
