//! What was typed, as options of a copy.

use std::sync::Arc;

use iostall_measure::ByteCount;
use iostall_model::transfer::{HashKind, VerifyMode};
use iostall_session::targets::WriteConsent;
use iostall_transfer::CopyOptions;
use iostall_transfer::copy::{Equality, Resume, Selection, Specials, Symlinks};
use iostall_transfer::rate::RateLimit;

use super::{CopyArgs, SpecialChoice, SymlinkChoice};

impl CopyArgs {
    /// The options of the copy.
    pub(crate) fn options(&self, hash: HashKind, selection: Selection) -> CopyOptions {
        let usual = CopyOptions::default();
        let rate = || self.limit.map(|limit| Arc::new(RateLimit::new(limit)));
        CopyOptions {
            verify: self.verify_mode(),
            hash,
            reflink: self.reflink,
            overwrite: self.overwrite || self.update || self.mirror,
            consent: WriteConsent {
                overwrite: self.to_device.iter().cloned().collect(),
                destroy_database: self.destroy_database.clone(),
                destroy_signature: self.destroy.iter().cloned().collect(),
            },
            fail_fast: self.fail_fast,
            resume: match (self.resume, self.no_resume) {
                (true, _) => Resume::Always,
                (false, true) => Resume::Never,
                (false, false) => Resume::Matching,
            },
            selection,
            equality: match (self.checksum, self.update || self.mirror) {
                (true, _) => Some(Equality::Content),
                (false, true) => Some(Equality::SizeAndTime),
                (false, false) => None,
            },
            update: self.update,
            mirror: self.mirror,
            delete: self.delete.clone(),
            remove_sources: self.move_sources,
            dry_run: self.dry_run,
            retries: self.retries,
            retry_wait_ns: self.retry_wait.nanos(),
            rate: rate(),
            read_back_rate: rate(),
            source_caching: self.source_caching,
            target_caching: self.target_caching,
            transfer_bytes: self.transfer_size.map(|size| u32::try_from(size.bytes()).unwrap_or(u32::MAX)),
            depth: self.depth,
            tune: self.tune,
            small_file_bytes: ByteCount::bytes(self.small_file),
            checkpoint_bytes: ByteCount::bytes(self.checkpoint),
            symlinks: match self.symlinks {
                SymlinkChoice::Keep => Symlinks::Keep,
                SymlinkChoice::Follow => Symlinks::Follow,
                SymlinkChoice::Skip => Symlinks::Skip,
            },
            specials: match self.specials {
                SpecialChoice::Skip => Specials::Skip,
                SpecialChoice::Keep => Specials::Keep,
                SpecialChoice::Refuse => Specials::Refuse,
            },
            one_file_system: self.one_file_system,
            workers: self.workers.unwrap_or(usual.workers),
            large_files_at_once: self.parallel,
        }
    }

    fn verify_mode(&self) -> VerifyMode {
        match (self.verify, &self.manifest) {
            (Some(verify), _) => verify,
            (None, _) if self.move_sources => VerifyMode::ReadBack,
            (None, Some(_)) => VerifyMode::OnTheFly,
            (None, None) => VerifyMode::None,
        }
    }
}
