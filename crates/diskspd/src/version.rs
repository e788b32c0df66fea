//! Whose grammar and reports these are.

/// The version.
pub const DISKSPD_VERSION: &str = "2.2.0";
/// The date of that version, as its reports show it.
pub const DISKSPD_VERSION_DATE: &str = "2024/6/3";
