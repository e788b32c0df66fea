//! Files and directories that only their owner can read.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

pub fn create_directory_for_owner(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub fn create_file_for_owner(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn others_may_neither_list_nor_read() {
        let root = tempfile::tempdir().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (directory, file) = (root.path().join("a/b"), root.path().join("a/b/f"));
        create_directory_for_owner(&directory).unwrap();
        create_file_for_owner(&file).unwrap();
        assert_eq!((mode(&root.path().join("a")), mode(&directory), mode(&file)), (0o700, 0o700, 0o600));
        assert_eq!(create_file_for_owner(&file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }
}
