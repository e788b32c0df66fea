//! The files of the stripes: made under temporary names, renamed when all of them are durable, and followed by the
//! manifest. Before that, nothing looks like a backup.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind, UnfinishedFile, path_bytes, path_from_bytes};
use iostall_engine::guard::{self, Destinations, WriteConsent};
use iostall_engine::{Access, FileHandle, OpenOptions, OpenTarget, open_target};
use iostall_measure::Caching;
use iostall_model::backup::SetId;

use super::ahead::RoomFile;
use super::error::CreateError;
use crate::backup::format::StripeHeader;
use crate::plan::PLAN_ALIGN;

/// What follows the name of the first stripe in the name of the manifest.
const MANIFEST_SUFFIX: &str = ".manifest";
/// Longest name on common file systems, bytes.
const NAME_BYTES_MAX: usize = 255;
/// What a temporary name has beside the name: a point before it, and the set and `.partial` after it.
const PARTIAL_BYTES: usize = 1 + 1 + 32 + PARTIAL_SUFFIX.len();
const PARTIAL_SUFFIX: &str = ".partial";
/// What a stripe and a manifest begin with.
const MARKS: [&[u8]; 2] = [b"IOSTRIPE", b"IOSMANIF"];
const MARK_BYTES: u64 = 8;

/// All stripes of a set.
pub(super) struct Targets {
    set: SetId,
    stripes: Vec<TargetFile>,
}

/// A stripe on its way to its name. It is removed unless it was completed.
struct TargetFile {
    target: PathBuf,
    /// Where it is now.
    at: PathBuf,
    /// Through the page cache, and locked.
    file: File,
    /// What is written to.
    open: OpenTarget,
    header_bytes: u64,
    listed: UnfinishedFile,
    is_complete: bool,
}

/// The manifest of the set whose first stripe is `stripe`.
pub(super) fn manifest_path(stripe: &Path) -> PathBuf {
    let mut name = path_bytes(Path::new(stripe.file_name().unwrap_or_default())).to_vec();
    name.extend_from_slice(MANIFEST_SUFFIX.as_bytes());
    stripe.with_file_name(path_from_bytes(name))
}

/// Checks that every stripe and the manifest can have their names. Creates nothing.
pub fn check(targets: &[PathBuf]) -> Result<(), CreateError> {
    let destinations = Destinations::new(&WriteConsent::none());
    for (index, target) in targets.iter().enumerate() {
        if let Some(other) = targets[..index].iter().find(|other| guard::is_same_place(other, target)) {
            return Err(CreateError::SameTarget { one: other.clone(), other: target.clone() });
        }
        let name = target.file_name().map_or(&[][..], |name| path_bytes(Path::new(name)));
        if name.is_empty() {
            return Err(CreateError::Settings(format!("{} names no file for a stripe", target.display())));
        }
        if name.len() + PARTIAL_BYTES > NAME_BYTES_MAX {
            let most = NAME_BYTES_MAX - PARTIAL_BYTES;
            let message = format!("the name {} is longer than {most} bytes", target.display());
            return Err(CreateError::Settings(message));
        }
        refuse_existing(target, targets)?;
        guard::check_new_file(target)?;
        destinations.check_directory(directory_of(target))?;
    }
    for path in manifests(targets) {
        refuse_existing(&path, targets)?;
    }
    Ok(())
}

/// The manifest beside the first stripe, which counts, and then its copies: one in each other directory with a stripe.
fn manifests(targets: &[PathBuf]) -> Vec<PathBuf> {
    let Some(first) = targets.first() else { return Vec::new() };
    let manifest = manifest_path(first);
    let name = manifest.file_name().unwrap_or_default().to_owned();
    let mut paths: Vec<PathBuf> = vec![manifest];
    for target in &targets[1..] {
        let beside = target.with_file_name(&name);
        if !paths.iter().any(|path| guard::is_same_place(directory_of(path), directory_of(&beside))) {
            paths.push(beside);
        }
    }
    paths
}

fn refuse_existing(path: &Path, targets: &[PathBuf]) -> Result<(), CreateError> {
    match files::stamp_of_link(path) {
        Ok(there) => {
            let manifest = targets.first().map(|first| manifest_path(first));
            let is_left_over = there.kind == FileKind::Regular
                && there.size_bytes > 0
                && begins_with_mark(path).unwrap_or(false)
                && manifest.is_none_or(|manifest| files::stamp_of_link(&manifest).is_err());
            let left_over = is_left_over.then(|| targets.to_vec());
            Err(CreateError::Exists { path: path.to_owned(), left_over })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(CreateError::system("look at", path)(error)),
    }
}

/// Whether a file begins like a part of a backup; also one that is too short to tell.
fn begins_with_mark(path: &Path) -> io::Result<bool> {
    let mut begin = Vec::new();
    files::open_in_shared_directory(path)?.take(MARK_BYTES).read_to_end(&mut begin)?;
    Ok(MARKS.iter().any(|mark| mark.starts_with(&begin)))
}

pub(super) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn partial_path(target: &Path, set: SetId) -> PathBuf {
    let mut name = vec![b'.'];
    name.extend_from_slice(path_bytes(Path::new(target.file_name().unwrap_or_default())));
    name.extend_from_slice(format!(".{set}{PARTIAL_SUFFIX}").as_bytes());
    target.with_file_name(path_from_bytes(name))
}

/// Removes what backups to `target` that were killed have left under temporary names; returns their bytes.
fn remove_left_over(target: &Path) -> u64 {
    let name = path_bytes(Path::new(target.file_name().unwrap_or_default()));
    let is_partial = |found: &[u8]| {
        let set = found
            .strip_prefix(b".")
            .and_then(|rest| rest.strip_prefix(name))
            .and_then(|rest| rest.strip_prefix(b"."))
            .and_then(|rest| rest.strip_suffix(PARTIAL_SUFFIX.as_bytes()));
        set.is_some_and(|set| set.len() == 32 && set.iter().all(u8::is_ascii_hexdigit))
    };
    let Ok(entries) = std::fs::read_dir(directory_of(target)) else { return 0 };
    let mut bytes = 0;
    for entry in entries.flatten().filter(|entry| is_partial(path_bytes(Path::new(&entry.file_name())))) {
        bytes += remove_dead(&entry.path()).unwrap_or(0);
    }
    bytes
}

/// Removes a stripe or a manifest under a temporary name unless a living process has it.
pub(in crate::backup) fn remove_dead(path: &Path) -> io::Result<u64> {
    let file = files::open_to_lock(path)?;
    let there = files::stamp(&file)?;
    if there.kind != FileKind::Regular || there.links != 1 {
        return Ok(0);
    }
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(0),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    if !begins_with_mark(path)? {
        return Ok(0);
    }
    std::fs::remove_file(path)?;
    Ok(there.allocated_bytes)
}

impl Targets {
    /// Makes the stripes, each with its header, after removing what killed backups to the same names have left: their bytes are
    /// returned too.
    pub(super) fn create(
        set: SetId,
        targets: &[PathBuf],
        header: impl Fn(u16) -> StripeHeader,
    ) -> Result<(Self, u64), CreateError> {
        let left_bytes = targets.iter().chain(&manifests(targets)).map(|path| remove_left_over(path)).sum();
        Ok((Self::create_beside(set, targets, header)?, left_bytes))
    }

    /// Makes the stripes, each with its header, and touches nothing that is there.
    pub(super) fn create_beside(
        set: SetId,
        targets: &[PathBuf],
        header: impl Fn(u16) -> StripeHeader,
    ) -> Result<Self, CreateError> {
        let mut made = Self { set, stripes: Vec::with_capacity(targets.len()) };
        for (number, target) in (0..).zip(targets) {
            made.stripes.push(TargetFile::create(target, set, &header(number))?);
        }
        Ok(made)
    }

    pub(super) fn handles(&self) -> impl Iterator<Item = FileHandle<'_>> {
        self.stripes.iter().map(|stripe| FileHandle::from(&stripe.open))
    }

    /// What requests to each stripe must be multiples of, bytes.
    pub(super) fn aligns(&self) -> impl Iterator<Item = u32> {
        self.stripes.iter().map(|stripe| align_of(&stripe.open))
    }

    /// Why direct I/O is not in use.
    pub(super) fn reasons(&self) -> impl Iterator<Item = String> {
        self.stripes.iter().filter_map(|stripe| reason(&stripe.target, &stripe.open))
    }

    pub(super) fn path(&self, number: usize) -> Option<&Path> {
        self.stripes.get(number).map(|stripe| stripe.target.as_path())
    }

    /// For each stripe, the length of its header, and the file if it is written through the page cache.
    pub(super) fn begins(&self) -> impl Iterator<Item = (u64, Option<File>)> {
        self.stripes.iter().map(|stripe| {
            let buffered = if files::is_direct(&stripe.open) { None } else { stripe.file.try_clone().ok() };
            (stripe.header_bytes, buffered)
        })
    }

    /// For each stripe, what is needed to reserve room for it; `None` where the page cache does better.
    pub(super) fn rooms(&self) -> impl Iterator<Item = Option<RoomFile>> {
        self.stripes.iter().map(|stripe| {
            let file = files::is_direct(&stripe.open).then(|| stripe.file.try_clone().ok()).flatten()?;
            Some(RoomFile { file, directory: directory_of(&stripe.target).to_owned() })
        })
    }

    /// Gives each stripe its length, beyond which room may have been reserved, and makes all of them durable, at the same time.
    pub(super) fn sync(&self, lengths: &[u64]) -> Result<(), CreateError> {
        for (stripe, length) in self.stripes.iter().zip(lengths) {
            let failed = || CreateError::system("set the length of", &stripe.at);
            if stripe.file.metadata().map_err(failed())?.len() > *length {
                stripe.file.set_len(*length).map_err(failed())?;
            }
        }
        let results: Vec<io::Result<()>> = std::thread::scope(|scope| {
            let syncs: Vec<_> =
                self.stripes.iter().map(|stripe| scope.spawn(|| stripe.file.sync_all())).collect();
            let join = |sync: std::thread::ScopedJoinHandle<'_, _>| {
                sync.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            syncs.into_iter().map(join).collect()
        });
        for (stripe, result) in self.stripes.iter().zip(results) {
            result.map_err(CreateError::system("make durable", &stripe.at))?;
        }
        Ok(())
    }

    /// Gives the stripes their names and writes the manifest, in this order; returns where the manifest is. The stripes must be
    /// durable.
    pub(super) fn publish(mut self, manifest: &[u8]) -> Result<PathBuf, CreateError> {
        let targets: Vec<PathBuf> = self.stripes.iter().map(|stripe| stripe.target.clone()).collect();
        for stripe in &mut self.stripes {
            stripe.rename(&targets)?;
        }
        for target in &targets {
            let directory = directory_of(target);
            files::sync_directory(directory).map_err(CreateError::system("make durable", directory))?;
        }
        // From here on the stripes are worth keeping: the manifest can be made from them.
        self.stripes.iter_mut().for_each(TargetFile::complete);
        let mut paths = manifests(&targets);
        // The one that counts comes last.
        paths.reverse();
        for path in &paths {
            write_new(path, self.set, manifest).map_err(|source| CreateError::Manifest {
                path: path.clone(),
                stripes: targets.clone(),
                source,
            })?;
        }
        Ok(paths.pop().unwrap_or_default())
    }
}

/// Writes a file under a temporary name, makes it durable, and gives it its name.
fn write_new(path: &Path, set: SetId, bytes: &[u8]) -> io::Result<()> {
    let partial = partial_path(path, set);
    let mut file = files::create_new_private(&partial)?;
    let listed = UnfinishedFile::at(&partial);
    // Only says that somebody has it; where there are no locks, nothing can.
    let _ = file.try_lock();
    let written = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| files::rename_new(&partial, path))
        .and_then(|()| files::sync_directory(directory_of(path)));
    listed.finish();
    if written.is_err() {
        // Already failing; the name says what it is.
        let _ = std::fs::remove_file(&partial);
    }
    written
}

impl TargetFile {
    fn create(target: &Path, set: SetId, header: &StripeHeader) -> Result<Self, CreateError> {
        let at = partial_path(target, set);
        let file = files::create_new_private(&at).map_err(CreateError::system("create", &at))?;
        let listed = UnfinishedFile::at(&at);
        let opened = Self::begin(&at, &file, header);
        if opened.is_err() {
            let _ = std::fs::remove_file(&at);
        }
        let open = opened?;
        let target = target.to_owned();
        Ok(Self { target, at, file, open, header_bytes: header.bytes(), listed, is_complete: false })
    }

    fn begin(at: &Path, file: &File, header: &StripeHeader) -> Result<OpenTarget, CreateError> {
        let failed = |verb| CreateError::system(verb, at);
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) if files::has_no_locks(&error) => {}
            Err(TryLockError::Error(error)) => return Err(failed("lock")(error)),
            Err(TryLockError::WouldBlock) => return Err(failed("lock")(io::ErrorKind::WouldBlock.into())),
        }
        files::write_all_at(file, &header.encode(), 0).map_err(failed("write"))?;
        let options =
            OpenOptions { access: Access::Write, caching: Caching::Direct, ..OpenOptions::default() };
        let open = open_target(at, &options)?;
        let ours = files::stamp(file).map_err(failed("look at"))?;
        let opened = files::stamp(&open).map_err(failed("look at"))?;
        if opened.is_same_file(&ours) {
            Ok(open)
        } else {
            Err(failed("open")(io::ErrorKind::NotFound.into()))
        }
    }

    fn rename(&mut self, targets: &[PathBuf]) -> Result<(), CreateError> {
        files::rename_new(&self.at, &self.target).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => match refuse_existing(&self.target, targets) {
                Err(exists) => exists,
                Ok(()) => CreateError::system("name", &self.target)(error),
            },
            _ => CreateError::system("name", &self.target)(error),
        })?;
        self.at.clone_from(&self.target);
        self.listed.finish();
        self.listed = UnfinishedFile::at(&self.target);
        Ok(())
    }

    fn complete(&mut self) {
        self.is_complete = true;
        self.listed.finish();
    }
}

impl Drop for TargetFile {
    fn drop(&mut self) {
        let is_ours = || {
            let ours = files::stamp(&self.file).ok();
            files::stamp_of_link(&self.at)
                .is_ok_and(|there| ours.is_some_and(|ours| ours.is_same_file(&there)))
        };
        if !self.is_complete && is_ours() {
            // Already failing; what stays is recognisable by its name.
            let _ = std::fs::remove_file(&self.at);
        }
    }
}

/// What requests to an open file must be multiples of, bytes.
pub(super) fn align_of(open: &OpenTarget) -> u32 {
    if files::is_direct(open) { u32::try_from(PLAN_ALIGN).unwrap_or(4096) } else { 1 }
}

/// Why direct I/O is not in use for an open file, with its name.
pub(super) fn reason(path: &Path, open: &OpenTarget) -> Option<String> {
    Some(format!("{}: {}", path.display(), open.direct.as_ref()?.reason.as_ref()?))
}
