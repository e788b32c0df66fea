//! DiskSpd 2.2 on Linux: its command line, its XML profiles, and what they mean to our engine.
//!
//! The nouns ([`DiskspdProfile`] and below) say exactly what DiskSpd's own say and nothing more, so that a
//! profile travels command line → XML → command line unchanged. [`mapping`] turns them into a
//! [`iostall_model::Profile`]; what Linux cannot do is an [`Unsupported`], refused or warned about by name.
//! Everything here is pure: whether a file exists is asked of the caller.

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

/// Exit status of DiskSpd when the command line or the profile is rejected.
pub const EXIT_REJECTED: u8 = 3;
/// Exit status of DiskSpd when the run failed.
pub const EXIT_FAILED: u8 = 1;
