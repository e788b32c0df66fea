//! Files that are equal at the destination: they are counted, get metadata that has changed, and are checked again if wanted.

use std::fs;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind};
use iostall_engine::{Access, open_path};
use iostall_measure::Caching;
use iostall_model::transfer::VerifyMode;

use super::endpoint::Endpoint;
use super::entry::Entry;
use super::error::CopyError;
use super::file::FileCopier;
use super::log::Recorded;
use super::read_back::{BLOCK_BYTES, compare};
use super::recheck::source_is_unmodified;
use super::walk::Inventory;

/// Counts up-to-date files. Name, size and time prove that a copy finished them. If checksums were requested,
/// they are computed from the source, and with `read-back` the destination is compared.
pub(super) fn confirm_up_to_date(
    copier: &mut FileCopier<'_, '_>,
    inventory: &Inventory,
) -> Result<(), CopyError> {
    let options = copier.context.options;
    for entry in inventory.up_to_date() {
        copier.log.counts.already_there += 1;
        copier.log.record(Recorded::UpToDate, &entry.target(), entry.size_bytes());
        if options.update || options.mirror || options.remove_sources {
            let carried = carry_metadata(copier, entry);
            copier.log.note(options, || entry.paths(), carried)?;
        }
        if entry.kind() == FileKind::Regular && options.verify != VerifyMode::None {
            let confirmed = confirm(copier, entry);
            copier.log.note(options, || entry.paths(), confirmed)?;
            copier.context.progress.end_file();
        }
    }
    Ok(())
}

/// Gives an equal file the owner, the mode and the attributes of its source, if it has others: a `chmod` after a leak must
/// reach the mirror, and a move must not leave behind what an earlier attempt could not keep.
fn carry_metadata(copier: &mut FileCopier<'_, '_>, entry: &Entry) -> Result<(), CopyError> {
    let (source, target, mut stat) = (entry.source(), entry.target(), entry.stat());
    let there = files::stamp_of_link(&target).map_err(CopyError::system("look at", &target))?;
    if !copier.context.options.remove_sources && files::effective_user() != 0 {
        // Only root gives files away: every run would fail at it again.
        (stat.uid, stat.gid) = (there.uid, there.gid);
    }
    // The attributes are those of what a link leads to, where it is followed.
    let source = if stat.kind == FileKind::Symlink { source } else { real_path(source)? };
    let looked = files::has_metadata_of(&source, &stat, &target);
    if there.kind != stat.kind || looked.map_err(CopyError::system("look at the attributes of", &source))? {
        return Ok(());
    }
    let open = |path: &Path| fs::File::open(path).map_err(CopyError::system("open", path));
    let losses = match stat.kind {
        FileKind::Regular => files::copy_metadata(&open(&source)?, &stat, &open(&target)?),
        _ => files::copy_symlink_metadata(&source, &stat, &target),
    };
    copier.log.counts.metadata_renewed += 1;
    copier.log.losses.extend(losses.into_iter().map(|loss| (target.clone(), loss)));
    Ok(())
}

/// What a link leads to; anything else is itself.
fn real_path(path: PathBuf) -> Result<PathBuf, CopyError> {
    if files::stamp_of_link(&path).is_ok_and(|found| found.kind == FileKind::Symlink) {
        return fs::canonicalize(&path).map_err(CopyError::system("resolve", &path));
    }
    Ok(path)
}

fn confirm(copier: &mut FileCopier<'_, '_>, entry: &Entry) -> Result<(), CopyError> {
    let (context, mover) = (copier.context, &mut *copier.mover);
    let (source, target) = (&entry.source(), &entry.target());
    let from = Endpoint::open(source, Access::Read, context.options.source_caching)?;
    let size_bytes = from.stat.size_bytes;
    context.progress.begin_file(target, size_bytes, "reading again for");
    let hashes = mover
        .read_back(&Endpoint::reopen(from.file(), source, Access::Read, Caching::Direct)?, size_bytes)?;
    source_is_unmodified(&from)?;
    if context.options.verify == VerifyMode::ReadBack {
        let copy = Endpoint::open(target, Access::Read, Caching::Direct)?;
        // Whoever owns the directory can put a link to the source there, which is always equal.
        let is_link = !files::stamp_of_link(target).is_ok_and(|named| named.is_same_file(&copy.stat));
        if is_link && copy.stat.is_same_file(&from.stat) {
            return Err(CopyError::SameFile { from: source.clone(), to: target.clone() });
        }
        let found = copier.read_again(target, &copy, size_bytes)?;
        let by_descriptor = open_path(copy.file());
        if !copier.log.note_compared(compare(target, source, &by_descriptor, &hashes, &found, BLOCK_BYTES)) {
            return Ok(());
        }
    }
    copier.log.add_checked(target, size_bytes, hashes);
    Ok(())
}
