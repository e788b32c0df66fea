//! The stripes of a set on their way to their names, which they get when all of them are durable; the manifest follows. Before
//! that, nothing looks like a backup.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind, path_bytes, path_from_bytes};
use iostall_engine::guard::{self, Destinations, WriteConsent};
use iostall_engine::{FileHandle, OpenTarget};
use iostall_model::backup::{ObjectLock, SetId};
use iostall_remote::{EngineFile, Object, is_object};

use super::error::CreateError;
use super::target_file::{
    NAME_BYTES_MAX, PARTIAL_BYTES, RoomFile, TargetFile, begins_with_mark, partial_path, remove_left_over,
    write_new,
};
use super::target_object::{self, TargetObject, is_there, put_manifest, trial_path};
use crate::backup::format::StripeHeader;
use crate::backup::places::is_same_place;
use crate::backup::upload_note::{NoteObject, UploadNote};
use crate::plan::PLAN_ALIGN;

pub(super) use super::target_file::directory_of;

/// What follows the name of the first stripe in the name of the manifest.
const MANIFEST_SUFFIX: &str = ".manifest";

pub(super) struct Targets {
    set: SetId,
    lock: Option<ObjectLock>,
    stripes: Vec<Target>,
    /// Of the stripes that are objects; they go after the stripes.
    notes: Vec<NoteObject>,
}

enum Target {
    File(Box<TargetFile>),
    Object(TargetObject),
}

pub(super) struct Published {
    pub(super) path: PathBuf,
    /// A store that would have replaced it, had one been there.
    pub(super) replaces: Option<PathBuf>,
}

pub(super) fn manifest_path(stripe: &Path) -> PathBuf {
    let mut name = path_bytes(Path::new(stripe.file_name().unwrap_or_default())).to_vec();
    name.extend_from_slice(MANIFEST_SUFFIX.as_bytes());
    stripe.with_file_name(path_from_bytes(name))
}

/// Checks that every stripe and the manifest can have their names. Creates nothing.
pub fn check(targets: &[PathBuf]) -> Result<(), CreateError> {
    let destinations = Destinations::new(&WriteConsent::none());
    for (index, target) in targets.iter().enumerate() {
        if let Some(other) = targets[..index].iter().find(|other| is_same_place(other, target)) {
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
        if is_object(target) != is_object(&targets[0]) {
            let message = "some stripes are files and some are objects of a store".to_owned();
            return Err(CreateError::Settings(message));
        }
        refuse_existing(target, targets)?;
        if !is_object(target) {
            guard::check_new_file(target)?;
            destinations.check_directory(directory_of(target))?;
        }
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
        if !paths.iter().any(|path| is_same_place(directory_of(path), directory_of(&beside))) {
            paths.push(beside);
        }
    }
    paths
}

/// Says in each directory of a store what is going to be uploaded into it, under the name of its first stripe.
fn notes(set: SetId, targets: &[PathBuf]) -> Result<Vec<NoteObject>, CreateError> {
    let mut directories: BTreeMap<&Path, Vec<PathBuf>> = BTreeMap::new();
    for target in targets.iter().filter(|target| is_object(target)) {
        directories.entry(directory_of(target)).or_default().push(target.clone());
    }
    let put = |objects: Vec<PathBuf>| {
        let path = partial_path(&objects[0], set);
        NoteObject::put(&path, &UploadNote { set, objects }).map_err(CreateError::system("write", &path))
    };
    directories.into_values().map(put).collect()
}

fn refuse_existing(path: &Path, targets: &[PathBuf]) -> Result<(), CreateError> {
    if is_object(path) {
        let manifest = targets.first().map(|first| manifest_path(first)).unwrap_or_default();
        let look = |path| is_there(path).map_err(CreateError::system("look at", path));
        if !look(path)? {
            return Ok(());
        }
        // Only what a backup may have left is made whole by a manifest.
        let is_left_over = !look(&manifest)? && target_object::begins_with_mark(path).unwrap_or(false);
        let left_over = is_left_over.then(|| targets.to_vec());
        return Err(CreateError::Exists { path: path.to_owned(), left_over });
    }
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

impl Target {
    fn create(
        target: &Path,
        set: SetId,
        lock: Option<ObjectLock>,
        header: &StripeHeader,
    ) -> Result<Self, CreateError> {
        if is_object(target) {
            TargetObject::create(target, set, header, lock).map(Self::Object)
        } else {
            TargetFile::create(target, set, header).map(|file| Self::File(Box::new(file)))
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::File(file) => &file.target,
            Self::Object(object) => &object.target,
        }
    }

    fn sync(&self) -> io::Result<()> {
        match self {
            Self::File(file) => file.file.sync_all(),
            Self::Object(object) => object.upload.flush(),
        }
    }

    fn name(&mut self, targets: &[PathBuf]) -> Result<(), CreateError> {
        let named = match self {
            Self::File(file) => file.rename(),
            Self::Object(object) => object.name(),
        };
        named.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => match refuse_existing(self.path(), targets) {
                Err(exists) => exists,
                Ok(()) => CreateError::system("name", self.path())(error),
            },
            _ => CreateError::system("name", self.path())(error),
        })
    }

    fn complete(&mut self) {
        match self {
            Self::File(file) => file.complete(),
            Self::Object(object) => object.complete(),
        }
    }
}

impl Targets {
    /// Makes the stripes, each with its header, after removing what killed backups to the same names have left: their bytes are
    /// returned too.
    pub(super) fn create(
        set: SetId,
        targets: &[PathBuf],
        lock: Option<ObjectLock>,
        header: impl Fn(u16) -> StripeHeader,
    ) -> Result<(Self, u64), CreateError> {
        let left = targets.iter().cloned().chain(manifests(targets)).filter(|path| !is_object(path));
        let left_bytes = left.map(|path| remove_left_over(&path)).sum();
        let notes = notes(set, targets)?;
        let mut made = Self { set, lock, stripes: Vec::with_capacity(targets.len()), notes };
        for (number, target) in (0..).zip(targets) {
            made.stripes.push(Target::create(target, set, lock, &header(number))?);
        }
        Ok((made, left_bytes))
    }

    /// Makes stripes that will be thrown away, each with its header, and touches nothing that is there. Objects have names of their
    /// own: what was uploaded and not completed is nobody's in some stores.
    pub(super) fn create_trial(
        set: SetId,
        targets: &[PathBuf],
        header: impl Fn(u16) -> StripeHeader,
    ) -> Result<Self, CreateError> {
        let own_name = |target: &PathBuf| {
            if is_object(target) { trial_path(target, set) } else { target.clone() }
        };
        let targets: Vec<PathBuf> = targets.iter().map(own_name).collect();
        let notes = notes(set, &targets)?;
        let mut made = Self { set, lock: None, stripes: Vec::with_capacity(targets.len()), notes };
        for (number, target) in (0..).zip(&targets) {
            let stripe = if is_object(target) {
                Target::Object(TargetObject::create_trial(target, &header(number))?)
            } else {
                Target::create(target, set, None, &header(number))?
            };
            made.stripes.push(stripe);
        }
        Ok(made)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = EngineFile<'_>> {
        self.stripes.iter().map(|stripe| match stripe {
            Target::File(file) => FileHandle::from(&file.open).into(),
            Target::Object(object) => EngineFile::Upload(object.upload.clone()),
        })
    }

    /// What requests to each stripe must be multiples of, bytes.
    pub(super) fn aligns(&self) -> impl Iterator<Item = u32> {
        self.stripes.iter().map(|stripe| match stripe {
            Target::File(file) => align_of(&file.open),
            Target::Object(_) => 1,
        })
    }

    pub(super) fn reasons(&self) -> impl Iterator<Item = String> {
        self.local().filter_map(|file| reason(&file.target, &file.open))
    }

    fn local(&self) -> impl Iterator<Item = &TargetFile> {
        self.stripes.iter().filter_map(|stripe| match stripe {
            Target::File(file) => Some(&**file),
            Target::Object(_) => None,
        })
    }

    pub(super) fn path(&self, number: usize) -> Option<&Path> {
        self.stripes.get(number).map(Target::path)
    }

    /// Why a store refused what was written to a stripe, if it is one of a store.
    pub(super) fn refusal(&self, number: usize) -> Option<io::Error> {
        match self.stripes.get(number)? {
            Target::File(_) => None,
            Target::Object(object) => object.upload.check().err(),
        }
    }

    /// For each stripe, the length of its header, and the file if it is written through the page cache.
    pub(super) fn begins(&self) -> impl Iterator<Item = (u64, Option<File>)> {
        self.stripes.iter().map(|stripe| match stripe {
            Target::File(file) => {
                let buffered = if files::is_direct(&file.open) { None } else { file.file.try_clone().ok() };
                (file.header_bytes, buffered)
            }
            Target::Object(object) => (object.header_bytes, None),
        })
    }

    /// For each stripe, what is needed to reserve room for it; `None` where the page cache does better.
    pub(super) fn rooms(&self) -> impl Iterator<Item = Option<RoomFile>> {
        self.stripes.iter().map(|stripe| {
            let Target::File(stripe) = stripe else { return None };
            let file = files::is_direct(&stripe.open).then(|| stripe.file.try_clone().ok()).flatten()?;
            Some(RoomFile { file, directory: directory_of(&stripe.target).to_owned() })
        })
    }

    /// Gives each stripe its length, beyond which room may have been reserved, and makes all of them durable, at the same time.
    pub(super) fn sync(&self, lengths: &[u64]) -> Result<(), CreateError> {
        for (stripe, length) in self.stripes.iter().zip(lengths) {
            if let Target::File(file) = stripe {
                file.set_length(*length)?;
            }
        }
        let results: Vec<io::Result<()>> = std::thread::scope(|scope| {
            let syncs: Vec<_> = self.stripes.iter().map(|stripe| scope.spawn(|| stripe.sync())).collect();
            let join = |sync: std::thread::ScopedJoinHandle<'_, _>| {
                sync.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            syncs.into_iter().map(join).collect()
        });
        for (stripe, result) in self.stripes.iter().zip(results) {
            result.map_err(CreateError::system("make durable", stripe.path()))?;
        }
        Ok(())
    }

    /// Gives the stripes their names and writes the manifest, in this order. The stripes must be durable.
    pub(super) fn publish(mut self, manifest: &[u8]) -> Result<Published, CreateError> {
        let targets: Vec<PathBuf> = self.stripes.iter().map(|stripe| stripe.path().to_owned()).collect();
        for stripe in &mut self.stripes {
            stripe.name(&targets)?;
        }
        for directory in self.local().map(|file| directory_of(&file.target)) {
            files::sync_directory(directory).map_err(CreateError::system("make durable", directory))?;
        }
        // From here on the stripes are worth keeping: the manifest can be made from them.
        self.stripes.iter_mut().for_each(Target::complete);
        let mut paths = manifests(&targets);
        // The one that counts comes last.
        paths.reverse();
        let mut replaces = None;
        for path in &paths {
            let written = if is_object(path) {
                put_manifest(path, manifest, self.lock.as_ref()).map(|is_refused_twice| {
                    if !is_refused_twice {
                        replaces = Some(path.clone());
                    }
                })
            } else {
                write_new(path, self.set, manifest)
            };
            written.map_err(|source| CreateError::Manifest {
                path: path.clone(),
                stripes: targets.clone(),
                source,
            })?;
        }
        // Nothing is on its way any more.
        drop(self.notes);
        Ok(Published { path: paths.pop().unwrap_or_default(), replaces })
    }
}

/// What requests to an open file must be multiples of, bytes.
pub(super) fn align_of(open: &OpenTarget) -> u32 {
    if files::is_direct(open) { u32::try_from(PLAN_ALIGN).unwrap_or(4096) } else { 1 }
}

pub(super) fn reason(path: &Path, open: &OpenTarget) -> Option<String> {
    Some(format!("{}: {}", path.display(), open.direct.as_ref()?.reason.as_ref()?))
}

/// Refuses places that lock nothing. Where the account may not ask, the store says so when it takes the first stripe.
pub(super) fn check_lockable(targets: &[PathBuf], lock: Option<&ObjectLock>) -> Result<(), CreateError> {
    if lock.is_none() {
        return Ok(());
    }
    let refuse = |path: &Path, why| Err(CreateError::NotLockable { path: path.to_owned(), why });
    if targets.is_empty() {
        return refuse(Path::new("null:"), "nothing is written to it");
    }
    if let Some(file) = targets.iter().find(|target| !is_object(target)) {
        return refuse(file, "it is a file, and only object stores lock what they have");
    }
    for target in targets {
        let can = Object::at(target).and_then(|object| object.can_be_locked());
        if can.map_err(CreateError::system("ask about locks at", target))? == Some(false) {
            return refuse(target, "its bucket has no object lock");
        }
    }
    Ok(())
}
