//! Why a drive's counters were not read.

use std::io;
use std::path::PathBuf;

use iostall_engine::InputError;
use iostall_measure::foreign::{said, shown};
use iostall_measure::hinted;
use thiserror::Error;

hinted! {
    #[derive(Debug, Error)]
    #[non_exhaustive]
    pub enum SmartError {
        #[error(transparent)]
        Input(#[from] error: InputError) => error.hint(),
        #[error("cannot list {}: {source}", path.display())]
        Directory { path: PathBuf, source: io::Error },
        #[error("no file in {} ends in .json", path.display())]
        Empty { path: PathBuf } => "save one with `smartctl -j -x DEVICE > SERIAL-DATE.json`, as root",
        #[error("{} is no JSON: {reason}", shown(name))]
        NoJson { name: String, reason: String }
            => "save one with `smartctl -j -x DEVICE > SERIAL-DATE.json`, as root",
        #[error("{} is JSON, but of neither smartctl nor nvme", shown(name))]
        Unknown { name: String } => "save one with `smartctl -j -x DEVICE > SERIAL-DATE.json`, as root",
        #[error("{} has a drive's log and does not say which drive's", shown(name))]
        Nameless { name: String } => "`smartctl -j -x DEVICE` says it too, where `smartctl -j -A` does not: save it again",
        #[error("{}: {key} is {found}", shown(name))]
        Value { name: String, key: String, found: String }
            => "it is not as smartctl and nvme write it: save it again",
        /// smartctl says why in its own document.
        #[error("{}: smartctl could not read the drive: {}", shown(name), said(reason))]
        NoDrive { name: String, reason: String }
            => "smartctl needs root, and a drive that is no RAID controller's or cloud's: `smartctl -j -x DEVICE` shows it",
        #[error("{}: {} is a hard disk, which does not wear out by writing", shown(name), shown(model))]
        HardDisk { name: String, model: String },
        #[error("neither smartctl nor nvme is installed here, and one of them has to ask {}", shown(name))]
        NoProgram { name: String } => "install smartmontools or nvme-cli, or name saved files",
        #[error("{}: {program} {reason}", shown(name))]
        Program { name: String, program: &'static str, reason: String } => "run it by hand, as root",
    }
}
