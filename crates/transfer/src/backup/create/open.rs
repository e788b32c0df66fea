//! Opens large files, and finds what of them must be read.

use std::io;
use std::ops::Range;
use std::path::Path;

use iostall_engine::files::{self, FileStamp};
use iostall_engine::{Access, OpenError, OpenOptions, OpenTarget, open_target};
use iostall_measure::Caching;
use iostall_measure::platform::TargetKind;

use super::error::CreateError;
use crate::plan::Plan;

/// Opens a file past the page cache; `None` if it is gone, or something else has taken its place.
pub(super) fn open(path: &Path) -> Result<Option<(OpenTarget, FileStamp)>, CreateError> {
    let options = OpenOptions { access: Access::Read, caching: Caching::Direct, ..OpenOptions::default() };
    match open_target(path, &options) {
        Ok(open) => {
            let stamp = files::stamp(&open).map_err(CreateError::system("look at", path))?;
            Ok(Some((open, stamp)))
        }
        Err(OpenError::Kind { .. }) => Ok(None),
        Err(OpenError::Refused { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The extents of a file, without its holes.
pub(super) fn plan_of(open: &OpenTarget, stamp: &FileStamp, read_bytes: u32) -> Result<Plan, CreateError> {
    Ok(Plan::new(open.size_bytes, &ranges_of(open, stamp)?, &[], read_bytes))
}

/// Where a file has data.
pub(super) fn ranges_of(open: &OpenTarget, stamp: &FileStamp) -> Result<Vec<Range<u64>>, CreateError> {
    let size_bytes = open.size_bytes;
    if open.kind != TargetKind::File || stamp.allocated_bytes >= size_bytes {
        return Ok(std::iter::once(0..size_bytes).collect());
    }
    let failed = CreateError::system("find the holes of", &open.path);
    files::data_ranges(open.file(), size_bytes).map_err(failed)
}
