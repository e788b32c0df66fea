//! The directory of an archive, and the file in it that says which cluster it is of.
//!
//! Without that file it is no archive: an empty directory below which nothing is mounted must not look like one in which a segment
//! is missing.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use iostall_engine::Input;
use iostall_engine::files::{self, FileKind, FileStamp, UnfinishedFile};
use iostall_measure::ByteCount;

use super::error::WalError;
use super::name::{CLUSTER_FILE, SegmentName, WalName};
use super::place::{self, is_object};

/// What follows the name of a file in an archive.
const SUFFIX: &str = ".iow";
/// What follows the name of a file that is being written.
const TEMPORARY: &str = ".iostall.tmp";
const FIRST_LINE: &str = "iostall WAL archive, version 1";
const IDENTIFIER: &str = "system identifier ";
const SEGMENT: &str = "segment bytes ";
const CLUSTER_INPUT: Input = Input { what: "description of the archive", limit: ByteCount(4096) };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cluster {
    pub(super) system_identifier: u64,
    pub(super) segment_bytes: u64,
}

impl Cluster {
    fn text(self) -> String {
        let Self { system_identifier, segment_bytes } = self;
        format!("{FIRST_LINE}\n{IDENTIFIER}{system_identifier}\n{SEGMENT}{segment_bytes}\n")
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        if first != FIRST_LINE {
            return Err(format!("its first line is {first:?} instead of {FIRST_LINE:?}"));
        }
        let mut number = |name: &str| {
            let value = lines.next().and_then(|line| line.strip_prefix(name)?.parse::<u64>().ok());
            value.ok_or_else(|| format!("it has no line {name:?} with a number"))
        };
        let (system_identifier, segment_bytes) = (number(IDENTIFIER)?, number(SEGMENT)?);
        if !segment_bytes.is_power_of_two() || segment_bytes > 1 << 32 {
            return Err(format!("segments have no {segment_bytes} bytes"));
        }
        Ok(Self { system_identifier, segment_bytes })
    }
}

pub(super) fn path_of(directory: &Path, name: WalName) -> PathBuf {
    directory.join(format!("{name}{SUFFIX}"))
}

pub(super) fn partial_path(directory: &Path, name: SegmentName) -> PathBuf {
    directory.join(WalName::Partial(name).to_string())
}

pub(super) fn partial_name(file_name: &str) -> Option<SegmentName> {
    match WalName::parse(file_name)? {
        WalName::Partial(name) => Some(name),
        _ => None,
    }
}

pub(super) fn name_of(file_name: &str) -> Option<WalName> {
    WalName::parse(file_name.strip_suffix(SUFFIX)?)
}

/// The cluster that `directory` is an archive of; `None` if it is no archive yet.
pub(super) fn cluster(directory: &Path) -> Result<Option<Cluster>, WalError> {
    let path = directory.join(CLUSTER_FILE);
    let wrong = |reason: String| WalError::ClusterFile { path: path.clone(), reason };
    if is_object(&path) {
        let file = match place::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(WalError::system("read", &path))?,
        };
        let mut text = String::new();
        let read = file.take(CLUSTER_INPUT.limit.bytes()).read_to_string(&mut text);
        read.map_err(|error| wrong(error.to_string()))?;
        return Cluster::parse(&text).map(Some).map_err(wrong);
    }
    match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A directory that is missing is another matter.
            fs::metadata(directory).map_err(WalError::system("look at", directory))?;
            return Ok(None);
        }
        found => found.map_err(WalError::system("look at", &path))?,
    };
    let text = CLUSTER_INPUT.text(&path).map_err(|error| wrong(error.to_string()))?;
    Cluster::parse(&text).map(Some).map_err(wrong)
}

/// [`cluster`] for what must be an archive.
pub(super) fn existing_cluster(directory: &Path) -> Result<Cluster, WalError> {
    cluster(directory)?.ok_or_else(|| WalError::NoArchive { directory: directory.to_owned() })
}

/// Makes `directory` the archive of `cluster`, unless it is one already; returns whose archive it is. Refuses segments
/// without their description, which may be of another cluster, and a log that another program keeps there: what is
/// received would be written over its files.
pub(super) fn make_archive(directory: &Path, cluster: Cluster) -> Result<Cluster, WalError> {
    let mut foreign = None;
    for entry in place::entries(directory).map_err(WalError::system("list", directory))? {
        let name = &entry.file_name;
        let is_segment = |name| matches!(name, WalName::Segment(_) | WalName::Partial(_));
        if name_of(name).is_some_and(is_segment) {
            return Err(WalError::NoCluster { directory: directory.to_owned() });
        }
        if WalName::parse(name).is_some_and(is_segment) {
            foreign = Some(directory.join(name));
        }
    }
    if let Some(path) = foreign {
        return Err(WalError::OfAnother { path });
    }
    let path = directory.join(CLUSTER_FILE);
    let new = NewFile::begin(&path)?;
    let written = (&new.file).write_all(cluster.text().as_bytes());
    written.map_err(WalError::system("write", &path))?;
    match new.finish() {
        // Another one was faster.
        Err(WalError::Exists { .. }) => existing_cluster(directory),
        other => other.map(|()| cluster),
    }
}

/// A file that gets its name when it is whole and durable. What a killed iostall left of it is written anew.
pub(super) struct NewFile<'a> {
    pub(super) file: File,
    target: &'a Path,
    /// `None` on its way to a store, which has it when it is whole.
    hidden: Option<Hidden>,
}

struct Hidden {
    temporary: PathBuf,
    ours: File,
    unfinished: UnfinishedFile,
    is_named: bool,
}

impl<'a> NewFile<'a> {
    pub(super) fn begin(target: &'a Path) -> Result<Self, WalError> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let temporary = target.with_file_name(format!(".{name}{TEMPORARY}"));
        if is_object(target) {
            let file = files::in_memory(&[]).map_err(WalError::system("make", target))?;
            return Ok(Self { file, target, hidden: None });
        }
        let failed = || WalError::system("make", &temporary);
        loop {
            let file = files::open_or_create_private(&temporary).map_err(failed())?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(WalError::Busy { path: target.to_owned() }),
                // A file system without locks: two at once are not noticed there.
                Err(TryLockError::Error(error)) if !files::has_no_locks(&error) => {
                    return Err(failed()(error));
                }
                Ok(()) | Err(TryLockError::Error(_)) => {}
            }
            // Whoever had the lock may have given the file its name meanwhile: then it is not ours to write to.
            let stamp = files::stamp(&file).map_err(failed())?;
            check_own(&stamp, &temporary)?;
            if files::stamp_of_link(&temporary).is_ok_and(|now| now.is_same_file(&stamp)) {
                file.set_len(0).map_err(failed())?;
                let unfinished = UnfinishedFile::at(&temporary);
                let ours = file.try_clone().map_err(failed())?;
                let hidden = Some(Hidden { temporary, ours, unfinished, is_named: false });
                return Ok(Self { file, target, hidden });
            }
        }
    }

    /// Makes it durable and gives it its name. Fails with [`WalError::Exists`] if something has the name.
    pub(super) fn finish(self) -> Result<(), WalError> {
        if let Some(hidden) = &self.hidden {
            self.file.sync_all().map_err(WalError::system("make durable", &hidden.temporary))?;
        }
        let parent = parent(self.target);
        self.name()?;
        place::sync(parent).map_err(WalError::system("make durable", parent))
    }

    /// Gives it its name without waiting for the disk.
    pub(super) fn name(mut self) -> Result<(), WalError> {
        let named = match &self.hidden {
            Some(hidden) => files::rename_new(&hidden.temporary, self.target),
            None => place::put(self.target, &self.file),
        };
        named.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => WalError::Exists { path: self.target.to_owned() },
            _ => WalError::System { verb: "make", path: self.target.to_owned(), source },
        })?;
        if let Some(hidden) = &mut self.hidden {
            hidden.is_named = true;
            hidden.unfinished.finish();
        }
        Ok(())
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if !self.is_named {
            // An error is reported already, and the next one to write this file begins with what is left.
            let _ = files::remove_own(&self.temporary, &self.ours);
        }
    }
}

/// Refuses a file that somebody else has put where one of ours is written: he may read and change it later.
pub(super) fn check_own(file: &FileStamp, path: &Path) -> Result<(), WalError> {
    let is_plain = file.kind == FileKind::Regular && file.links == 1;
    if is_plain && files::is_own(file, parent(path)) {
        return Ok(());
    }
    Err(WalError::NotOurs { path: path.to_owned() })
}

pub(super) fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: Cluster = Cluster { system_identifier: u64::MAX - 1, segment_bytes: 16 << 20 };

    #[test]
    fn a_directory_is_an_archive_of_one_cluster_and_stays_it() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(cluster(directory.path()).unwrap(), None);
        assert!(matches!(existing_cluster(directory.path()), Err(WalError::NoArchive { .. })));
        assert_eq!(make_archive(directory.path(), CLUSTER).unwrap(), CLUSTER);
        assert_eq!(cluster(directory.path()).unwrap(), Some(CLUSTER));
        let other = Cluster { system_identifier: 1, ..CLUSTER };
        assert_eq!(make_archive(directory.path(), other).unwrap(), CLUSTER, "another one was faster");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        let missing = cluster(&directory.path().join("missing")).unwrap_err();
        assert!(missing.hint().unwrap().contains("mkdir"), "{missing}");
    }

    #[test]
    fn a_description_that_somebody_changed_or_lost_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(CLUSTER_FILE);
        for text in
            ["", "iostall WAL archive, version 2\n", &CLUSTER.text().replace("16777216", "3"), "\u{0}"]
        {
            fs::write(&path, text).unwrap();
            assert!(matches!(cluster(directory.path()), Err(WalError::ClusterFile { .. })), "{text:?}");
        }
        fs::remove_file(&path).unwrap();
        fs::write(directory.path().join("00000002.history.iow"), "").unwrap();
        make_archive(directory.path(), CLUSTER).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(directory.path().join("000000010000000000000003.iow"), "").unwrap();
        assert!(matches!(make_archive(directory.path(), CLUSTER), Err(WalError::NoCluster { .. })));
    }

    /// A receiver that was given the directory of another one would have written into its unfinished segment.
    #[test]
    fn where_another_program_keeps_the_log_is_no_place_for_an_archive() {
        for name in ["000000010000000000000003", "000000010000000000000003.partial"] {
            let directory = tempfile::tempdir().unwrap();
            fs::write(directory.path().join(name), "of another program").unwrap();
            let refused = make_archive(directory.path(), CLUSTER).unwrap_err();
            assert!(matches!(refused, WalError::OfAnother { .. }) && refused.hint().is_some(), "{refused}");
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        }
    }

    /// The story: a process was killed while it wrote, and another one was writing the same file.
    #[test]
    fn what_was_left_is_written_anew_and_what_is_being_written_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("file");
        let left = directory.path().join(".file.iostall.tmp");
        fs::write(&left, "left by a killed process").unwrap();
        let new = NewFile::begin(&target).unwrap();
        assert!(matches!(NewFile::begin(&target), Err(WalError::Busy { .. })));
        (&new.file).write_all(b"new").unwrap();
        new.finish().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        let again = NewFile::begin(&target).unwrap();
        assert!(matches!(again.finish(), Err(WalError::Exists { .. })));
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing else is left");
        // A file that has another name may be anybody's.
        fs::hard_link(&target, &left).unwrap();
        assert!(matches!(NewFile::begin(&target), Err(WalError::NotOurs { .. })));
        assert_eq!(fs::read(&target).unwrap(), b"new");
        // So may one of another account: what is archived would be its open file.
        fs::remove_file(&left).unwrap();
        fs::write(&left, "theirs").unwrap();
        if files::effective_user() == 0 {
            std::os::unix::fs::chown(&left, Some(65_534), None).unwrap();
            assert!(matches!(NewFile::begin(&target), Err(WalError::NotOurs { .. })));
            assert_eq!(fs::read(&left).unwrap(), b"theirs");
        }
    }
}
