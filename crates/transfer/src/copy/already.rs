//! Files that an earlier try has finished: counted, and where a check or a list was asked for, read like all others.

use iostall_engine::Access;
use iostall_engine::files::FileKind;
use iostall_measure::Clock as _;
use iostall_model::transfer::VerifyMode;

use super::Copier;
use super::error::CopyError;
use super::file::BLOCK_BYTES;
use super::log::CopiedFile;
use super::read_back::compare;
use super::recheck::source_is_unmodified;
use super::side::Side;
use super::walk::{Action, Entry, Inventory};

impl Inventory {
    /// Entries that an earlier try has finished.
    pub(super) fn already_there(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.action == Action::AlreadyThere)
    }
}

impl Copier<'_> {
    /// Counts what is there. That it has its name, size and time proves that a copy finished it; where checksums were
    /// asked for, they are made of the source, and with `read-back` the destination is compared.
    pub(super) fn confirm_already_there(&mut self, inventory: &Inventory) -> Result<(), CopyError> {
        for entry in inventory.already_there() {
            self.log.counts.already_there += 1;
            if entry.stamp.kind == FileKind::Regular && self.options.verify != VerifyMode::None {
                let confirmed = self.confirm(entry);
                self.noted(entry, confirmed)?;
                self.progress.end_file();
            }
        }
        Ok(())
    }

    fn confirm(&mut self, entry: &Entry) -> Result<(), CopyError> {
        let Entry { source, target, .. } = entry;
        let from = Side::open(source, Access::Read, self.options.source_caching)?;
        let size_bytes = from.stamp.size_bytes;
        self.progress.begin_file(target, size_bytes, "reading again for");
        let hashes = self.read_back(source, size_bytes)?;
        source_is_unmodified(&from)?;
        if self.options.verify == VerifyMode::ReadBack {
            let begun_ns = self.clock.now_ns();
            self.progress.begin_file(target, size_bytes, "reading back");
            let found = self.read_back(target, size_bytes)?;
            self.log.verify_ns += self.clock.now_ns() - begun_ns;
            if let Some(mismatch) = compare(target, source, target, &hashes, &found, BLOCK_BYTES) {
                self.log.mismatches.push(mismatch);
                return Ok(());
            }
            self.log.verified_files += 1;
        }
        self.log.files.push(CopiedFile {
            path: target.clone(),
            bytes: size_bytes,
            digest: hashes.whole,
            blocks: hashes.blocks,
            block_bytes: BLOCK_BYTES,
        });
        Ok(())
    }
}
