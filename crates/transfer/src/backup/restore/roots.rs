//! The directories that a restore makes: its destination, and others for parts that belong elsewhere, such as tablespaces.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, OpenDirectory};
use iostall_engine::guard::WriteConsent;

use super::error::RestoreError;
use super::place::Place;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    pub name: PathBuf,
    pub to: PathBuf,
    /// The link of the set that leads to it. It will lead to `to`.
    pub link: PathBuf,
}

#[derive(Clone, Copy)]
pub(super) enum Onto<'p> {
    Directories(&'p Roots),
    /// The one file of the restore is the content of this block device.
    Device(&'p File),
}

pub(super) struct Roots {
    pub(super) main: Place,
    parts: Vec<Part>,
}

struct Part {
    name: PathBuf,
    link: PathBuf,
    leads_to: PathBuf,
    place: Place,
}

impl Onto<'_> {
    pub(super) fn below(&self, path: &Path) -> io::Result<OpenDirectory> {
        match self {
            Self::Directories(roots) => roots.below(path),
            Self::Device(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Whether a directory of the restore is a root, and so is there already.
    pub(super) fn is_root(&self, path: &Path) -> bool {
        path == Path::new("")
            || matches!(self, Self::Directories(roots) if roots.parts.iter().any(|part| part.name == path))
    }

    /// Where a link leads instead of where it did, if the part that it leads to goes elsewhere.
    pub(super) fn leads_to(&self, link: &Path) -> Option<&Path> {
        let Self::Directories(roots) = self else { return None };
        roots.parts.iter().find(|part| part.link == link).map(|part| part.leads_to.as_path())
    }
}

impl Roots {
    pub(super) fn prepare(
        to: &Path,
        file: Option<&OsStr>,
        consent: &WriteConsent,
        elsewhere: &[Elsewhere],
    ) -> Result<Self, RestoreError> {
        let main = Place::prepare(to, file, consent)?;
        let mut roots = Self { main, parts: Vec::with_capacity(elsewhere.len()) };
        for elsewhere in elsewhere {
            match Part::prepare(elsewhere, consent) {
                Ok(part) => roots.parts.push(part),
                Err(error) => {
                    // Already failing, and nothing is in them.
                    roots.abandon();
                    return Err(error);
                }
            }
        }
        Ok(roots)
    }

    fn below(&self, path: &Path) -> io::Result<OpenDirectory> {
        self.below_within(Path::new(""), path)
    }

    /// A directory of another restore, which is made in the directory `within` of each root.
    pub(super) fn below_within(&self, within: &Path, path: &Path) -> io::Result<OpenDirectory> {
        let part = self.parts.iter().find_map(|part| Some((part, path.strip_prefix(&part.name).ok()?)));
        match part {
            Some((part, inside)) => part.place.root.below(&within.join(inside)),
            None => self.main.root.below(&within.join(path)),
        }
    }

    /// Whether `files`, each with the bytes that it takes, fit on the file systems that they go to, as far as that can be
    /// known. What an interrupted restore had left is removed by now.
    pub(super) fn check_room<'f>(
        &self,
        files: impl Iterator<Item = (&'f Path, u64)>,
    ) -> Result<(), RestoreError> {
        let mut of_places = vec![0_u64; self.parts.len() + 1];
        for (path, bytes) in files {
            let part = self.parts.iter().position(|part| path.starts_with(&part.name));
            of_places[part.unwrap_or(self.parts.len())] += bytes;
        }
        let mut needed: BTreeMap<u64, (&Place, u64)> = BTreeMap::new();
        for (place, bytes) in self.places().zip(of_places) {
            let stamp = files::stamp_of_path(&place.temporary);
            let device = stamp.map_err(RestoreError::system("look at", &place.temporary))?.device;
            needed.entry(device).or_insert((place, 0)).1 += bytes;
        }
        needed.into_values().try_for_each(|(place, bytes)| place.check_room(bytes))
    }

    fn places(&self) -> impl Iterator<Item = &Place> {
        self.parts.iter().map(|part| &part.place).chain([&self.main])
    }

    /// Where each part that goes elsewhere is made, in the order in which they were named.
    pub(super) fn temporary_parts(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().map(|part| part.place.temporary.as_path())
    }

    pub(super) fn sync(&self) -> Result<(), RestoreError> {
        self.places().try_for_each(|place| {
            let synced = files::sync_file_system(&place.lock);
            synced.map_err(RestoreError::system("make durable", &place.temporary))
        })
    }

    /// Gives everything its name, the destination last. `set_metadata` sets that of a root, which it gets with its path in the
    /// restore.
    pub(super) fn finish(&self, set_metadata: impl Fn(&Path, &OpenDirectory)) -> Result<(), RestoreError> {
        for part in &self.parts {
            part.place.finish(|directory| set_metadata(&part.name, directory))?;
        }
        self.main.finish(|directory| set_metadata(Path::new(""), directory))
    }

    /// Removes what was restored so far; returns whether nothing is left under a temporary name.
    pub(super) fn abandon(&self) -> bool {
        let mut is_clean = true;
        for place in self.places().filter(|place| place.temporary.exists()) {
            is_clean &= place.abandon();
        }
        is_clean
    }
}

impl Part {
    fn prepare(elsewhere: &Elsewhere, consent: &WriteConsent) -> Result<Self, RestoreError> {
        let Elsewhere { name, to, link } = elsewhere.clone();
        let leads_to = std::path::absolute(&to).map_err(RestoreError::system("find", &to))?;
        let place = Place::prepare(&to, None, consent)?;
        Ok(Self { name, link, leads_to, place })
    }
}
