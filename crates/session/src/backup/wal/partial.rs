//! A segment that is being received: a plain file of what there is of it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files;
use iostall_transfer::backup::format::WalFacts;

use super::directory::{Cluster, check_own, partial_path};
use super::error::WalError;
use super::name::SegmentName;
use super::records::{Records, SegmentHead};

/// How much is read at once: a multiple of every size of a page.
const PART_BYTES: usize = 1 << 20;

pub(super) struct Partial {
    file: File,
    path: PathBuf,
    name: SegmentName,
}

impl Partial {
    pub(super) fn open(directory: &Path, name: SegmentName) -> Result<Self, WalError> {
        let path = partial_path(directory, name);
        let file = files::open_or_create_private(&path).map_err(WalError::system("make", &path))?;
        check_own(&files::stamp(&file).map_err(WalError::system("look at", &path))?, &path)?;
        files::sync_directory(directory).map_err(WalError::system("make durable", directory))?;
        Ok(Self { file, path, name })
    }

    pub(super) fn name(&self) -> SegmentName {
        self.name
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> Result<(), WalError> {
        files::write_all_at(&self.file, bytes, offset).map_err(WalError::system("write", &self.path))
    }

    pub(super) fn sync(&self) -> Result<(), WalError> {
        self.file.sync_data().map_err(WalError::system("make durable", &self.path))
    }
}

/// Hands the content over in parts, each of them whole pages but for the last.
pub(super) fn read(file: &File, sink: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut part = vec![0; PART_BYTES];
    let mut at = 0;
    loop {
        let mut filled = 0;
        while filled < part.len() {
            match files::read_at(file, &mut part[filled..], at)? {
                0 => break,
                read => (filled, at) = (filled + read, at + read as u64),
            }
        }
        if filled == 0 {
            return Ok(());
        }
        sink(&part[..filled]);
    }
}

/// What its records say; `None` if it is not, or not yet, a part of segment `name` of `cluster`.
pub(super) fn facts(file: &File, name: SegmentName, cluster: Cluster) -> io::Result<Option<WalFacts>> {
    let mut records: Option<Records> = None;
    let mut is_first = true;
    read(file, &mut |part| {
        if std::mem::take(&mut is_first) {
            let start = name.start(cluster.segment_bytes).map(|lsn| lsn.0);
            let head = SegmentHead::parse(part).filter(|head| {
                Some(head.start) == start && head.system_identifier == cluster.system_identifier
            });
            records = head.map(Records::of);
        }
        if let Some(records) = &mut records {
            records.read(part, &mut |_| {});
        }
    })?;
    Ok(records.map(|records| records.facts()))
}
