//! Log segments: made and written in full before anything is measured, and removed afterwards.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files::{UnfinishedFile, write_all_at};
use iostall_engine::guard::{
    GrantReason, HEADER_BYTES, Refusal, WriteConsent, WriteGrant, check_free_space, check_write,
    is_same_place, mark_made_by_iostall,
};
use iostall_engine::target_facts;
use iostall_measure::platform::Target;
use iostall_measure::{BlockSize, Nanos};
use iostall_model::sync::{LogLayout, SyncMethod};

use crate::error::SessionError;

const CHUNK_BYTES: usize = 1 << 20;

/// The name of segment `number`, from 0.
pub fn segment_name(number: u32) -> String {
    if number == 0 { "iostall-fsync.dat".to_owned() } else { format!("iostall-fsync-{}.dat", number + 1) }
}

/// The segments of a run. They are removed when this is dropped, or by a second Ctrl-C.
pub(super) struct Segments(Vec<Segment>);

impl Segments {
    pub(super) fn make(
        request: &FsyncRequest,
        count: u32,
        bytes: u64,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Self, SessionError> {
        check_directory(&request.directory)?;
        let paths: Vec<PathBuf> =
            (0..count).map(|number| request.directory.join(segment_name(number))).collect();
        let consent = consent(request, &paths);
        let missing = paths.iter().filter(|path| !path.exists()).count() as u64;
        check_free_space(&request.directory, missing * bytes).map_err(SessionError::SegmentSpace)?;
        let mut segments = Self(Vec::new());
        for path in paths {
            if stopped() {
                return Err(SessionError::Interrupted);
            }
            segments.0.push(Segment::make(path, bytes, &consent)?);
        }
        Ok(segments)
    }

    pub(super) fn facts(&self) -> Result<Target, SessionError> {
        let first = self.0.first().ok_or(SessionError::NoFileSystem)?;
        target_facts(&first.path, None)
            .map_err(|source| SessionError::Look { path: first.path.clone(), source })
    }

    pub(super) fn open_paths(&self) -> impl Iterator<Item = PathBuf> {
        self.0.iter().map(|segment| segment.grant.open_path())
    }
}

/// The consent for new segments: a user who names the directory means the files that iostall makes in it, and no others.
fn consent(request: &FsyncRequest, paths: &[PathBuf]) -> WriteConsent {
    let mut overwrite = request.overwrite.clone();
    if request.overwrite.iter().any(|named| is_same_place(named, &request.directory)) {
        overwrite.extend(paths.iter().filter(|path| !path.exists()).cloned());
    }
    WriteConsent { overwrite, ..WriteConsent::none() }
}

fn check_directory(path: &Path) -> Result<(), SessionError> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(SessionError::NoDirectory { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Refusal::NoDirectory { path: path.to_owned() }.into())
        }
        Err(source) => Err(SessionError::Look { path: path.to_owned(), source }),
    }
}

struct Segment {
    grant: WriteGrant,
    path: PathBuf,
    _listed: UnfinishedFile,
}

impl Segment {
    fn make(path: PathBuf, bytes: u64, consent: &WriteConsent) -> Result<Self, SessionError> {
        let grant = match check_write(&path, consent) {
            Err(Refusal::FileNotNamed { .. } | Refusal::Database { .. }) => {
                return Err(SessionError::SegmentInTheWay { path });
            }
            granted => granted?,
        };
        if !matches!(grant.reason(), GrantReason::Created | GrantReason::MadeByIostall) {
            return Err(SessionError::SegmentInTheWay { path });
        }
        // From here on it is removed, whatever fails.
        let listed = UnfinishedFile::at(grant.path());
        let segment = Self { grant, path, _listed: listed };
        segment
            .write_zeros(bytes)
            .map_err(|source| SessionError::MakePaced { path: segment.path.clone(), source })?;
        Ok(segment)
    }

    /// Writes the whole segment, as PostgreSQL does: no commit then has to allocate blocks or change the size.
    fn write_zeros(&self, bytes: u64) -> io::Result<()> {
        let file = self.grant.file();
        file.set_len(0)?;
        mark_made_by_iostall(file)?;
        let zeros = vec![0; CHUNK_BYTES];
        let mut offset = HEADER_BYTES as u64;
        while offset < bytes {
            let length = usize::try_from(bytes - offset).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
            write_all_at(file, &zeros[..length], offset)?;
            offset += length as u64;
        }
        file.sync_all()
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // If it cannot be removed, the next run uses it again.
        let _ = self.grant.remove();
    }
}

#[derive(Clone, Debug)]
pub struct FsyncRequest {
    /// Where the log is, or would be.
    pub directory: PathBuf,
    pub methods: Vec<SyncMethod>,
    /// Each method is measured with each number.
    pub committers: Vec<u32>,
    pub log: LogLayout,
    /// Time for each method with each number of committers.
    pub duration: Nanos,
    pub block: BlockSize,
    /// The data directory of the server whose settings are shown; `None`: the one that the directory is in.
    pub data_directory: Option<PathBuf>,
    /// The directory or the segment in it, if that may be a new file in a database's directory.
    pub overwrite: Vec<PathBuf>,
    pub name: String,
}
