//! Makes a backup: finds what the sources consist of, writes the stripes, and returns a run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostall_engine::files::StandardInput;
use iostall_host::System;
use iostall_measure::clock::utc_now;
use iostall_model::backup::{BackupSettings, Compression, SourceKind};
use iostall_model::stripe::{BackupShape, StripeUse};
use iostall_model::{BackupOutcome, Identity, Run, RunBody, TransferUse, Warning, WarningCode};
use iostall_remote::is_object;
use iostall_transfer::Progress;
use iostall_transfer::backup::codec::Lock;
use iostall_transfer::backup::create::{
    self, CreateError, CreateOptions, Made, PagesSeen, PreparedSource, SourceRequest,
};
use iostall_transfer::backup::read::OpenSet;
use iostall_transfer::rate::RateLimit;

use super::base::BaseRequest;
use super::database::{DatabaseSourceError, ReadyDatabase};
use super::live_files;
use super::lock_for::LockFor;
use super::postgres::PostgresBackupError;
use crate::error::SessionError;
use crate::event::{Event, Observer};
use crate::identity::identity_of;
use crate::transfer::{Transfer, target};

/// The name of standard input among sources, in runs as in manifests.
pub(super) const STANDARD_INPUT: &str = "standard input";

/// What to back up, where, and how. What is `None` is chosen.
pub struct CreateRequest {
    pub sources: Vec<BackupSource>,
    /// One file for each stripe; none for `null:`, which measures everything but the targets.
    pub targets: Vec<PathBuf>,
    pub compression: Compression,
    pub frame_bytes: Option<u32>,
    pub transfer_bytes: Option<u32>,
    pub buffers: Option<u32>,
    pub workers: Option<u32>,
    /// Bytes a second that are read at most.
    pub limit: Option<u64>,
    /// Who can read the backup; anybody if `None`.
    pub lock: Option<Lock>,
    /// For how long the store keeps it from everybody who would delete it.
    pub object_lock: Option<LockFor>,
    /// The set that it is an increment on; `None` for a whole backup.
    pub base: Option<BaseRequest>,
}

pub enum BackupSource {
    /// A file, a directory or a block device.
    Path(PathBuf),
    /// With the name of what comes through it, if it has one: only with a name is it known again.
    StandardInput(Option<String>),
    /// A database, which is put into backup mode, or copied, when the backup begins.
    Database(ReadyDatabase),
    /// A source whose items were found by its own use case.
    Prepared(Box<PreparedSource>),
}

impl BackupSource {
    fn named(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::StandardInput(None) => STANDARD_INPUT.to_owned(),
            Self::StandardInput(Some(name)) => format!("{name} ({STANDARD_INPUT})"),
            Self::Database(database) => database.named(),
            Self::Prepared(source) => source.record.named.clone(),
        }
    }

    fn path(&self) -> Option<PathBuf> {
        match self {
            Self::Path(path) => Some(path.clone()),
            Self::StandardInput(_) | Self::Database(_) | Self::Prepared(_) => None,
        }
    }

    /// What it is, as far as nobody has to be asked; `None`: its own use case says it.
    fn identity_here(&self) -> Option<Identity> {
        match self {
            // One that is not there is refused in the words of the use case.
            Self::Path(path) => Some(identity_of(path).unwrap_or(Identity::Unnamed)),
            Self::StandardInput(name) => {
                Some(name.clone().map_or(Identity::Unnamed, |name| Identity::Name { name }))
            }
            Self::Database(_) => None,
            Self::Prepared(source) => source.record.identity(),
        }
    }

    fn identity(&self) -> Result<Option<Identity>, SessionError> {
        match self {
            Self::Database(database) => Ok(Some(database.identity()?)),
            other => Ok(other.identity_here()),
        }
    }
}

pub struct Created {
    pub outcome: BackupOutcome,
    pub warnings: Vec<Warning>,
    pub ended: Option<CreateError>,
    name: String,
    targets: Vec<iostall_measure::platform::Target>,
    transfer: Transfer,
}

impl Created {
    pub fn into_run(self) -> Run {
        let body = RunBody::Backup(Box::new(self.outcome));
        self.transfer.finish(self.name, self.targets, self.warnings, body)
    }
}

/// Where a copy of a database that is made for a backup to `targets` has room: beside them, unless they are in a store.
pub fn scratch_for(targets: &[PathBuf]) -> PathBuf {
    match targets.first() {
        Some(target) if is_object(target) => std::env::temp_dir(),
        target => target.and_then(|target| target.parent()).unwrap_or(Path::new("")).to_owned(),
    }
}

/// An error is that it could not start. A later one is part of [`Created`]; whatever had been written is then gone,
/// except where the error says how to go on.
pub fn create(
    request: CreateRequest,
    transfer: Transfer,
    observer: &dyn Observer,
) -> Result<Created, SessionError> {
    let name = request.sources.first().map_or_else(String::new, BackupSource::named);
    let sources: Vec<String> = request.sources.iter().map(BackupSource::named).collect();
    let first_file = request.sources.first().and_then(BackupSource::path);
    let (base_set, base) = match &request.base {
        Some(base) => Some(base.open(&sources, || identities(&request.sources))?).unzip(),
        None => (None, None),
    };
    let here: Vec<(Option<Identity>, Option<PathBuf>)> =
        request.sources.iter().map(|source| (source.identity_here(), source.path())).collect();
    let options = CreateOptions { base, ..options(&request, transfer.rate())? };
    // Before a server is put into backup mode, or an hour is spent on a list of files.
    create::check(&options)?;
    let done = transfer.work(observer, |progress| -> Result<Made, SessionError> {
        let requests = request.sources.into_iter();
        let requests = requests.map(|source| requested(source, base_set.as_ref(), progress));
        let requests = requests.collect::<Result<Vec<_>, SessionError>>()?;
        let mut prepared = create::prepare(requests, &options.targets, progress)?;
        for (source, (identity, path)) in prepared.iter_mut().zip(here) {
            source.record.identity = identity.or(source.record.identity.take());
            source
                .content_warnings
                .extend(path.iter().flat_map(|path| live_files::signs(path, source)).collect::<Vec<_>>());
        }
        if options.compression != Compression::None {
            for shortage in create::shortages(&options.targets, &prepared) {
                observer.on(&Event::MayNotFit { message: &format!("this backup may not fit: {shortage}") });
            }
        }
        if prepared.len() > 1 && prepared.iter().any(is_server_increment) {
            // Its files would have other names than those of its base.
            let why = "it must be the only source".to_owned();
            return Err(DatabaseSourceError::from(PostgresBackupError::NoIncrement { why }).into());
        }
        // What a server has not sent again cannot be compared.
        let base = match &options.base {
            Some(base) if prepared.iter().any(is_server_increment) => Some(Arc::new(base.without_content())),
            base => base.clone(),
        };
        Ok(create::create(&CreateOptions { base, ..options.clone() }, prepared, progress)?)
    });
    let has_begun = transfer.progress().now().bytes_done > 0;
    let (made, ended) = match done {
        Ok(made) => (Some(made), None),
        // A request that was given up because of it is no failure of the store.
        Err(SessionError::Backup(_)) if transfer.progress().is_cancelled() => {
            (None, Some(CreateError::Cancelled))
        }
        Err(SessionError::Backup(error)) if has_begun || error.is_cancelled() => (None, Some(error)),
        Err(error) => return Err(error),
    };
    let (gave_way, of_giving_way) = transfer.gave_way();
    let warnings = made.as_ref().map(|made| warnings(made, &options)).unwrap_or_default();
    let warnings = warnings.into_iter().chain(of_giving_way).collect();
    let outcome = BackupOutcome {
        sources,
        gave_way,
        base_source: base_set.as_ref().map(|base| base.manifest.source()),
        base_made_utc: base_set.as_ref().map(|base| base.manifest.started_utc),
        ..outcome(made.as_ref(), &options, &transfer)
    };
    let targets = first_file.and_then(|path| target(&path)).into_iter().collect();
    Ok(Created { outcome, warnings, ended, name, targets, transfer })
}

/// `giving_way` is the limit of a transfer that gives way, which keeps `request.limit` as well.
fn options(
    request: &CreateRequest,
    giving_way: Option<Arc<RateLimit>>,
) -> Result<CreateOptions, CreateError> {
    let fixed = || request.limit.map(|limit| Arc::new(RateLimit::new(limit)));
    Ok(CreateOptions {
        targets: request.targets.clone(),
        compression: request.compression,
        frame_bytes: request.frame_bytes,
        transfer_bytes: request.transfer_bytes,
        buffers: request.buffers,
        workers: request.workers,
        rate: giving_way.or_else(fixed),
        limit_bytes_per_second: request.limit,
        lock: request.lock.clone(),
        base: None,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        object_lock: request.object_lock.map(|lock| lock.from(utc_now())).transpose()?,
        host: System::here().host().hostname,
    })
}

fn identities(sources: &[BackupSource]) -> Result<Vec<Identity>, SessionError> {
    let identities = sources.iter().map(BackupSource::identity).collect::<Result<Option<Vec<_>>, _>>()?;
    Ok(identities.unwrap_or_default())
}

fn is_server_increment(source: &PreparedSource) -> bool {
    matches!(&source.record.kind, SourceKind::Postgresql(record) if record.increment_from.is_some())
}

fn requested(
    source: BackupSource,
    base: Option<&Arc<OpenSet>>,
    progress: &Progress,
) -> Result<SourceRequest, SessionError> {
    let named = source.named();
    Ok(match source {
        BackupSource::Database(database) => {
            let prepared = database.prepare(base, &progress.cancel_flag());
            let failed = |error: DatabaseSourceError| {
                if error.is_cancelled() { CreateError::Cancelled.into() } else { SessionError::from(error) }
            };
            SourceRequest::Prepared(Box::new(prepared.map_err(failed)?))
        }
        BackupSource::Path(path) => SourceRequest::Path(path),
        BackupSource::Prepared(source) => SourceRequest::Prepared(source),
        BackupSource::StandardInput(_) => {
            let cancel = progress.cancel_flag();
            let is_over = move || cancel.load(std::sync::atomic::Ordering::Relaxed);
            SourceRequest::Stream {
                named,
                stream: Box::new(StandardInput::open(is_over).map_err(CreateError::standard_input)?),
            }
        }
    })
}

fn outcome(made: Option<&Made>, options: &CreateOptions, transfer: &Transfer) -> BackupOutcome {
    let cpu = transfer.cpu();
    let now = transfer.progress().now();
    let moved = BackupOutcome {
        bytes: now.bytes_done,
        elapsed_ns: transfer.elapsed_ns(),
        used: TransferUse {
            buffer_time: now.buffer_time,
            series: transfer.progress().series(),
            cpu_user_ns: cpu.user_ns,
            cpu_system_ns: cpu.system_ns,
        },
        ..BackupOutcome::default()
    };
    let Some(made) = made else {
        // What was tried is worth knowing too.
        let shape = options.settings().map(|settings| shape(&settings, options)).unwrap_or_default();
        return BackupOutcome { shape, ..moved };
    };
    let Made { manifest, manifest_path, stripes, sync_ns, page_bytes, pages, .. } = made;
    let is_kept = manifest_path.is_some();
    let path = |path: &Option<PathBuf>| path.as_deref().map_or("null:".into(), Path::to_string_lossy).into();
    let stripe = |stripe: &create::MadeStripe| StripeUse {
        path: path(&stripe.path),
        bytes: stripe.bytes,
        frames: stripe.frames,
        busy_ns: stripe.busy_ns,
    };
    BackupOutcome {
        set: is_kept.then(|| manifest.set.to_string()),
        identities: manifest.identities(),
        content_warnings: manifest.content_warnings(),
        bases: manifest.bases.iter().map(|base| base.set.to_string()).collect(),
        base_bytes: manifest.totals.base_bytes,
        manifest: manifest_path.as_ref().map(|path| path.display().to_string()),
        object_lock: manifest.object_lock,
        through: manifest.sources.iter().find_map(|source| match &source.kind {
            SourceKind::Postgresql(record) => Some(record.through),
            _ => None,
        }),
        page_bytes: *page_bytes,
        shape: BackupShape {
            reads_directly: made.reads_directly,
            writes_directly: made.writes_directly,
            caching_reasons: made.caching_reasons.clone(),
            ..shape(&manifest.settings, options)
        },
        files: manifest.totals.files,
        bytes: manifest.totals.source_bytes,
        hole_bytes: manifest.totals.hole_bytes,
        compressed_bytes: manifest.totals.compressed_bytes,
        stored_bytes: manifest.totals.stored_bytes,
        stripes: stripes.iter().map(stripe).collect(),
        sync_ns: *sync_ns,
        pages_checked: pages.as_ref().map(|pages| pages.checked),
        bad_pages: pages.as_ref().map(|pages| pages.wrong.clone()).unwrap_or_default(),
        ..moved
    }
}

fn shape(settings: &BackupSettings, options: &CreateOptions) -> BackupShape {
    let encryption = options.lock.as_ref().map(|lock| match lock {
        Lock::Passphrase(_) => "with a passphrase".to_owned(),
        Lock::Recipients(all) if all.len() == 1 => "for 1 recipient".to_owned(),
        Lock::Recipients(all) => format!("for {} recipients", all.len()),
    });
    BackupShape {
        block_bytes: settings.block_bytes,
        frame_bytes: settings.frame_bytes,
        transfer_bytes: settings.transfer_bytes,
        buffer_count: settings.buffer_count,
        worker_count: settings.workers,
        compression: settings.compression.to_string(),
        encryption,
        limit_bytes_per_second: settings.limit_bytes_per_second,
        ..BackupShape::default()
    }
}

fn warnings(made: &Made, options: &CreateOptions) -> Vec<Warning> {
    let of_pages = made.pages.as_ref().map(PagesSeen::warnings).unwrap_or_default();
    let mut warnings: Vec<Warning> = made
        .manifest
        .warnings
        .iter()
        .filter(|message| !of_pages.contains(message))
        .map(|message| {
            Warning::new(WarningCode::SourceInUse, message.clone())
                .hint("back up a snapshot, or name the database itself instead of its files")
        })
        .collect();
    warnings.extend(made.pages.as_ref().and_then(wrong_pages));
    if options.lock.as_ref().is_some_and(Lock::is_one_recipient) {
        let message = "only one key opens this backup: who loses that key loses the backup".to_owned();
        let warning = Warning::new(WarningCode::OneRecipient, message);
        warnings.push(warning.hint("name a second recipient with another --encrypt-to"));
    }
    if let Some(manifest) = &made.replacing_store {
        let message = format!(
            "the store replaces objects although it was told not to: another backup to {} would not be refused",
            manifest.display()
        );
        let hint = "give each backup a name of its own, and let nothing else write there";
        warnings.push(Warning::new(WarningCode::StoreReplaces, message).hint(hint));
    }
    if made.counts.skipped_specials > 0 {
        let message = format!(
            "left out {} pipes, sockets or device nodes, which have no content",
            made.counts.skipped_specials
        );
        warnings.push(Warning::new(WarningCode::LeftOut, message));
    }
    if made.removed_bytes > 0 {
        let message = format!(
            "removed {} that a killed backup to the same names had left",
            iostall_measure::ByteCount(made.removed_bytes)
        );
        warnings.push(Warning::new(WarningCode::LeftOut, message));
    }
    warnings.extend(made.caching_reasons.iter().map(|reason| {
        Warning::new(WarningCode::DirectRefused, format!("direct I/O is not in use: {reason}"))
    }));
    warnings
}

/// Pages that the database itself has lost: the report lists them, and the manifest repeats them to who restores.
fn wrong_pages(pages: &PagesSeen) -> Option<Warning> {
    let first = pages.wrong.first()?;
    let message = match pages.wrong.len() {
        1 => first.clone(),
        many => format!("{many} pages of the database have a wrong checksum, the first of them: {first}"),
    };
    let hint = "they are in this backup as they were read: keep an older one that has them whole";
    Some(Warning::new(WarningCode::WrongPages, message).hint(hint))
}

#[cfg(test)]
mod tests {
    use iostall_load::window::StopToken;
    use iostall_measure::RunClock;

    use super::*;
    use crate::recorder::Program;

    fn transfer(stop: &StopToken) -> Transfer {
        let program = Program { version: "test".to_owned(), command_line: Vec::new() };
        Transfer::begin(program, RunClock::of_machine(), stop, None).unwrap()
    }

    fn request(source: &Path, targets: &[PathBuf]) -> CreateRequest {
        CreateRequest {
            sources: vec![BackupSource::Path(source.to_owned())],
            targets: targets.to_vec(),
            compression: Compression::Zstd(1),
            frame_bytes: Some(64 << 10),
            transfer_bytes: Some(256 << 10),
            buffers: None,
            workers: Some(1),
            limit: None,
            lock: None,
            object_lock: None,
            base: None,
        }
    }

    /// A tree of half a megabyte, with a pipe that has no content.
    fn tree(directory: &Path) -> PathBuf {
        let data = directory.join("data");
        std::fs::create_dir(&data).unwrap();
        std::fs::write(data.join("file"), b"row after row; ".repeat(40_000)).unwrap();
        data
    }

    #[test]
    fn a_backup_is_a_run_that_says_where_it_is_and_how_fast_each_part_was() {
        let directory = tempfile::tempdir().unwrap();
        let data = tree(directory.path());
        let targets = ["a.iob", "b.iob"].map(|name| directory.path().join(name));
        let stop = StopToken::default();
        let created = create(request(&data, &targets), transfer(&stop), &()).unwrap();
        assert!(created.ended.is_none());
        let run = created.into_run();
        let backup = run.body.as_kind::<BackupOutcome>().unwrap();
        assert_eq!((backup.bytes, backup.files), (600_000, 1));
        assert!(backup.stored_bytes < 100_000 && backup.ratio().unwrap() > 6.0);
        assert_eq!(backup.stripes.len(), 2);
        assert_eq!(backup.stripes[1].path, targets[1].display().to_string());
        let sizes: u64 = targets.iter().map(|path| std::fs::metadata(path).unwrap().len()).sum();
        assert_eq!(sizes, backup.stored_bytes);
        assert_eq!(backup.manifest, Some(format!("{}.manifest", targets[0].display())));
        assert_eq!((backup.shape.compression.as_str(), backup.shape.worker_count), ("zstd:1", 1));
        assert!(backup.sync_ns > 0 && backup.sync_ns <= backup.elapsed_ns);
        assert!(!run.interrupted);
    }

    #[test]
    fn to_null_nothing_is_kept_and_that_is_no_failure() {
        let directory = tempfile::tempdir().unwrap();
        let data = tree(directory.path());
        let stop = StopToken::default();
        let created = create(request(&data, &[]), transfer(&stop), &()).unwrap();
        assert!(created.ended.is_none());
        let backup = &created.outcome;
        assert_eq!((&backup.set, &backup.manifest), (&None, &None));
        assert_eq!(backup.stripes[0].path, "null:");
        assert!(backup.stored_bytes > 0);
    }

    #[test]
    fn a_backup_that_cannot_start_is_an_error_and_a_cancelled_one_is_a_run() {
        let directory = tempfile::tempdir().unwrap();
        let data = tree(directory.path());
        let target = directory.path().join("a.iob");
        let stop = StopToken::default();
        let inside = create(request(&data, &[data.join("x")]), transfer(&stop), &()).err().unwrap();
        assert!(matches!(inside, SessionError::Backup(CreateError::IntoItself { .. })));
        assert!(inside.hint().unwrap().contains("outside"));
        stop.raise(0);
        let created = create(request(&data, std::slice::from_ref(&target)), transfer(&stop), &()).unwrap();
        assert!(created.ended.as_ref().is_some_and(CreateError::is_cancelled));
        assert_eq!(created.outcome.shape.transfer_bytes, 256 << 10, "what was tried");
        assert!(created.into_run().interrupted);
        assert!(!target.exists());
    }
}
