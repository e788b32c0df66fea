//! Why a profile was not read, or cannot be run.

use iostall_engine::InputError;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum ProfileFileError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProfileError {
    #[error("{origin}: {message}")]
    Syntax { origin: String, message: String },
    #[error("{place}: {field} {problem}; {advice}")]
    Rule { place: String, field: &'static str, problem: String, advice: String },
}
