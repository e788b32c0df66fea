//! The version of DiskSpd that this follows.

pub const DISKSPD_VERSION: &str = "2.2.0";
/// The date of that version, as its reports show it.
pub const DISKSPD_VERSION_DATE: &str = "2024/6/3";
