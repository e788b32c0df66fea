//! DiskSpd 2.2 on Linux: its command line, its XML profiles, and their translation for our engine.
//!
//! The types ([`DiskspdProfile`] and below) match DiskSpd's exactly, so that a profile passes unchanged from
//! command line to XML and back. [`mapping`] converts them to an [`iostall_model::Profile`]; what Linux
//! cannot do is an
//! [`Unsupported`],
//! which is refused or reported by name. Everything here is pure: the caller says whether a file exists.

pub mod command_line;
pub mod distribution;
pub mod files;
mod format;
pub mod mapping;
pub mod profile;
pub mod report;
pub mod size;
pub mod unsupported;
pub mod usage;
pub mod validate;
mod version;
pub mod xml;

#[cfg(test)]
mod arbitrary;

pub use command_line::{CommandLineError, Parsed, Request, parse};
pub use distribution::{Distribution, DistributionRange, EffectiveRange, SpanKind};
pub use files::FilePlan;
pub use format::to_command_line;
pub use mapping::{MappedProfile, MappingError, to_profile};
pub use profile::{
    Access, CacheMode, CpuAssignment, DiskspdProfile, DiskspdTarget, DiskspdTimeSpan, FlushKind, IoPriority,
    PrecreateFiles, ResultFormats, ThreadTarget, Throughput, WriteBuffer,
};
pub use unsupported::Unsupported;
pub use validate::{Violation, advice, validate};
pub use version::{DISKSPD_VERSION, DISKSPD_VERSION_DATE};

/// DiskSpd's exit status for a rejected command line or profile.
pub const EXIT_REJECTED: u8 = 3;
/// DiskSpd's exit status for a failed run.
pub const EXIT_FAILED: u8 = 1;
