//! The file systems that a copy writes to, and how much room it needs on each.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileStamp};
use iostall_host as host;
use iostall_model::transfer::Reflink;

use super::beside::part_path;
use super::entry::is_small;
use super::error::CopyError;
use super::options::CopyOptions;
use super::part::directory_of;

/// File systems on which a byte of data takes a byte of space: no compression, no remote storage.
const PLAIN: [&str; 8] = ["ext2", "ext3", "ext4", "xfs", "tmpfs", "vfat", "exfat", "fuseblk"];

/// Two batches of small files are on their way at once.
const BATCHES_BYTES: i128 = 2 << 30;

#[derive(Debug)]
struct Place {
    directory: PathBuf,
    device: u64,
    largest_bytes: Option<u64>,
    shares: bool,
    /// Of small files, and of the others so far, beyond what is there; negative if more is replaced than added.
    small_bytes: i128,
    large_bytes: i128,
    /// What small files replace. It is there until their batch is named.
    replaced_bytes: i128,
    /// The most that the others take while they are copied, one after the other.
    large_bytes_max: i128,
    /// The most that one of them replaces: it is there until the new one is whole.
    replaced_bytes_max: i128,
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
        place.count(options, stat, target);
        Ok(())
    }

    pub(super) fn check(&self, options: &CopyOptions) -> Result<(), CopyError> {
        self.all.iter().try_for_each(|place| check_fits(place, options))
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
        self.all.push(Place::of(directory, device, largest_bytes, shares));
        Some(self.all.len() - 1)
    }
}

impl Place {
    fn of(directory: &Path, device: u64, largest_bytes: Option<u64>, shares: bool) -> Self {
        Self {
            directory: directory.to_owned(),
            device,
            largest_bytes,
            shares,
            small_bytes: 0,
            large_bytes: 0,
            replaced_bytes: 0,
            large_bytes_max: 0,
            replaced_bytes_max: 0,
        }
    }

    /// Adds the space that a file takes, beyond what an earlier attempt left of it, and that of the one that it replaces.
    fn count(&mut self, options: &CopyOptions, stat: &FileStamp, target: &Path) {
        if self.shares && options.reflink != Reflink::Never && stat.device == self.device {
            return;
        }
        let there =
            |path: &Path| files::stamp_of_link(path).map_or(0, |stat| i128::from(stat.allocated_bytes));
        let data_bytes = i128::from(stat.size_bytes.min(stat.allocated_bytes));
        let (new_bytes, replaced_bytes) = (data_bytes - there(&part_path(target)), there(target));
        if is_small((stat.size_bytes, stat.allocated_bytes), options) {
            self.small_bytes += new_bytes - replaced_bytes;
            self.replaced_bytes += replaced_bytes;
            return;
        }
        self.large_bytes_max = self.large_bytes_max.max(self.large_bytes + new_bytes);
        self.large_bytes += new_bytes - replaced_bytes;
        self.replaced_bytes_max = self.replaced_bytes_max.max(replaced_bytes);
    }

    /// The most that the copy takes at any time. Small files come first; what they and large ones replace is there until the new
    /// ones have their names.
    fn needed_bytes(&self, options: &CopyOptions) -> i128 {
        let beside = i128::from(options.large_files_at_once.max(1) - 1) * self.replaced_bytes_max;
        let small = self.small_bytes + self.replaced_bytes.min(BATCHES_BYTES);
        small.max(self.small_bytes + self.large_bytes_max + beside)
    }
}

fn check_fits(place: &Place, options: &CopyOptions) -> Result<(), CopyError> {
    let Ok(needed_bytes) = u64::try_from(place.needed_bytes(options)) else { return Ok(()) };
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Room of a file that is replaced was counted as if it were free already: the copy began, and ended in the midst of it.
    #[test]
    fn what_is_replaced_takes_its_room_until_the_new_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let device = files::stamp_of_path(dir.path()).unwrap().device;
        let options = |small_file_bytes| CopyOptions { small_file_bytes, ..CopyOptions::default() };
        let needed = |options: &CopyOptions, sizes: &[(u64, u64)]| {
            let mut place = Place::of(dir.path(), device, None, false);
            for (at, (new_kib, old_kib)) in sizes.iter().enumerate() {
                let (source, target) = (dir.path().join("new"), dir.path().join(at.to_string()));
                std::fs::write(&source, vec![1; usize::try_from(new_kib << 10).unwrap()]).unwrap();
                let _ = std::fs::remove_file(&target);
                if *old_kib > 0 {
                    std::fs::write(&target, vec![1; usize::try_from(old_kib << 10).unwrap()]).unwrap();
                }
                place.count(options, &files::stamp_of_path(&source).unwrap(), &target);
            }
            place.needed_bytes(options) >> 10
        };
        for small_file_bytes in [0, 1 << 30] {
            let options = options(small_file_bytes);
            assert_eq!(needed(&options, &[(40, 0), (8, 0)]), 48, "new ones take what they have");
            assert_eq!(needed(&options, &[(40, 40)]), 40, "both are there for a while");
        }
        assert_eq!(needed(&options(0), &[(12, 0), (40, 0), (4, 40)]), 56);
        assert_eq!(needed(&options(0), &[(4, 40), (12, 0), (40, 0)]), 16, "room that is free by then counts");
        let two = CopyOptions { large_files_at_once: 2, ..options(0) };
        assert_eq!(needed(&two, &[(40, 40), (40, 40)]), 80);
    }
}
