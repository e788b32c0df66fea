//! What a release changes, for who asks.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// What a change does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    Add,
    Replace,
    Remove,
    /// It is there already.
    Same,
}

/// What a release changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Kind and name.
    pub object: String,
    pub path: PathBuf,
    pub change: ChangeKind,
}

/// What was done, or would be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// Of the release that was applied or undone.
    pub version: u64,
    pub is_undo: bool,
    pub changes: Vec<Change>,
}

/// What was done last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyStep<'a> {
    /// A copy of what is there was kept.
    Kept(&'a Path),
    /// What comes lies beside its place.
    Staged(&'a Path),
    /// What will be done was recorded.
    Recorded,
    /// A file was replaced, made or removed.
    Replaced(&'a Path),
    /// All files were read again, and are as they should be.
    Verified,
    /// That it is done was recorded.
    Completed,
}
