//! Compares inodes.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

pub(super) fn same_inode(one: &Metadata, two: &Metadata) -> bool {
    (one.dev(), one.ino(), one.rdev()) == (two.dev(), two.ino(), two.rdev())
}
