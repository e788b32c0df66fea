//! A fake system for tests.

use std::fs;

use iostall_host::System;

/// A directory tree with the given files. It lasts as long as the returned directory.
pub(crate) fn made_up(files: &[(&str, &str)]) -> (tempfile::TempDir, System) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let system = System::at(root.path());
    (root, system)
}
