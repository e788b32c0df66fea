//! Why a job of fio's cannot be had here.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FioError {
    /// An option whose work nothing here does.
    #[error("fio's {option} has no equal here: {reason}")]
    NoEqual {
        /// As fio calls it.
        option: String,
        /// Why, or what does it instead.
        reason: &'static str,
    },
    /// A value that the option does not take.
    #[error("fio's {option}={value}: {wanted}")]
    Value {
        /// As fio calls it.
        option: String,
        value: String,
        wanted: &'static str,
    },
    /// Not one of fio's options that are known here.
    #[error("{option} is no option of fio's that is known here")]
    Unknown {
        /// As written.
        option: String,
    },
    /// Not a job file.
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
}
