//! Why a test of power failures could not be carried out.

use std::io;
use std::path::PathBuf;

use iostall_engine::EngineError;
use iostall_measure::ByteCount;
use iostall_measure::foreign::{shell_path, shown};
use thiserror::Error;

use crate::error::{SessionError, UseCaseError};

#[derive(Debug, Error)]
pub(super) enum PowerfailError {
    #[error("a write needs {} in {} at least, and {} are used", ByteCount(*wanted_bytes), target.display(), ByteCount(*used_bytes))]
    Small { target: PathBuf, wanted_bytes: u64, used_bytes: u64 },
    #[error("{} takes no writes of {block_bytes} bytes: its direct I/O needs multiples of {align}", target.display())]
    Align { target: PathBuf, block_bytes: u32, align: u32 },
    #[error("cannot reach the witness {address}: {source}")]
    Reach { address: String, source: io::Error },
    #[error("the witness {address} {said}")]
    Witness { address: String, said: String },
    #[error("{} failed after {writes} acknowledged writes: {call}: {why}", target.display())]
    Target { target: PathBuf, writes: u64, call: &'static str, why: String },
    #[error("the engine broke: {0}")]
    Engine(#[from] EngineError),
    #[error("no memory for a block: {0}")]
    Buffer(io::Error),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: String, source: io::Error },
    #[error("cannot use {} as a witness's log: {source}", path.display())]
    Log { path: PathBuf, source: io::Error },
    #[error("{} is no witness's log", path.display())]
    NotALog { path: PathBuf },
    #[error("another witness writes to {}", path.display())]
    LogInUse { path: PathBuf },
    #[error("{} has no run{}", path.display(), run.as_deref().map(|run| format!(" {}", shown(run))).unwrap_or_default())]
    NoRun { path: PathBuf, run: Option<String> },
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot use {} as a list of cuts: {why}", path.display())]
    Cuts { path: PathBuf, why: String },
}

impl PowerfailError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Small { .. } => "give a larger --size, or a smaller --block-size".to_owned(),
            Self::Align { align, .. } => format!("give a --block-size that is a multiple of {align}"),
            Self::Reach { .. } => {
                "start `iostall drive powerfail witness --listen 0.0.0.0:4420 --log witness.log` on a machine that keeps its power"
                    .to_owned()
            }
            Self::Witness { .. } => "look at what the witness says; nothing after that was acknowledged".to_owned(),
            Self::Target { target, .. } => format!(
                "when the power is back: iostall drive powerfail check {} --witness-log FILE",
                shell_path(target)
            ),
            Self::NotALog { .. } | Self::Log { .. } => {
                "name a new file, or one that a witness began; nothing was written".to_owned()
            }
            Self::LogInUse { .. } => "give each witness a log of its own".to_owned(),
            Self::NoRun { .. } => "the witness was told of nothing: was it the one that the writer named?".to_owned(),
            Self::Cuts { .. } => "name a new file, or one of earlier checks; nothing was written to it".to_owned(),
            Self::Engine(_) | Self::Buffer(_) | Self::Listen { .. } | Self::Read { .. } => return None,
        };
        Some(hint)
    }
}

impl From<PowerfailError> for SessionError {
    fn from(error: PowerfailError) -> Self {
        let hint = error.hint();
        Self::OfUseCase(UseCaseError::new(error, hint))
    }
}
