//! Files that an earlier attempt has finished: counted, and read like all others if verification or a
//! checksum list was requested.

use iostall_engine::Access;
use iostall_engine::files::FileKind;
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
        if entry.kind() == FileKind::Regular && options.verify != VerifyMode::None {
            let confirmed = confirm(copier, entry);
            copier.log.note(options, || entry.paths(), confirmed)?;
            copier.context.progress.end_file();
        }
    }
    Ok(())
}

fn confirm(copier: &mut FileCopier<'_, '_>, entry: &Entry) -> Result<(), CopyError> {
    let (context, mover) = (copier.context, &mut *copier.mover);
    let (source, target) = (&entry.source(), &entry.target());
    let from = Endpoint::open(source, Access::Read, context.options.source_caching)?;
    let size_bytes = from.stat.size_bytes;
    context.progress.begin_file(target, size_bytes, "reading again for");
    let hashes = mover.read_back(source, size_bytes)?;
    source_is_unmodified(&from)?;
    if context.options.verify == VerifyMode::ReadBack {
        let found = copier.read_again(target, target, size_bytes)?;
        if !copier.log.note_compared(compare(target, source, target, &hashes, &found, BLOCK_BYTES)) {
            return Ok(());
        }
    }
    copier.log.add_checked(target, size_bytes, hashes);
    Ok(())
}
