//! Files that come in one stream: one after another, or those of several mixed.

use iostall_model::backup::{FileKind, FileMetadata, StoredName};

use crate::pipeline::StageFailure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// The next entry begins: the first is number 0.
    Begins,
    /// At least so many bytes of the file `file`, which stand at `offset`: [`StreamedFiles::read`] reads them.
    Content { file: usize, offset: u64, left: u64 },
    /// The entry is whole and has so many bytes of content.
    Ends { file: usize, size_bytes: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamedEntry {
    /// Relative, and without `.` and `..`.
    pub name: StoredName,
    pub kind: FileKind,
    /// `None`: that of the stream.
    pub metadata: Option<FileMetadata>,
}

/// A stream of files. Only a stream that is whole has an end; anything else is an error.
pub trait StreamedFiles: Send {
    /// What comes next; `None` at the end. Content stays ahead until it is read.
    fn ahead(&mut self) -> Result<Option<Ahead>, StageFailure>;

    /// Reads content that is ahead into `room`, which is not empty; returns how much, which is 0 if none is ahead.
    fn read(&mut self, room: &mut [u8]) -> Result<usize, StageFailure>;

    fn entry(&self, file: usize) -> Option<StreamedEntry>;

    /// About how many bytes the content of all files has; 0 if nobody knows.
    fn estimated_bytes(&self) -> u64 {
        0
    }
}
