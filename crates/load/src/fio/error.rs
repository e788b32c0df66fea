//! Why a job of fio's cannot be had here.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FioError {
    #[error("fio's {option} has no equal here: {reason}")]
    NoEqual {
        option: String,
        /// Why, or what does it instead.
        reason: &'static str,
    },
    #[error("fio's {option}={value}: {wanted}")]
    Value { option: String, value: String, wanted: &'static str },
    #[error("{option} is no option of fio's that is known here")]
    Unknown { option: String },
    #[error("the variable {variable} is not set: write {variable}=… before the command")]
    NotSet { variable: String },
    #[error("line {line}: {message}")]
    Syntax {
        /// From 1.
        line: usize,
        message: &'static str,
    },
    #[error("job {job:?}: {source}")]
    Job { job: String, source: Box<FioError> },
    #[error("job {job:?}: {reason}")]
    Together {
        /// The first that does not fit.
        job: String,
        reason: &'static str,
    },
    #[error("there is no job in it: a section is [name], with options below it")]
    NoJobs,
    #[error("{}", .0.iter().map(|error| format!("\n  {error}")).collect::<Vec<_>>().concat())]
    Several(Vec<FioError>),
}

impl FioError {
    /// One error of all that were found; each is said once.
    pub(super) fn all(mut errors: Vec<Self>) -> Result<(), Self> {
        let mut seen: Vec<String> = Vec::new();
        errors.retain(|error| {
            let text = error.to_string();
            let is_new = !seen.contains(&text);
            seen.push(text);
            is_new
        });
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(Self::Several(errors)),
        }
    }
}
