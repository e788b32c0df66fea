//! Checks a backup without restoring it.

use std::path::PathBuf;

use iostall_model::backup::SetId;
use iostall_model::stripe::StripeUse;
use iostall_model::{BackupVerifyOutcome, BaseUse, Newest, Run, RunBody, TransferUse};
use iostall_transfer::backup::codec::{KeyError, Unlock};
use iostall_transfer::backup::read::{OpenSet, ReadError, open_with, open_without_key};
use iostall_transfer::backup::verify::{BaseVerified, Verified, VerifyOptions, verify as verify_set};
use iostall_transfer::rate::RateLimit;

use super::known::KnownSets;
use super::set;
use crate::error::SessionError;
use crate::event::Observer;
use crate::transfer::{Transfer, target};

pub struct BackupVerifyRequest {
    pub from: Vec<PathBuf>,
    pub headers_only: bool,
    pub expect: Option<SetId>,
    /// Where the sets may be that an increment is based on, if not beside it.
    pub bases: Vec<PathBuf>,
    pub unlock: Option<Unlock>,
    /// Checks an encrypted set as far as that is possible without its key.
    pub without_key: bool,
    /// Maximum read rate, bytes a second.
    pub limit: Option<u64>,
}

/// Checks. What is damaged is in the outcome of the run, and whether `known` has a newer set.
pub fn verify(
    request: &BackupVerifyRequest,
    known: &KnownSets,
    transfer: Transfer,
    observer: &dyn Observer,
) -> Result<Run, SessionError> {
    let rate = request.limit.map(RateLimit::new);
    let opened = match open_with(&request.from, &request.bases, request.unlock.as_ref()) {
        Err(ReadError::Keys(KeyError::NoKey)) if request.without_key => open_without_key(&request.from),
        opened => opened,
    };
    let (set, found) = match opened {
        Ok(set) => {
            let options = VerifyOptions { headers_only: request.headers_only, rate: rate.as_ref() };
            let found = transfer.work(observer, |progress| verify_set(&set, &options, progress))?;
            (Some(set), found)
        }
        Err(ReadError::Damaged(damage)) => (None, Verified { damage, ..Verified::default() }),
        Err(error) => return Err(error.into()),
    };
    let newest = set.as_ref().map(|set| set::newest(request.expect, set, known)).unwrap_or_default();
    let outcome = outcome(request, set.as_ref(), &found, newest, &transfer);
    let warnings = set.as_ref().map(set::warnings).unwrap_or_default();
    let targets = set.iter().flat_map(|set| &set.stripes).take(1);
    let targets = targets.filter_map(|open| target(&open.stripe.path)).collect();
    let name = set::short(&outcome.set);
    Ok(transfer.finish(name, targets, warnings, RunBody::BackupVerify(Box::new(outcome))))
}

fn outcome(
    request: &BackupVerifyRequest,
    set: Option<&OpenSet>,
    found: &Verified,
    newest: Newest,
    transfer: &Transfer,
) -> BackupVerifyOutcome {
    let cpu = transfer.cpu();
    let progress = transfer.progress();
    BackupVerifyOutcome {
        set: set.map(|set| set.manifest.set.to_string()).unwrap_or_default(),
        from: request.from.first().map(|path| path.display().to_string()).unwrap_or_default(),
        headers_only: request.headers_only,
        without_key: set.is_some_and(|set| set.is_without_key),
        newest,
        bases: found.bases.iter().map(base).collect(),
        files: found.files,
        frames: found.frames,
        good_frames: found.good_frames,
        bytes: found.bytes,
        stored_bytes: found.stored_bytes,
        stripes: set.map(|set| stripes(set, found)).unwrap_or_default(),
        elapsed_ns: transfer.elapsed_ns(),
        used: TransferUse {
            buffer_time: progress.now().buffer_time,
            series: progress.series(),
            cpu_user_ns: cpu.user_ns,
            cpu_system_ns: cpu.system_ns,
        },
        damage: set::stored(&found.damage),
    }
}

fn base(base: &BaseVerified) -> BaseUse {
    BaseUse { set: base.set.to_string(), frames: base.frames }
}

fn stripes(set: &OpenSet, found: &Verified) -> Vec<StripeUse> {
    let mut stripes = set::stripes(set);
    for (stripe, read) in stripes.iter_mut().zip(&found.stripes) {
        stripe.busy_ns = read.busy_ns;
    }
    stripes
}
