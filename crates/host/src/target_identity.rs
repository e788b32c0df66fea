//! What a target is, whatever it is called.

use std::fs::{Metadata, metadata};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::time::UNIX_EPOCH;

use iostall_model::{FileIdentity, TargetIdentity};
use rustix::fs::statvfs;

use super::system::{System, device_number};

impl System {
    /// `None` if there is nothing at `path`, and for a device that cannot be told from another one.
    pub fn target_identity(&self, path: &Path) -> Option<TargetIdentity> {
        let found = metadata(path).ok()?;
        if !found.file_type().is_block_device() {
            return Some(TargetIdentity::File(self.file_identity(path, &found)?));
        }
        let number = device_number(found.rdev());
        let identity = self.identity_of_number(&number)?;
        let partition = identity.partition;
        if let Some(key) = identity.key() {
            return Some(TargetIdentity::Device { key, partition });
        }
        let directory = self.device_directory(&number)?;
        let disk = if partition.is_some() { directory.parent()? } else { &directory };
        let sequence = self.number(disk.join("diskseq"))?;
        Some(TargetIdentity::Attached { boot: self.boot_id()?, sequence, partition })
    }

    /// The scratch file in `directory`, whether or not it is there just now.
    pub fn scratch_identity(&self, directory: &Path) -> Option<TargetIdentity> {
        Some(TargetIdentity::Scratch(self.file_identity(directory, &metadata(directory).ok()?)?))
    }

    fn file_identity(&self, path: &Path, found: &Metadata) -> Option<FileIdentity> {
        let born = found.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Some(FileIdentity {
            device: self.identity_of(path).and_then(|device| device.key()),
            file_system: self.file_system_id(path, found)?,
            inode: found.ino(),
            born_ns: born.and_then(|since| u64::try_from(since.as_nanos()).ok()),
        })
    }

    fn file_system_id(&self, path: &Path, found: &Metadata) -> Option<String> {
        let id = statvfs(path).ok()?.f_fsid;
        if id != 0 {
            return Some(format!("{id:016x}"));
        }
        let source = self.file_system_of(path).map(|found| found.source);
        if let Some(share) = source.filter(|source| source.contains(':') || source.starts_with("//")) {
            return Some(share);
        }
        // Without an id of its own it is known as long as it is mounted.
        Some(format!("{} of boot {}", device_number(found.dev()), self.boot_id()?))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The story: two files of one name in two directories were taken for one, and one file under two names for two.
    #[test]
    fn a_file_is_the_same_under_every_name_and_a_new_one_of_its_name_is_another() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let of = |name: &str| System::here().target_identity(&at(name));
        fs::write(at("one"), "1").unwrap();
        fs::write(at("two"), "1").unwrap();
        let one = of("one");
        assert!(one.is_some() && one != of("two"));
        fs::hard_link(at("one"), at("linked")).unwrap();
        std::os::unix::fs::symlink("one", at("link")).unwrap();
        assert!(of("linked") == one && of("link") == one && of("./one") == one);
        fs::write(at("one"), "longer").unwrap();
        assert_eq!(of("one"), one, "what is in it does not matter");
        for name in ["one", "linked"] {
            fs::remove_file(at(name)).unwrap();
        }
        fs::write(at("one"), "1").unwrap();
        assert_ne!(of("one"), one, "even where it has the inode of the one before");
        assert_eq!(of("none"), None);
    }

    #[test]
    fn a_scratch_file_belongs_to_its_directory() {
        let (here, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let of = |directory: &tempfile::TempDir| System::here().scratch_identity(directory.path());
        assert!(of(&here).is_some() && of(&here) == of(&here) && of(&here) != of(&other));
    }
}
