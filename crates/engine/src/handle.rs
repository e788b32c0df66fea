//! An open file in the form that the engines accept, without exposing descriptors.

use std::os::fd::{AsFd, BorrowedFd};

/// An open file or device, borrowed while an engine is created. The engine keeps its own handle.
#[derive(Clone, Copy, Debug)]
pub struct FileHandle<'a>(pub(crate) BorrowedFd<'a>);

impl<'a, File: AsFd> From<&'a File> for FileHandle<'a> {
    fn from(file: &'a File) -> Self {
        Self(file.as_fd())
    }
}
