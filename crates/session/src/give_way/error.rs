//! Why a transfer cannot give way to a source.

use iostall_collect::SourceError;
use thiserror::Error;

/// Why a transfer cannot give way to a source. All are found before anything is moved.
#[derive(Debug, Error)]
pub enum GiveWayError {
    #[error("--yield-to needs a limit on what the users of the source wait for")]
    NothingRequired,
    #[error("{requirement:?} is no upper limit above zero, so nothing can be done to keep it")]
    NoUpperLimit {
        /// As typed.
        requirement: String,
    },
    #[error("{source_name} does not report what {requirement:?} is about{}", reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default())]
    NotReported { source_name: String, requirement: String, reason: Option<String>, hint: Option<String> },
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// What a source may be asked for.
const FIGURES: &str = "add --require 'commit.p95<5ms': commit, read, write or sync, for one database, file or device as in \
                       'sda.sync.p95<5ms', with mean, p95 (or any percentile) or max";

impl GiveWayError {
    pub fn hint(&self) -> String {
        match self {
            Self::NothingRequired => FIGURES.to_owned(),
            Self::NoUpperLimit { .. } => "write such as 'commit.p95<5ms'".to_owned(),
            Self::NotReported { hint: Some(hint), .. } => hint.clone(),
            Self::NotReported { hint: None, .. } => {
                "PostgreSQL from 14 reports commit, read and sync, and write from 16; SQL Server, MySQL and linux: report read \
                 and write by file or device; MariaDB does not report its log"
                    .to_owned()
            }
            Self::Source(error) => error.hint(),
        }
    }
}
