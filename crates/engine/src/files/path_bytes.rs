//! Converts paths to bytes and back, so that names that are not valid text go unchanged into manifests and
//! journals.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

pub fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

pub fn path_from_bytes(bytes: Vec<u8>) -> PathBuf {
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_text_comes_back_as_it_was() {
        let bytes = b"so\nurce \xff".to_vec();
        assert_eq!(path_bytes(&path_from_bytes(bytes.clone())), bytes);
    }
}
