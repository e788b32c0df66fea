//! Errors in ratings of drives.

use std::path::PathBuf;

use iostall_engine::InputError;
use iostall_measure::foreign::shown;
use iostall_model::drive::RatingError;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum RatingsError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("{} cannot be read as ratings: {reason}", path.display())]
    Form { path: PathBuf, reason: String },
    #[error("{}: [[drive]] {}: {reason}", path.display(), shown(model))]
    Drive { path: PathBuf, model: String, reason: String },
    #[error(transparent)]
    Typed(#[from] RatingError),
    #[error("one rating was given for drives of several models: {}", shown(&.0.join(", ")))]
    SeveralModels(Vec<String>),
}

impl RatingsError {
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Input(error) => return error.hint(),
            Self::Form { .. } | Self::Drive { .. } => "docs/endurance.md explains the file",
            Self::Typed(_) => "write --tbw 1380TB --years 5, or --dwpd 1 --years 5 --capacity 1TB",
            Self::SeveralModels(_) => "put the rating of each model into a file and name it with --drives",
        };
        Some(hint.to_owned())
    }
}
