//! What must hold of a regular file before it is written.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use rustix::fs::fstatfs;

use super::block_device::{check_not_behind_loop, check_not_swap};
use super::consent::{Named, WriteConsent, same_inode};
use super::database;
use super::grant::GrantReason;
use super::mark::is_marked;
use super::refusal::Refusal;
use crate::host::System;

/// Checks an open regular file at the resolved `path`.
pub(super) fn check(
    system: &System,
    path: &Path,
    file: &File,
    metadata: &Metadata,
    consent: &WriteConsent,
) -> Result<GrantReason, Refusal> {
    check_not_kernels(path, file)?;
    let is_this = |other: &Path| std::fs::metadata(other).is_ok_and(|other| same_inode(&other, metadata));
    check_not_swap(system, path, is_this)?;
    check_not_behind_loop(system, path, is_this)?;
    check_not_mount_point(system, path)?;

    let failed = |action| move |source| Refusal::System { path: path.to_owned(), action, source };
    if is_marked(file).map_err(failed("look for iostall's mark"))? {
        return Ok(GrantReason::MadeByIostall);
    }
    let target = Named { path, metadata };
    let size_bytes = metadata.len();
    let database =
        database::recognise(path, file, size_bytes).map_err(failed("look for a database's header"))?;
    if let Some(found) = database {
        if consent.destroys_database(&target) {
            return Ok(GrantReason::DestroyDatabase(found));
        }
        return Err(Refusal::Database { path: path.to_owned(), found });
    }
    if size_bytes == 0 {
        return Ok(GrantReason::Empty);
    }
    if consent.overwrites(&target) {
        return Ok(GrantReason::Overwrite);
    }
    Err(Refusal::FileNotNamed { path: path.to_owned(), size_bytes })
}

/// Magic numbers of `linux/magic.h`. Writing to files there sets and starts things.
const KERNEL_FILE_SYSTEMS: [(u64, &str); 12] = [
    (0x9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0x6265_6570, "configfs"),
    (0xde5e_81e4, "efivarfs"),
    (0x6165_676c, "pstore"),
    (0xcafe_4a11, "bpf"),
    (0xf97c_ff8c, "selinuxfs"),
];

fn check_not_kernels(path: &Path, file: &File) -> Result<(), Refusal> {
    let answer = fstatfs(file).map_err(|source| Refusal::System {
        path: path.to_owned(),
        action: "tell its file system",
        source: source.into(),
    })?;
    // The field is signed, and on 32-bit systems shorter, than the numbers in it.
    let kind = i128::from(answer.f_type) & 0xffff_ffff;
    match KERNEL_FILE_SYSTEMS.iter().find(|(magic, _)| i128::from(*magic) == kind) {
        Some((_, file_system)) => Err(Refusal::KernelFile { path: path.to_owned(), file_system }),
        None => Ok(()),
    }
}

/// A file can be mounted over another one.
fn check_not_mount_point(system: &System, path: &Path) -> Result<(), Refusal> {
    match system.mounts().into_iter().find(|mount| mount.mount_point == path) {
        Some(mount) => {
            let what = PathBuf::from(mount.source).join(mount.root.strip_prefix("/").unwrap_or(&mount.root));
            Err(Refusal::Mounted {
                path: path.to_owned(),
                what: what.display().to_string(),
                mount_point: mount.mount_point,
            })
        }
        None => Ok(()),
    }
}
