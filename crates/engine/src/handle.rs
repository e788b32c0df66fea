//! An open file as the engines take it: who holds one need not know what the system calls it.

use std::os::fd::{AsFd, BorrowedFd};

/// An open file or device, lent to an engine while it is made. The engine keeps a handle of its own.
#[derive(Clone, Copy, Debug)]
pub struct FileHandle<'a>(pub(crate) BorrowedFd<'a>);

impl<'a, File: AsFd> From<&'a File> for FileHandle<'a> {
    fn from(file: &'a File) -> Self {
        Self(file.as_fd())
    }
}
