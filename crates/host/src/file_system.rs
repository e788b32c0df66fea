//! The file system of a path.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use iostall_measure::platform::FileSystem;
use rustix::fs::{AtFlags, CWD, StatxFlags, statvfs, statx};

use super::mounts::{Mount, mount_of};
use super::system::{System, device_number};

impl System {
    /// The file system that holds `path`; `None` if its mount is unknown.
    pub fn file_system_of(&self, path: &Path) -> Option<FileSystem> {
        let mount = self.mount_of(path)?;
        let space = statvfs(path).ok()?;
        Some(FileSystem {
            options: mount.options(),
            kind: mount.kind,
            mount_point: mount.mount_point,
            source: mount.source,
            block_bytes: space.f_frsize,
            free_bytes: space.f_bavail.saturating_mul(space.f_frsize),
            total_bytes: space.f_blocks.saturating_mul(space.f_frsize),
        })
    }

    pub fn mount_of(&self, path: &Path) -> Option<Mount> {
        let path = std::fs::canonicalize(path).ok()?;
        let number = device_number(std::fs::metadata(&path).ok()?.dev());
        mount_of(&self.mounts(), &path, mount_id(&path), &number).cloned()
    }
}

/// Id of the mount that holds a path, the first field of mountinfo. Available since Linux 5.8.
fn mount_id(path: &Path) -> Option<u64> {
    let answer = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    (answer.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(answer.stx_mnt_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_told_to_be_proc() {
        let found = System::here().file_system_of(Path::new("/proc/self/status")).unwrap();
        assert_eq!((found.kind.as_str(), found.mount_point.as_path()), ("proc", Path::new("/proc")));
    }

    #[test]
    fn the_file_system_of_a_file_has_space_and_its_mount_point_is_above_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let found = System::here().file_system_of(directory.path()).unwrap();
        assert!(directory.path().canonicalize().unwrap().starts_with(&found.mount_point));
        assert!(found.total_bytes >= found.free_bytes && found.block_bytes > 0);
        assert_eq!(System::here().file_system_of(&directory.path().join("absent")), None);
    }
}
