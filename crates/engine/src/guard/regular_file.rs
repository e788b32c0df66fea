//! Checks before a regular file is written.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use iostall_host::System;
use rustix::fs::fstatfs;

use super::block_device::{check_not_swap, check_not_under_loop};
use super::consent::{Named, WriteConsent};
use super::database;
use super::lock::check_unlocked;
use super::mark::is_marked;
use super::place::{check_file_is_not_among_devices, kernel_file_system, same_inode};
use super::refusal::{GrantReason, Refusal};

pub(super) fn check(
    system: &System,
    path: &Path,
    file: &File,
    metadata: &Metadata,
    consent: &WriteConsent,
) -> Result<GrantReason, Refusal> {
    check_not_kernels(path, file)?;
    check_file_is_not_among_devices(system, path)?;
    let is_this = |other: &Path| std::fs::metadata(other).is_ok_and(|other| same_inode(&other, metadata));
    check_not_swap(system, path, is_this)?;
    check_not_under_loop(system, path, is_this)?;
    check_not_mount_point(system, path)?;
    check_unlocked(system, path, file, metadata)?;

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

fn check_not_kernels(path: &Path, file: &File) -> Result<(), Refusal> {
    let answer = fstatfs(file).map_err(|source| Refusal::System {
        path: path.to_owned(),
        action: "tell its file system",
        source: source.into(),
    })?;
    match kernel_file_system(&answer) {
        Some(file_system) => Err(Refusal::KernelFile { path: path.to_owned(), file_system }),
        None => Ok(()),
    }
}

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
