//! Which file it is, whatever it is called.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Whether both describe one inode.
pub(super) fn same_inode(one: &Metadata, two: &Metadata) -> bool {
    (one.dev(), one.ino(), one.rdev()) == (two.dev(), two.ino(), two.rdev())
}
