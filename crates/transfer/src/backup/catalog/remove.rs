//! Deletes a set: first what makes it a backup, then its stripes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files::{rename_over, sync_directory};
use iostall_model::backup::SetId;
use iostall_remote::{Object, is_object};
use thiserror::Error;

use super::scan::{FoundSet, Part, REMOVED, content_of, part_of};

#[derive(Debug, Error)]
pub enum RemoveError {
    #[error("{} is no longer a file of set {set}: nothing was deleted", path.display())]
    NotOfSet { path: PathBuf, set: SetId },
    #[error("cannot {verb} {}", path.display())]
    System { verb: &'static str, path: PathBuf, source: io::Error },
}

/// Deletes all files of `set` that were found. Every file is looked at again before anything is done, and only files whose
/// content says that they belong to the set are deleted.
pub fn remove(set: &FoundSet) -> Result<(), RemoveError> {
    let stripes = set.stripes.iter().map(|stripe| &stripe.path);
    stripes.chain(&set.manifests).chain(&set.removed).try_for_each(|path| check(path, set.set))?;
    steps(set).iter().try_for_each(Step::take)
}

/// Gives up the uploads of `set` that were found, and removes the notes of them. What has got its name stays.
pub fn give_up_uploads(set: &FoundSet) -> Result<(), RemoveError> {
    for found in &set.uploads {
        found.upload.give_up().map_err(failed("give up the upload of", &found.upload.path))?;
    }
    // A store that renames what was uploaded may have one that was complete and has not got its name.
    let unnamed = set.stripes.iter().filter(|stripe| stripe.is_unfinished && is_object(&stripe.path));
    for stripe in unnamed {
        check(&stripe.path, set.set)?;
        Step::Delete(stripe.path.clone()).take()?;
    }
    // Without them nobody would find what is left after an interruption.
    set.notes.iter().try_for_each(|note| Step::Delete(note.clone()).take())
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A manifest gets a name that no reader takes for one.
    Mark {
        manifest: PathBuf,
        mark: PathBuf,
    },
    Sync(PathBuf),
    Delete(PathBuf),
}

/// What is to be done. The marks are durable before the first stripe goes, and go last. So at every moment the set is either
/// whole, or not a backup, and what is left says that its deletion goes on.
pub(super) fn steps(set: &FoundSet) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut marks = set.removed.clone();
    for manifest in in_order(set) {
        let mark = mark_of(manifest, set.set);
        steps.push(Step::Mark { manifest: manifest.to_owned(), mark: mark.clone() });
        steps.push(Step::Sync(directory_of(manifest)));
        if !marks.contains(&mark) {
            marks.push(mark);
        }
    }
    let stripes: Vec<PathBuf> = set.stripes.iter().map(|stripe| stripe.path.clone()).collect();
    for paths in [stripes, marks] {
        let directories: BTreeSet<PathBuf> = paths.iter().map(|path| directory_of(path)).collect();
        steps.extend(paths.into_iter().map(Step::Delete));
        steps.extend(directories.into_iter().map(Step::Sync));
    }
    steps
}

impl Step {
    pub(super) fn take(&self) -> Result<(), RemoveError> {
        match self {
            Self::Mark { manifest, mark } if is_object(manifest) => {
                mark_object(manifest, mark).map_err(failed("mark as deleted", manifest))
            }
            Self::Mark { manifest, mark } => rename_over(manifest, mark).map_err(failed("rename", manifest)),
            // A store has answered when it is done.
            Self::Sync(directory) if is_object(directory) => Ok(()),
            Self::Delete(path) if is_object(path) => {
                Object::at(path).and_then(|object| object.delete()).map_err(failed("delete", path))
            }
            Self::Sync(directory) => sync_directory(directory).map_err(failed("sync", directory)),
            Self::Delete(path) => match std::fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("delete", path)(error)),
                _ => Ok(()),
            },
        }
    }
}

/// Objects have no other names: the mark is a copy.
fn mark_object(manifest: &Path, mark: &Path) -> io::Result<()> {
    match Object::at(mark)?.put_new(&content_of(manifest)?, None) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    Object::at(manifest)?.delete()
}

/// The manifest beside the first stripe makes the set a backup, so it goes first.
fn in_order(set: &FoundSet) -> Vec<&Path> {
    let first = set.stripes.iter().find(|stripe| stripe.number == 0).and_then(|stripe| stripe.path.parent());
    let mut manifests: Vec<&Path> = set.manifests.iter().map(PathBuf::as_path).collect();
    manifests.sort_by_key(|manifest| manifest.parent() != first);
    manifests
}

fn check(path: &Path, set: SetId) -> Result<(), RemoveError> {
    let found = match part_of(path) {
        // An upload that was given up a moment ago.
        Err(error) if is_object(path) && error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(failed("read", path))?,
    };
    let of_set = match found.part {
        Part::Stripe(header) => header.set == set,
        Part::Manifest(found) => found == set,
        Part::Uploads(_) | Part::Other => false,
    };
    of_set.then_some(()).ok_or_else(|| RemoveError::NotOfSet { path: path.to_owned(), set })
}

fn mark_of(manifest: &Path, set: SetId) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(manifest.file_name().unwrap_or_default());
    name.push(format!(".{set}{REMOVED}"));
    manifest.with_file_name(name)
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn failed<'p>(verb: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> RemoveError + use<'p> {
    move |source| RemoveError::System { verb, path: path.to_owned(), source }
}
