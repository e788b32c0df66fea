//! What a release changes, for who asks.

use std::path::{Path, PathBuf};

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    Add,
    Replace,
    Remove,
    Same,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Kind and name.
    pub object: String,
    pub path: PathBuf,
    pub change: ChangeKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// Of the release that was applied or undone.
    pub version: u64,
    pub is_undo: bool,
    pub changes: Vec<Change>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyStep<'a> {
    /// A copy of what is there was kept.
    Kept(&'a Path),
    /// What comes lies beside its place.
    Staged(&'a Path),
    Recorded,
    Replaced(&'a Path),
    /// All files were read again, and are as they should be.
    Verified,
    Completed,
}
