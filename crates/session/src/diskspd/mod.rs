//! Runs a DiskSpd command line: its targets by DiskSpd's rules, and warnings about its numbers.

mod cautions;
mod targets;

use iostall_diskspd::report::{AskedError, profile_of, report_of};
use iostall_diskspd::{DiskspdProfile, ResultFormats};
use iostall_model::Run;

pub use cautions::{cautions, hint};
pub use targets::{DiskspdTargetError, target_request};

pub fn report(run: &Run, profile: &DiskspdProfile) -> String {
    report_of(run, profile, profile.result_formats).unwrap_or_default()
}

pub fn report_again(run: &Run, formats: ResultFormats) -> Result<String, AskedError> {
    Ok(report_of(run, &profile_of(run)?, formats).unwrap_or_default())
}
