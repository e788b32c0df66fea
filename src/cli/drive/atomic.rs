//! `iostall drive atomic`.

use std::path::PathBuf;

use clap::Args;
use iostall_measure::ByteCount;
use iostall_session::atomic::AtomicRequest;

use crate::cli::target::target;

/// Say what the stack promises about writes that are not torn, and what databases may turn off.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall drive atomic /var/lib/mysql/ibdata1        what holds for this file\n  \
    iostall drive atomic /dev/nvme0n1                  what holds for the device\n  \
    iostall drive atomic --require 16KiB data.dat      exit status 1 unless pages of 16 KiB are promised whole\n  \
    iostall drive atomic data.dat --prove data.cuts    with the cuts of `powerfail check --cuts`\n\n\
    Nothing is written. docs/atomic.md is the guide.\n\n\
    Exit status 1: what --require asks for is not promised, or cuts tore what is promised.")]
pub(crate) struct AtomicArgs {
    /// File, directory or device
    #[arg(value_name = "TARGET", value_parser = target())]
    pub(crate) target: PathBuf,
    /// A file of cuts of this target, as `iostall drive powerfail check --cuts` writes it: what was torn
    #[arg(long, value_name = "FILE")]
    pub(crate) prove: Option<PathBuf>,
    /// Exit status 1 unless a write of this size is promised untorn, and no cut tore one
    #[arg(long, value_name = "SIZE", value_parser = unit)]
    require: Option<ByteCount>,
    /// As JSON; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,
    /// As an HTML page, which needs no network; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// As Markdown; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) markdown: Option<PathBuf>,
}

impl AtomicArgs {
    /// What was typed, as a request.
    pub(crate) fn request(&self) -> AtomicRequest {
        AtomicRequest { target: self.target.clone(), prove: self.prove.clone(), require: self.require }
    }
}

/// A size that a write may have which is not torn.
fn unit(text: &str) -> Result<ByteCount, String> {
    let size: ByteCount =
        text.parse().map_err(|error: iostall_measure::units::UnitError| error.to_string())?;
    if size.bytes().is_power_of_two() && size.bytes() >= 512 {
        Ok(size)
    } else {
        Err(format!("{text:?} is no power of two from 512 bytes on, such as 16KiB"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_a_power_of_two() {
        assert_eq!(unit("16KiB"), Ok(ByteCount(16_384)));
        for wrong in ["", "12K", "0", "256", "16KB", "x"] {
            assert!(unit(wrong).is_err(), "{wrong}");
        }
    }
}
