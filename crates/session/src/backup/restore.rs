//! Restores a backup.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iostall_engine::guard::WriteConsent;
use iostall_measure::foreign::shell_path;
use iostall_model::backup::{PostgresRecord, SetId, SourceKind, SourceRecord};
use iostall_model::{Newest, RestoreOutcome, Run, RunBody, TransferUse, Warning, WarningCode};
use iostall_transfer::Progress;
use iostall_transfer::backup::codec::Unlock;
use iostall_transfer::backup::read::{OpenSet, ReadChoice, ReadError, open_with};
use iostall_transfer::backup::restore::{
    BeforeNamed, FileLoss, NotRestored, RestoreError, RestoreOptions, Restored, restore as restore_set,
};
use iostall_transfer::pipeline::StageFailure;
use iostall_transfer::rate::RateLimit;

use super::known::KnownSets;
use super::mariadb::Preparation;
use super::set;
use super::tablespaces::{self, TablespaceMove};
use super::wal::PointRequest;
use super::wal::point::Recovery;
use crate::error::SessionError;
use crate::event::Observer;
use crate::transfer::{Transfer, target};

const LOSSES_LISTED: usize = 5;

/// PostgreSQL's page size, unless the server was built otherwise, which nobody does.
const POSTGRES_PAGE_BYTES: u32 = 8192;

pub struct RestoreRequest {
    pub from: Vec<PathBuf>,
    /// A new name, an empty directory, or what `consent` says may be replaced.
    pub to: PathBuf,
    /// Files and directories of the set; all of it if there is none.
    pub only: Vec<PathBuf>,
    /// The set that it must be: another one is not restored.
    pub expect: Option<SetId>,
    /// Where the sets may be that an increment is based on, if not beside it.
    pub bases: Vec<PathBuf>,
    pub unlock: Option<Unlock>,
    pub consent: WriteConsent,
    pub choice: ReadChoice,
    /// Maximum read rate, bytes a second.
    pub limit: Option<u64>,
    /// Tablespaces of PostgreSQL that go elsewhere; the others stand below the data directory. Not together with `only`.
    pub tablespaces: Vec<TablespaceMove>,
    /// Leaves the files of MariaDB as they were backed up: no server may be started on them before they are prepared.
    pub no_prepare: bool,
    /// Where MariaDB's programs are, if not where distributions have them.
    pub engine_dir: Option<PathBuf>,
    /// Where a PostgreSQL is to be brought when a server is started on it, if not to the end of the backup. Not together with
    /// `only`.
    pub point: Option<PointRequest>,
}

pub struct RestoreEnd {
    pub outcome: RestoreOutcome,
    pub warnings: Vec<Warning>,
    /// Why nothing was restored, if that is not damage, which is in the outcome.
    pub ended: Option<RestoreError>,
    targets: Vec<iostall_measure::platform::Target>,
    transfer: Transfer,
}

impl RestoreEnd {
    pub fn into_run(self) -> Run {
        let name = set::short(&self.outcome.set);
        self.transfer.finish(name, self.targets, self.warnings, RunBody::Restore(Box::new(self.outcome)))
    }
}

/// An error is that it could not begin. A later one is part of [`RestoreEnd`], and so is damage.
pub fn restore(
    request: &RestoreRequest,
    known: &KnownSets,
    transfer: Transfer,
    observer: &dyn Observer,
) -> Result<RestoreEnd, SessionError> {
    let rate = transfer.rate().or_else(|| request.limit.map(|limit| Arc::new(RateLimit::new(limit))));
    let set = match open_with(&request.from, &request.bases, request.unlock.as_ref()) {
        Ok(set) => Some(set),
        Err(ReadError::Damaged(found)) => {
            let outcome = RestoreOutcome { damage: set::stored(&found), ..outcome(request, None, &transfer) };
            return Ok(RestoreEnd {
                outcome,
                warnings: Vec::new(),
                ended: None,
                targets: Vec::new(),
                transfer,
            });
        }
        Err(error) => return Err(error.into()),
    };
    let elsewhere = set.as_ref().map(|set| tablespaces::elsewhere(&set.manifest, &request.tablespaces));
    let elsewhere = elsewhere.transpose()?.unwrap_or_default();
    let preparation = preparation(request, set.as_ref())?;
    let recovery = recovery(request, set.as_ref())?;
    let prepare_ns = AtomicU64::new(0);
    let newest = set.as_ref().map(|set| set::newest(request.expect, set, known)).unwrap_or_default();
    let done = set.as_ref().filter(|_| !matches!(newest, Newest::Other { .. })).map(|set| {
        transfer.work(observer, |progress| {
            let prepare = |directory: &Path| {
                finish_files(directory, preparation.as_ref(), recovery.as_ref(), progress, &prepare_ns)
            };
            let options = RestoreOptions {
                elsewhere: &elsewhere,
                only: &request.only,
                consent: request.consent.clone(),
                rate: rate.as_deref(),
                choice: request.choice,
                before_named: Some(BeforeNamed(&prepare)),
            };
            restore_set(set, &request.to, &options, progress)
        })
    });
    let mut outcome = outcome(request, set.as_ref(), &transfer);
    let mut warnings = set.as_ref().map(set::warnings).unwrap_or_default();
    warnings.extend(older(&newest));
    outcome.newest = newest;
    let mut ended = None;
    match done {
        Some(Ok(restored)) => {
            warnings.extend(lost(&restored.losses));
            warnings.extend(set::empty_maps(&restored));
            take(&mut outcome, set.as_ref(), &restored);
            outcome.recovery = recovery.map(|recovery| recovery.record);
            outcome.prepare_ns = preparation.is_some().then(|| prepare_ns.load(Ordering::Relaxed));
            warnings.extend(set.as_ref().and_then(|set| unprepared(request, set, outcome.prepare_ns)));
            let started = set.as_ref().filter(|_| starts_as_it_was(request));
            warnings.extend(started.and_then(|set| archives(set.manifest.postgres())));
            if let Some(set) = set.as_ref().filter(|_| request.only.is_empty()) {
                outcome.tablespaces = tablespaces::restored(&set.manifest, &restored.to, &elsewhere);
            }
        }
        Some(Err(NotRestored { error, left })) => {
            outcome.left = left.map(|path| path.display().to_string());
            outcome.damage = set::stored(error.damage());
            ended = Some(error).filter(|error| error.damage().is_empty());
        }
        None => {}
    }
    let (gave_way, of_giving_way) = transfer.gave_way();
    outcome.gave_way = gave_way;
    warnings.extend(of_giving_way);
    let targets = set.iter().flat_map(|set| &set.stripes).take(1);
    let targets = targets.filter_map(|open| target(&open.stripe.path)).collect();
    Ok(RestoreEnd { outcome, warnings, ended, targets, transfer })
}

/// What is done with the files before they get their name. Found before the first byte is restored, because the program for it may
/// be missing.
fn preparation(request: &RestoreRequest, set: Option<&OpenSet>) -> Result<Option<Preparation>, SessionError> {
    match set.filter(|_| !request.no_prepare && request.only.is_empty()) {
        Some(set) => Ok(Preparation::of(set, &request.to, request.engine_dir.as_deref())?),
        None => Ok(None),
    }
}

/// Where a PostgreSQL is to be brought. Checked before the first byte is restored, too.
fn recovery(request: &RestoreRequest, set: Option<&OpenSet>) -> Result<Option<Recovery>, SessionError> {
    match (&request.point, set) {
        (Some(point), Some(set)) => Ok(Some(Recovery::plan(point, &set.manifest, None)?)),
        _ => Ok(None),
    }
}

fn finish_files(
    directory: &Path,
    preparation: Option<&Preparation>,
    recovery: Option<&Recovery>,
    progress: &Progress,
    prepare_ns: &AtomicU64,
) -> Result<(), StageFailure> {
    if let Some(preparation) = preparation {
        let took_ns = preparation.carry_out(directory, progress)?;
        prepare_ns.store(took_ns, Ordering::Relaxed);
    }
    if let Some(recovery) = recovery {
        recovery.write_to(directory)?;
    }
    Ok(())
}

fn outcome(request: &RestoreRequest, set: Option<&OpenSet>, transfer: &Transfer) -> RestoreOutcome {
    let cpu = transfer.cpu();
    let progress = transfer.progress();
    let now = progress.now();
    let shown = |path: &PathBuf| path.display().to_string();
    let only: Vec<_> = request.only.iter().map(shown).collect();
    RestoreOutcome {
        set: set.map(|set| set.manifest.set.to_string()).unwrap_or_default(),
        from: request.from.first().map(shown).unwrap_or_default(),
        to: shown(&request.to),
        only: (!only.is_empty()).then(|| only.join(", ")),
        page_bytes: set.and_then(page_bytes),
        limit_bytes_per_second: request.limit,
        stripes: set.map(|set| set::stripes_read(set, &now.stripes, &[])).unwrap_or_default(),
        elapsed_ns: transfer.elapsed_ns(),
        used: TransferUse {
            buffer_time: now.buffer_time,
            series: progress.series(),
            cpu_user_ns: cpu.user_ns,
            cpu_system_ns: cpu.system_ns,
        },
        ..RestoreOutcome::default()
    }
}

fn page_bytes(set: &OpenSet) -> Option<u32> {
    let of_source = |source: &SourceRecord| match &source.kind {
        SourceKind::Postgresql(_) => Some(POSTGRES_PAGE_BYTES),
        SourceKind::Mariadb(record) => Some(record.page_bytes),
        _ => None,
    };
    set.manifest.sources.iter().find_map(of_source)
}

fn unprepared(request: &RestoreRequest, set: &OpenSet, prepare_ns: Option<u64>) -> Option<Warning> {
    let is_mariadb = |source: &SourceRecord| matches!(source.kind, SourceKind::Mariadb(_));
    if prepare_ns.is_some() || !set.manifest.sources.iter().any(is_mariadb) {
        return None;
    }
    let message = "NOT PREPARED: these files of MariaDB are of no single point in time, and a server that is started on them may \
                   run and lose data";
    let hint = if request.only.is_empty() {
        let to = shell_path(&request.to);
        format!(
            "`mariadb-backup --prepare --target-dir={to}` before anything else, with the version of the server"
        )
    } else {
        "restore everything: a single table is prepared with all others only".to_owned()
    };
    Some(Warning::new(WarningCode::NotPrepared, message).hint(hint))
}

/// With a point in time it begins a timeline of its own.
fn starts_as_it_was(request: &RestoreRequest) -> bool {
    request.point.is_none() && request.only.is_empty()
}

/// The story: a restored server began to archive on the timeline of its original. The archive refused each segment, since it had another
/// one of that name, and the log filled the disk.
fn archives<'a>(mut records: impl Iterator<Item = &'a PostgresRecord>) -> Option<Warning> {
    if !records.any(|record| record.archives == Some(true)) {
        return None;
    }
    let message = "the server that was backed up archives its log (archive_mode), and a server on these files goes on with its timeline: \
                   the archive has segments of these names already, with other content";
    let hint = "start it with archive_mode = off, or with an empty archive of its own; or restore with --wal DIR, so that it begins a \
                timeline of its own";
    Some(Warning::new(WarningCode::NotPrepared, message).hint(hint))
}

fn take(outcome: &mut RestoreOutcome, set: Option<&OpenSet>, restored: &Restored) {
    let bytes: Vec<u64> = restored.stripes.iter().map(|stripe| stripe.bytes).collect();
    outcome.stripes = set.map(|set| set::stripes_read(set, &bytes, &restored.stripes)).unwrap_or_default();
    outcome.to = restored.to.display().to_string();
    outcome.is_whole = true;
    outcome.files = restored.files;
    outcome.bytes = restored.bytes;
    outcome.stored_bytes = bytes.iter().sum();
    outcome.reads_max = restored.reads_max;
    outcome.worker_count = restored.workers;
    outcome.transfer_bytes = Some(restored.transfer_bytes);
    outcome.sync_ns = restored.sync_ns;
}

/// An older one may be what is wanted, but nobody should believe that it is the newest.
fn older(newest: &Newest) -> Option<Warning> {
    let Newest::Older { set, because } = newest else { return None };
    let message = format!("this is not the newest backup: {because}, set {set}");
    Some(
        Warning::new(WarningCode::NewerBackup, message).hint("--expect SETID restores that set and no other"),
    )
}

fn lost(losses: &[FileLoss]) -> Vec<Warning> {
    let listed = losses.iter().take(LOSSES_LISTED).map(|(path, loss)| {
        let message = format!("could not restore the {} of {}: {}", loss.what, path.display(), loss.cause);
        Warning::new(WarningCode::MetadataLost, message).about(path.display().to_string())
    });
    let mut warnings: Vec<_> = listed.collect();
    if losses.len() > LOSSES_LISTED {
        let message = format!("{} more metadata problems are not listed", losses.len() - LOSSES_LISTED);
        warnings.push(Warning::new(WarningCode::MetadataLost, message));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restored_server_that_archives_is_warned_to_stay_out_of_the_archive_of_its_original() {
        let record = |archives| PostgresRecord { archives, ..PostgresRecord::default() };
        let warned = |all: &[PostgresRecord]| archives(all.iter()).map(|warning| warning.code);
        assert_eq!(warned(&[record(Some(false)), record(Some(true))]), Some(WarningCode::NotPrepared));
        assert_eq!(warned(&[record(Some(false)), record(None)]), None);
    }
}
