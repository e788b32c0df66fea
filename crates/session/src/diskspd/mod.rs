//! What a DiskSpd command line asks of the machine: its targets by DiskSpd's rules, and what to say about its numbers.

mod cautions;
mod targets;

use iostall_diskspd::DiskspdProfile;
use iostall_diskspd::report::{from_run, write_text, write_xml};
use iostall_model::Run;

pub use cautions::{cautions, hint};
pub use targets::{DiskspdTargetError, target_request};

/// The report in the forms that DiskSpd was asked for.
pub fn report(run: &Run, profile: &DiskspdProfile) -> String {
    let Some(report) = from_run(run, profile.clone()) else { return String::new() };
    let mut text = String::new();
    if profile.result_formats.text {
        text.push_str(&write_text(&report));
    }
    if profile.result_formats.xml {
        text.push_str(&write_xml(&report));
        text.push('\n');
    }
    text
}
