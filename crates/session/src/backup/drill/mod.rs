//! Restores a backup to a scratch directory, starts the real engine on it, and checks what it says.

mod account;
mod error;
mod findings;
mod limits;
mod mariadb;
mod pages;
mod postgres;
mod request;
mod scratch;
mod server;
mod settings;

use std::path::{Path, PathBuf};

use iostall_connect::sqlite::{check, version};
use iostall_engine::files::path_from_bytes;
use iostall_host::Account;
use iostall_model::backup::{FileEntry, FileKind, Manifest, SourceKind, SourceRecord, StoredName};
use iostall_model::drill::{CheckState, DrillCheck};
use iostall_model::{DrillOutcome, Run, RunBody, Warning};
use iostall_transfer::Progress;
use iostall_transfer::backup::read::{OpenSet, ReadChoice, ReadError, open_with};
use iostall_transfer::backup::restore::{NotRestored, RestoreOptions, restore as restore_set};
use iostall_transfer::rate::RateLimit;

use self::findings::Findings;
use self::limits::Limits;
use self::mariadb::{MariadbCopyFiles, MariadbPrograms};
use self::postgres::{Cluster, Installation};
use self::scratch::Scratch;
use super::set;
use super::wal::WalError;
use super::wal::access::Reader;
use super::wal::point::Recovery;
use crate::event::Observer;
use crate::transfer::{Transfer, target};

pub use self::error::DrillError;
pub use self::request::DrillRequest;

const VERSION_FILE: &str = "PG_VERSION";

/// Holds a drill. What is wrong with the backup is in the outcome of the run.
pub fn drill(request: &DrillRequest, transfer: Transfer, observer: &dyn Observer) -> Result<Run, DrillError> {
    let from = request::files(&request.from, request.source.as_deref(), request.unlock.as_ref())?;
    let places: Vec<PathBuf> = request.from.iter().chain(&request.bases).cloned().collect();
    let set = match open_with(&from, &places, request.unlock.as_ref()) {
        Ok(set) => set,
        Err(ReadError::Damaged(found)) => {
            let from = from.first().map(|path| path.display().to_string()).unwrap_or_default();
            let damage = set::stored(&found);
            let outcome = DrillOutcome { from, damage, ..DrillOutcome::default() };
            return Ok(finish(transfer, outcome, Vec::new(), None));
        }
        Err(error) => return Err(error.into()),
    };
    let mut stage = Stage::prepare(request, &set)?;
    let held = transfer.work(observer, |progress| stage.hold(progress));
    // The server is down by now. What broke off is not kept: nobody hears where it is.
    let removed = stage.scratch.end(request.keep && held.is_ok());
    let (mut outcome, warnings) = held?;
    outcome.is_kept = request.keep;
    if let Err(error) = removed {
        outcome.is_kept = true;
        let detail = std::error::Error::source(&error).map_or_else(String::new, |cause| format!(": {cause}"));
        let check = DrillCheck {
            name: "clean-up".to_owned(),
            state: CheckState::NotAvailable,
            detail: format!("{error}{detail}"),
            elapsed_ns: 0,
        };
        outcome.checks.push(check);
    }
    Ok(finish(transfer, outcome, warnings, Some(&set)))
}

fn finish(
    transfer: Transfer,
    mut outcome: DrillOutcome,
    warnings: Vec<Warning>,
    set: Option<&OpenSet>,
) -> Run {
    outcome.elapsed_ns = transfer.elapsed_ns();
    outcome.series = transfer.progress().series();
    let targets = set.iter().flat_map(|set| &set.stripes).take(1);
    let targets = targets.filter_map(|open| target(&open.stripe.path)).collect();
    let name = set::short(&outcome.set);
    transfer.finish(name, targets, warnings, RunBody::BackupDrill(Box::new(outcome)))
}

enum Programs {
    Postgres(Installation),
    Mariadb(MariadbPrograms),
}

impl Programs {
    /// For `source`, in `directory` or where distributions have them; `None` if it has no server.
    fn find(source: &SourceRecord, directory: Option<&Path>) -> Result<Option<Self>, DrillError> {
        Ok(match &source.kind {
            SourceKind::Postgresql(record) => {
                Some(Self::Postgres(postgres::find(directory, &record.version)?))
            }
            SourceKind::Mariadb(record) => {
                Some(Self::Mariadb(MariadbPrograms::find(directory, &record.version)?))
            }
            SourceKind::Sqlite { .. }
            | SourceKind::File
            | SourceKind::Directory
            | SourceKind::BlockDevice
            | SourceKind::Stream => None,
        })
    }

    /// Who runs such a server on most machines.
    fn usual_account(&self) -> &'static str {
        match self {
            Self::Postgres(_) => "postgres",
            Self::Mariadb(_) => "mysql",
        }
    }
}

struct Stage<'a> {
    request: &'a DrillRequest,
    set: &'a OpenSet,
    /// By source; `None` for what has no server.
    installations: Vec<Option<Programs>>,
    account: Option<Account>,
    recovery: Option<Recovery>,
    scratch: Scratch,
}

impl<'a> Stage<'a> {
    fn prepare(request: &'a DrillRequest, set: &'a OpenSet) -> Result<Self, DrillError> {
        let manifest = &set.manifest;
        let installations = manifest.sources.iter();
        let installations = installations.map(|source| Programs::find(source, request.engine_dir.as_deref()));
        let installations = installations.collect::<Result<Vec<_>, DrillError>>()?;
        let usual = installations.iter().flatten().next().map(Programs::usual_account);
        if usual.is_none() && !request.statements.is_empty() {
            return Err(DrillError::NothingToAsk);
        }
        let account = match usual {
            Some(usual) => account::choose(request.user.as_deref(), usual, owner(manifest))?,
            None => None,
        };
        let reader = account.clone().map(Reader::alone);
        let point = request.point.as_ref();
        let recovery = point.map(|point| Recovery::plan(point, manifest, reader)).transpose()?;
        if let Some(account) = &account {
            account::check_entry(account, &request.scratch)?;
        }
        let name = set::short(&manifest.set.to_string());
        let bytes = manifest.totals.bytes.saturating_sub(manifest.totals.hole_bytes);
        let scratch = Scratch::create(&request.scratch, &name, bytes)?;
        Ok(Self { request, set, installations, account, recovery, scratch })
    }

    fn hold(&self, progress: &Progress) -> Result<(DrillOutcome, Vec<Warning>), DrillError> {
        let Self { request, set, scratch, .. } = self;
        let limits = Limits::new(progress, request.timeout);
        let mut outcome = self.outcome();
        let rate = request.limit.map(RateLimit::new);
        let choice = ReadChoice { workers: request.workers, ..ReadChoice::default() };
        let options = RestoreOptions { rate: rate.as_ref(), choice, ..RestoreOptions::default() };
        let begun_ns = limits.now_ns();
        let restored = match restore_set(set, &scratch.restored(), &options, progress) {
            Ok(restored) => restored,
            Err(NotRestored { error, .. }) if !error.damage().is_empty() => {
                outcome.damage = set::stored(error.damage());
                return Ok((outcome, Vec::new()));
            }
            Err(NotRestored { error, .. }) if error.is_cancelled() => return Ok((outcome, Vec::new())),
            Err(NotRestored { error, .. }) => return Err(error.into()),
        };
        outcome.restore_ns = limits.now_ns() - begun_ns;
        outcome.files = restored.files;
        outcome.bytes = restored.bytes;
        outcome.stored_bytes = restored.stripes.iter().map(|stripe| stripe.bytes).sum();
        if let Some(recovery) = &self.recovery {
            let written = recovery.write_to(&scratch.restored());
            written.map_err(|error: WalError| DrillError::Point(error.into()))?;
            outcome.recovery = Some(recovery.record.clone());
        }
        if let Some(account) = &self.account {
            scratch.give_to(account)?;
        }
        let mut findings = self.restored_findings(outcome.restore_ns);
        limits.begin();
        self.check_sources(&limits, &mut findings)?;
        outcome.engines = findings.engines;
        outcome.start_ns = findings.start_ns;
        outcome.checks_ns = findings.checks_ns;
        outcome.checks = findings.checks;
        outcome.is_complete = !limits.is_cancelled();
        Ok((outcome, set::empty_maps(&restored).into_iter().collect()))
    }

    fn outcome(&self) -> DrillOutcome {
        let manifest = &self.set.manifest;
        DrillOutcome {
            set: manifest.set.to_string(),
            from: self.set.manifest_path.display().to_string(),
            source: manifest.source(),
            made_utc: Some(manifest.started_utc),
            scratch: self.scratch.path().display().to_string(),
            ..DrillOutcome::default()
        }
    }

    fn restored_findings(&self, restore_ns: u64) -> Findings {
        let mut findings = Findings::default();
        let same = "the checksum of every frame is that of what was backed up".to_owned();
        findings.add("content", CheckState::Passed, same, restore_ns);
        if self.set.keys.is_some() {
            let fits = "it opened the set, and every frame was decrypted with it".to_owned();
            findings.add("key", CheckState::Passed, fits, 0);
        }
        findings
    }

    fn check_sources(&self, limits: &Limits<'_>, findings: &mut Findings) -> Result<(), DrillError> {
        let sources = self.set.manifest.sources.iter().zip(&self.installations);
        for (number, (source, installation)) in (0..).zip(sources) {
            if limits.is_cancelled() {
                break;
            }
            match (&source.kind, installation) {
                (SourceKind::Mariadb(record), Some(Programs::Mariadb(programs))) => {
                    let copy = MariadbCopyFiles {
                        request: self.request,
                        record,
                        data: &self.place(&source.prefix),
                        programs,
                        account: self.account.as_ref(),
                        scratch: &self.scratch,
                        limits,
                    };
                    copy.drill(findings)?;
                }
                (SourceKind::Postgresql(_), Some(Programs::Postgres(installation))) => {
                    let cluster = Cluster {
                        request: self.request,
                        data: &self.place(&source.prefix),
                        installation,
                        account: self.account.as_ref(),
                        scratch: &self.scratch,
                        limits,
                        recovery: self.recovery.as_ref(),
                    };
                    cluster.drill(findings)?;
                }
                (SourceKind::Sqlite { .. }, _) => {
                    for file in files_of(&self.set.manifest, number) {
                        drill_sqlite(&file.name.to_string(), &self.place(&file.name), limits, findings);
                    }
                }
                (
                    SourceKind::Postgresql(_)
                    | SourceKind::Mariadb(_)
                    | SourceKind::File
                    | SourceKind::Directory
                    | SourceKind::BlockDevice
                    | SourceKind::Stream,
                    _,
                ) => {}
            }
        }
        Ok(())
    }

    fn place(&self, name: &StoredName) -> PathBuf {
        let restored = self.scratch.restored();
        match name.as_bytes() {
            [] => restored,
            bytes => restored.join(path_from_bytes(bytes.to_vec())),
        }
    }
}

fn files_of(manifest: &Manifest, source: u32) -> impl Iterator<Item = &FileEntry> {
    let is_its_file = move |file: &&FileEntry| file.source == source && file.kind == FileKind::File;
    manifest.files.iter().filter(is_its_file)
}

fn owner(manifest: &Manifest) -> Option<(u32, u32)> {
    let is_mariadb = |file: &FileEntry| {
        let source = manifest.sources.get(usize::try_from(file.source).unwrap_or(usize::MAX));
        source.is_some_and(|source| matches!(source.kind, SourceKind::Mariadb(_)))
    };
    let is_server = |file: &&FileEntry| {
        let name = file.name.as_bytes();
        let is_version =
            name == VERSION_FILE.as_bytes() || name.ends_with(format!("/{VERSION_FILE}").as_bytes());
        is_version || is_mariadb(file)
    };
    let file = manifest.files.iter().find(is_server)?;
    Some((file.metadata.uid, file.metadata.gid))
}

fn drill_sqlite(name: &str, path: &Path, limits: &Limits<'_>, findings: &mut Findings) {
    limits.show("checking", name);
    let begun_ns = limits.now_ns();
    let found = check(path, &|| limits.is_over());
    let took_ns = limits.now_ns() - begun_ns;
    findings.checks_ns += took_ns;
    findings.engines.push(format!("SQLite {}", version()));
    let check = format!("integrity of {name}");
    match found {
        Ok(problems) => {
            findings.decide(check, &problems, "integrity_check and foreign_key_check".to_owned(), took_ns);
        }
        Err(_) if limits.is_cancelled() => {}
        Err(_) if limits.is_over() => findings.add(check, CheckState::Failed, limits.reason(), took_ns),
        Err(error) => findings.add(check, CheckState::Failed, error.to_string(), took_ns),
    }
}
