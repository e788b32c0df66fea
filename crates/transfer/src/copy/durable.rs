//! The file systems that a copy writes to.

use std::collections::HashSet;
use std::fs::File;
use std::path::PathBuf;

use iostall_engine::files;

use super::error::CopyError;

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
