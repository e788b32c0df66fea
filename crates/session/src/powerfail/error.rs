//! Why a test of power failures could not be carried out.

use std::io;
use std::path::PathBuf;

use iostall_engine::EngineError;
use iostall_measure::ByteCount;
use iostall_measure::foreign::{shell_path, shown};
use iostall_measure::hinted;
use thiserror::Error;

use crate::error::of_use_case;

hinted! {
    #[derive(Debug, Error)]
    pub(super) enum PowerfailError {
        #[error("a write needs {} in {} at least, and {} are used", ByteCount(*wanted_bytes), target.display(), ByteCount(*used_bytes))]
        Small { target: PathBuf, wanted_bytes: u64, used_bytes: u64 }
            => "give a larger --size, or a smaller --block-size",
        #[error("{} takes no writes of {block_bytes} bytes: its direct I/O needs multiples of {align}", target.display())]
        Align { target: PathBuf, block_bytes: u32, align: u32 }
            => format!("give a --block-size that is a multiple of {align}"),
        #[error("cannot reach the witness {address}: {source}")]
        Reach { address: String, source: io::Error }
            => "start `iostall drive powerfail witness --listen 0.0.0.0:4420 --log witness.log` on a machine that keeps its power",
        #[error("the witness {address} {said}")]
        Witness { address: String, said: String }
            => "look at what the witness says; nothing after that was acknowledged",
        #[error("{} failed after {writes} acknowledged writes: {call}: {why}", target.display())]
        Target { target: PathBuf, writes: u64, call: &'static str, why: String } => format!(
            "when the power is back: iostall drive powerfail check {} --witness-log FILE",
            shell_path(target)
        ),
        #[error("the engine broke: {0}")]
        Engine(#[from] error: EngineError),
        #[error("no memory for a block: {0}")]
        Buffer(error: io::Error),
        #[error("cannot listen on {address}: {source}")]
        Listen { address: String, source: io::Error },
        #[error("cannot use {} as a witness's log: {source}", path.display())]
        Log { path: PathBuf, source: io::Error }
            => "name a new file, or one that a witness began; nothing was written",
        #[error("{} is no witness's log", path.display())]
        NotALog { path: PathBuf } => "name a new file, or one that a witness began; nothing was written",
        #[error("another witness writes to {}", path.display())]
        LogInUse { path: PathBuf } => "give each witness a log of its own",
        #[error("{} has no run{}", path.display(), run.as_deref().map(|run| format!(" {}", shown(run))).unwrap_or_default())]
        NoRun { path: PathBuf, run: Option<String> }
            => "the witness was told of nothing: was it the one that the writer named?",
        #[error("cannot read {}: {source}", path.display())]
        Read { path: PathBuf, source: io::Error },
        #[error("cannot use {} as a list of cuts: {why}", path.display())]
        Cuts { path: PathBuf, why: String }
            => "name a new file, or one of earlier checks; nothing was written to it",
    }
}

of_use_case!(PowerfailError);
