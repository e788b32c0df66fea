//! Errors in ratings of drives.

use std::path::PathBuf;

use iostall_engine::InputError;
use iostall_measure::foreign::shown;
use iostall_measure::hinted;
use iostall_model::drive::RatingError;
use thiserror::Error;

hinted! {
    #[derive(Debug, Error)]
    pub enum RatingsError {
        #[error(transparent)]
        Input(#[from] error: InputError) => error.hint(),
        #[error("{} cannot be read as ratings: {reason}", path.display())]
        Form { path: PathBuf, reason: String } => "docs/endurance.md explains the file",
        #[error("{}: [[drive]] {}: {reason}", path.display(), shown(model))]
        Drive { path: PathBuf, model: String, reason: String } => "docs/endurance.md explains the file",
        #[error(transparent)]
        Typed(#[from] error: RatingError)
            => "write --tbw 1380TB --years 5, or --dwpd 1 --years 5 --capacity 1TB",
        #[error("one rating was given for drives of several models: {}", shown(&.0.join(", ")))]
        SeveralModels(error: Vec<String>)
            => "put the rating of each model into a file and name it with --drives",
    }
}
