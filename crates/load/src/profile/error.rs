//! Why a profile was not read, or cannot be run.

use iostall_engine::InputError;
use thiserror::Error;

/// Why a profile was not read.
#[derive(Debug, Error)]
pub enum ProfileFileError {
    /// Its file was not.
    #[error(transparent)]
    Input(#[from] InputError),
    /// It is none.
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

/// Why a profile cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The text is not a profile. The message shows line and column where they are known.
    #[error("{origin}: {message}")]
    Syntax {
        /// File or preset.
        origin: String,
        /// What is wrong with it.
        message: String,
    },
    /// A setting that cannot be meant.
    #[error("{place}: {field} {problem}; {advice}")]
    Rule {
        /// Span and role.
        place: String,
        /// Field, as it is spelled in a profile.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
        /// What to write instead.
        advice: String,
    },
}
