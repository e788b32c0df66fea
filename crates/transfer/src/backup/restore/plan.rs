//! What a restore makes, under which names.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use iostall_engine::files::{path_bytes, path_from_bytes};
use iostall_model::backup::{FileEntry, FileKind, Manifest, StoredName};

use super::error::RestoreError;

/// Directories below each other in a name. A path has at most 4096 bytes, of which a real one uses few.
const DEPTH_MAX: usize = 256;
const NAME_BYTES_MAX: usize = 4096;

#[derive(Clone, Debug)]
pub(super) struct Planned<'m> {
    pub(super) entry: &'m FileEntry,
    /// Below the root of the restore; empty for the root itself.
    pub(super) path: PathBuf,
    pub(super) make: Make,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Make {
    File,
    Directory,
    Symlink,
    /// A further name of the planned file with this path.
    HardLink(PathBuf),
}

#[derive(Debug)]
pub(super) struct Plan<'m> {
    pub(super) all: Vec<Planned<'m>>,
    pub(super) files: HashMap<u64, usize>,
}

impl<'m> Plan<'m> {
    /// Of all entries, or of those that are `only` or lie in it.
    pub(super) fn new(manifest: &'m Manifest, only: &[PathBuf]) -> Result<Self, RestoreError> {
        let entries: HashMap<&[u8], &FileEntry> =
            manifest.files.iter().map(|entry| (entry.name.as_bytes(), entry)).collect();
        if entries.len() < manifest.files.len() {
            return Err(twice(manifest));
        }
        for entry in &manifest.files {
            check_name(entry, &entries)?;
        }
        let selected = select(manifest, only)?;
        let names: HashSet<&[u8]> = selected.iter().map(|(entry, _)| entry.name.as_bytes()).collect();
        let mut plan = Self { all: Vec::with_capacity(selected.len()), files: HashMap::new() };
        // Files that are made under the name of a link, because their own name is not restored.
        let mut moved: HashMap<u64, PathBuf> = HashMap::new();
        let of_set =
            |path: &StoredName, only_parent: usize| path_from_bytes(path.as_bytes()[only_parent..].to_vec());
        for (entry, cut) in selected {
            let path = of_set(&entry.name, cut);
            let (entry, make) = match &entry.kind {
                FileKind::Directory => (entry, Make::Directory),
                FileKind::Symlink { .. } => (entry, Make::Symlink),
                FileKind::File | FileKind::BlockDevice | FileKind::Stream => (entry, Make::File),
                FileKind::HardLink { to } => {
                    let original =
                        entries.get(to.as_bytes()).copied().filter(|original| has_content(original));
                    let original = original.ok_or_else(|| unsafe_name(to))?;
                    match moved.get(&original.number) {
                        Some(first) => (entry, Make::HardLink(first.clone())),
                        None if names.contains(to.as_bytes()) => (entry, Make::HardLink(of_set(to, cut))),
                        None => {
                            moved.insert(original.number, path.clone());
                            (original, Make::File)
                        }
                    }
                }
            };
            if make == Make::File {
                plan.files.insert(entry.number, plan.all.len());
            }
            plan.all.push(Planned { entry, path, make });
        }
        Ok(plan)
    }

    /// The only thing to make, if that is a file.
    pub(super) fn one_file(&self) -> Option<&Planned<'m>> {
        match &self.all[..] {
            [one] if one.make == Make::File && one.path.file_name().is_some() => Some(one),
            _ => None,
        }
    }

    /// The directories that must exist, parents first, without the root.
    pub(super) fn directories(&self) -> Vec<&Path> {
        let mut all = HashSet::new();
        for planned in &self.all {
            let own = (planned.make == Make::Directory).then_some(planned.path.as_path());
            let above = planned.path.ancestors().skip(1);
            // What is above a known directory is known.
            for directory in own.into_iter().chain(above).take_while(|path| !path.as_os_str().is_empty()) {
                if !all.insert(directory) {
                    break;
                }
            }
        }
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_unstable();
        all
    }
}

fn has_content(entry: &FileEntry) -> bool {
    matches!(entry.kind, FileKind::File | FileKind::BlockDevice | FileKind::Stream)
}

fn unsafe_name(name: &StoredName) -> RestoreError {
    RestoreError::UnsafeName { name: name.to_string() }
}

fn twice(manifest: &Manifest) -> RestoreError {
    let mut seen = HashSet::new();
    let twice = manifest.files.iter().find(|entry| !seen.insert(entry.name.as_bytes()));
    unsafe_name(twice.map_or(&StoredName::default(), |entry| &entry.name))
}

/// A name must lead nowhere but down, and through nothing but directories of the set.
fn check_name(entry: &FileEntry, entries: &HashMap<&[u8], &FileEntry>) -> Result<(), RestoreError> {
    let name = entry.name.as_bytes();
    let refuse = || Err(unsafe_name(&entry.name));
    if name.is_empty() {
        return if entry.kind == FileKind::Directory { Ok(()) } else { refuse() };
    }
    let is_part = |part: &[u8]| !part.is_empty() && part != b"." && part != b".." && !part.contains(&0);
    let parts = name.split(|byte| *byte == b'/');
    if name.len() > NAME_BYTES_MAX || parts.clone().count() > DEPTH_MAX || !parts.clone().all(is_part) {
        return refuse();
    }
    let ends = name.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    for end in ends {
        if entries.get(&name[..end]).is_some_and(|above| above.kind != FileKind::Directory) {
            return refuse();
        }
    }
    Ok(())
}

/// The entries to restore, and how many bytes of their names are cut off: what stands before the last part of a single `only`.
fn select<'m>(manifest: &'m Manifest, only: &[PathBuf]) -> Result<Vec<(&'m FileEntry, usize)>, RestoreError> {
    if only.is_empty() {
        return Ok(manifest.files.iter().map(|entry| (entry, 0)).collect());
    }
    let wanted: Vec<&[u8]> = only.iter().map(|path| plain(path)).collect();
    for name in &wanted {
        if !manifest.files.iter().any(|entry| is_in(entry.name.as_bytes(), name)) {
            return Err(RestoreError::NotInSet { name: StoredName(name.to_vec()) });
        }
    }
    let cut = match &wanted[..] {
        [one] => one.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1),
        _ => 0,
    };
    let is_wanted = |entry: &&FileEntry| wanted.iter().any(|name| is_in(entry.name.as_bytes(), name));
    Ok(manifest.files.iter().filter(is_wanted).map(|entry| (entry, cut)).collect())
}

/// As names are stored: without `./` before and `/` after.
pub(super) fn plain(path: &Path) -> &[u8] {
    let mut name = path_bytes(path);
    while let Some(rest) = name.strip_prefix(b"./") {
        name = rest;
    }
    while let Some(rest) = name.strip_suffix(b"/") {
        name = rest;
    }
    name
}

pub(super) fn is_in(name: &[u8], directory: &[u8]) -> bool {
    name.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
}
