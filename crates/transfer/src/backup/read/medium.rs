//! Where a part of a backup lies: in a file of this machine, or as an object in a store.

use std::io;
use std::path::Path;
use std::sync::Arc;

use iostall_engine::{FileHandle, OpenOptions, OpenTarget, files, open_target};
use iostall_measure::Caching;
use iostall_model::backup::Protection;
use iostall_remote::{EngineFile, ObjectReader, is_object};

use super::error::ReadError;
use crate::backup::places::{read_part, reader};

/// Enough of a stripe or of a manifest to see which set it is of.
pub(crate) const HEAD_BYTES: usize = 64;

#[derive(Debug)]
pub(super) enum Medium {
    File { buffered: Box<OpenTarget>, direct: Box<OpenTarget> },
    Object(Arc<ObjectReader>),
}

impl Medium {
    pub(super) fn open(path: &Path) -> Result<Self, ReadError> {
        if is_object(path) {
            return Ok(Self::Object(Arc::new(reader(path).map_err(ReadError::system("read", path))?)));
        }
        let options = OpenOptions { caching: Caching::Buffered, ..OpenOptions::default() };
        let buffered = open_target(path, &options)?;
        let direct = open_target(&buffered.open_path(), &OpenOptions::default())?;
        Ok(Self::File { buffered: Box::new(buffered), direct: Box::new(direct) })
    }

    pub(super) fn is_in_store(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::File { buffered, .. } => buffered.size_bytes,
            Self::Object(object) => object.bytes(),
        }
    }

    pub(super) fn part(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        match self {
            Self::File { buffered, .. } => read_part(buffered.file(), offset, length),
            Self::Object(object) => object.read(offset, length as u64),
        }
    }

    pub(super) fn protection(&self) -> Protection {
        match self {
            Self::File { .. } => Protection::default(),
            Self::Object(object) => object.protection(),
        }
    }

    pub(super) fn file(&self) -> EngineFile<'_> {
        match self {
            Self::File { direct, .. } => FileHandle::from(direct.file()).into(),
            Self::Object(object) => EngineFile::Object(Arc::clone(object)),
        }
    }

    pub(super) fn is_direct(&self) -> bool {
        matches!(self, Self::File { direct, .. } if files::is_direct(direct))
    }

    pub(super) fn caching_reason(&self) -> Option<&str> {
        match self {
            Self::File { direct, .. } => direct.direct.as_ref()?.reason.as_deref(),
            Self::Object(_) => None,
        }
    }

    pub(super) fn failure(&self) -> Option<String> {
        match self {
            Self::File { .. } => None,
            Self::Object(object) => object.failure(),
        }
    }
}

/// The first bytes of the regular file or object at `path`, at most `length`.
pub(crate) fn read_start(path: &Path, length: usize) -> Result<Vec<u8>, ReadError> {
    if is_object(path) {
        let read = reader(path).and_then(|reader| reader.read(0, length as u64));
        return read.map_err(ReadError::system("read", path));
    }
    let options = OpenOptions { caching: Caching::Buffered, ..OpenOptions::default() };
    let target = open_target(path, &options)?;
    read_part(target.file(), 0, length).map_err(ReadError::system("read", path))
}
