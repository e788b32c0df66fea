//! Opens large files, and finds what of them must be read.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

use iostall_engine::files::{self, FileStamp};
use iostall_engine::{Access, OpenError, OpenOptions, OpenTarget, open_target};
use iostall_measure::Caching;
use iostall_measure::platform::TargetKind;

use super::encode::Tagged;
use super::error::CreateError;
use super::source::FileRead;
use crate::plan::Plan;
use crate::progress::Progress;

const FILES_OPEN_MAX: usize = 256;

#[derive(Default)]
pub(super) struct Batch {
    pub(super) files: Vec<Tagged>,
    pub(super) reads: Vec<FileRead>,
    pub(super) opened: Vec<(OpenTarget, FileStamp)>,
    pub(super) vanished: Vec<u64>,
}

impl Batch {
    fn open(
        files: Vec<(Tagged, PathBuf)>,
        read_bytes: u32,
        progress: &Progress,
    ) -> Result<Self, CreateError> {
        let mut batch = Self::default();
        for (file, path) in files {
            if progress.is_cancelled() {
                return Err(CreateError::Cancelled);
            }
            let Some((open, stamp)) = open(&path)? else {
                batch.vanished.push(file.number);
                continue;
            };
            let plan = plan_of(&open, &stamp, read_bytes)?;
            batch.reads.push(FileRead::new(path, open.size_bytes, plan));
            batch.files.push(file);
            batch.opened.push((open, stamp));
        }
        Ok(batch)
    }
}

/// Opens files batch by batch, and calls `each` with one batch while the next is being opened: a device that waits for files to
/// be opened is idle.
pub(super) fn batches(
    files: Vec<(Tagged, PathBuf)>,
    read_bytes: u32,
    progress: &Progress,
    mut each: impl FnMut(Batch) -> Result<(), CreateError>,
) -> Result<(), CreateError> {
    std::thread::scope(|scope| {
        let (ready, batches) = sync_channel(0);
        scope.spawn(move || {
            let mut files = files.into_iter();
            loop {
                let some: Vec<_> = files.by_ref().take(FILES_OPEN_MAX).collect();
                if some.is_empty() {
                    return;
                }
                let batch = Batch::open(some, read_bytes, progress);
                let is_last = batch.is_err();
                if ready.send(batch).is_err() || is_last {
                    return;
                }
            }
        });
        batches.into_iter().try_for_each(|batch| each(batch?))
    })
}

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

fn plan_of(open: &OpenTarget, stamp: &FileStamp, read_bytes: u32) -> Result<Plan, CreateError> {
    Ok(Plan::new(open.size_bytes, &ranges_of(open, stamp)?, &[], read_bytes))
}

pub(super) fn ranges_of(open: &OpenTarget, stamp: &FileStamp) -> Result<Vec<Range<u64>>, CreateError> {
    let size_bytes = open.size_bytes;
    if open.kind != TargetKind::File || stamp.allocated_bytes >= size_bytes {
        return Ok(std::iter::once(0..size_bytes).collect());
    }
    let failed = CreateError::system("find the holes of", &open.path);
    files::data_ranges(open.file(), size_bytes).map_err(failed)
}
