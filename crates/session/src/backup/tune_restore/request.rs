//! What to tune.

use std::path::PathBuf;

use iostall_measure::Nanos;
use iostall_transfer::backup::codec::Unlock;
use iostall_transfer::backup::read::ReadChoice;

pub struct RestoreTuneRequest {
    pub from: Vec<PathBuf>,
    /// An existing directory. Trials write into a directory of their own below it.
    pub place: PathBuf,
    pub unlock: Option<Unlock>,
    /// What is given is kept; the rest is open.
    pub choice: ReadChoice,
    pub budget: Nanos,
    pub memory_bytes: Option<u64>,
    /// Further words of the command line for a restore, such as its keys.
    pub kept: Vec<String>,
}
