//! The file systems that a copy writes to, and how much room it needs on each.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileStamp};
use iostall_host as host;
use iostall_model::transfer::Reflink;

use super::beside::part_path;
use super::error::CopyError;
use super::options::CopyOptions;
use super::part::directory_of;

/// File systems on which a byte of data takes a byte of space: no compression, no remote storage.
const PLAIN: [&str; 8] = ["ext2", "ext3", "ext4", "xfs", "tmpfs", "vfat", "exfat", "fuseblk"];

#[derive(Debug)]
struct Place {
    directory: PathBuf,
    device: u64,
    largest_bytes: Option<u64>,
    shares: bool,
    /// Beyond what is there; negative if more is replaced than added.
    needed_bytes: i128,
}

#[derive(Debug, Default)]
pub(super) struct Places {
    all: Vec<Place>,
    /// The file system of each directory; one that does not exist yet is on its parent's.
    of_directory: HashMap<PathBuf, usize>,
}

pub(super) struct TooLarge {
    pub(super) directory: PathBuf,
    pub(super) largest_bytes: u64,
}

impl Places {
    pub(super) fn add(
        &mut self,
        options: &CopyOptions,
        stat: &FileStamp,
        target: &Path,
    ) -> Result<(), TooLarge> {
        let Some(place) = self.of(directory_of(target)) else { return Ok(()) };
        let place = &mut self.all[place];
        if let Some(largest_bytes) = place.largest_bytes.filter(|largest| stat.size_bytes > *largest) {
            return Err(TooLarge { directory: place.directory.clone(), largest_bytes });
        }
        place.needed_bytes += more_bytes(options, stat, target, place);
        Ok(())
    }

    pub(super) fn check(&self) -> Result<(), CopyError> {
        self.all.iter().try_for_each(check_fits)
    }

    fn of(&mut self, directory: &Path) -> Option<usize> {
        if let Some(at) = self.of_directory.get(directory) {
            return Some(*at);
        }
        let at = match files::stamp_of_path(directory) {
            Ok(stat) => self.on_device(directory, stat.device)?,
            Err(_) => self.of(directory_of(directory))?,
        };
        self.of_directory.insert(directory.to_owned(), at);
        Some(at)
    }

    fn on_device(&mut self, directory: &Path, device: u64) -> Option<usize> {
        if let Some(at) = self.all.iter().position(|place| place.device == device) {
            return Some(at);
        }
        let largest_bytes = files::largest_file_bytes(directory).ok()?;
        let kind = host::file_system_of(directory).map(|found| found.kind);
        let shares = kind.is_none_or(|kind| kind == "xfs" || !PLAIN.contains(&&*kind));
        let directory = directory.to_owned();
        self.all.push(Place { directory, device, largest_bytes, shares, needed_bytes: 0 });
        Some(self.all.len() - 1)
    }
}

/// Space that a file needs beyond what it replaces and what an earlier attempt left of it.
fn more_bytes(options: &CopyOptions, stat: &FileStamp, target: &Path, place: &Place) -> i128 {
    if place.shares && options.reflink != Reflink::Never && stat.device == place.device {
        return 0;
    }
    let there = |path: &Path| files::stamp_of_link(path).map_or(0, |stat| i128::from(stat.allocated_bytes));
    let data_bytes = stat.size_bytes.min(stat.allocated_bytes);
    i128::from(data_bytes) - there(target) - there(&part_path(target))
}

fn check_fits(place: &Place) -> Result<(), CopyError> {
    let Ok(needed_bytes) = u64::try_from(place.needed_bytes) else { return Ok(()) };
    let Some(found) = host::file_system_of(&place.directory) else { return Ok(()) };
    // A file system without a size (a tmpfs without a limit) does not report free space.
    if !PLAIN.contains(&&*found.kind) || found.total_bytes == 0 {
        return Ok(());
    }
    let free_bytes = files::free_bytes(&place.directory)
        .map_err(CopyError::system("ask for free space at", &place.directory))?;
    if needed_bytes <= free_bytes {
        return Ok(());
    }
    Err(CopyError::NoRoom { directory: place.directory.clone(), free_bytes, needed_bytes })
}

/// An open directory on each file system that receives small files and names. Opened before the first write,
/// because the system reports write-back errors only to descriptors that were open at the time.
pub(super) struct FileSystems(Vec<(PathBuf, File)>);

impl FileSystems {
    pub(super) fn of(directories: impl Iterator<Item = PathBuf>) -> Result<Self, CopyError> {
        let mut devices = HashSet::new();
        let mut opened = Vec::new();
        for directory in directories {
            let stat = files::stamp_of_path(&directory).map_err(CopyError::system("look at", &directory))?;
            if devices.insert(stat.device) {
                let open = File::open(&directory).map_err(CopyError::system("open", &directory))?;
                opened.push((directory, open));
            }
        }
        Ok(Self(opened))
    }

    /// Makes everything on them durable. Fails also if anything written since they were opened was lost.
    pub(super) fn sync(&self) -> Result<(), CopyError> {
        for (path, directory) in &self.0 {
            files::sync_file_system(directory).map_err(CopyError::system("make durable", path))?;
        }
        Ok(())
    }
}
