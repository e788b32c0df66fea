//! Copies files: runs the copier, and returns a run and the list of files.

use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};

use iostall_engine::{Input, files};
use iostall_host::cpu_ticks;
use iostall_measure::ByteCount;
use iostall_measure::platform::Target;
use iostall_model::transfer::{HashKind, NotCopied, Undone};
use iostall_model::{CopyOutcome, Run, RunBody, TransferUse, Warning, WarningCode};
use iostall_transfer::copy::FileList;
use iostall_transfer::manifest::{
    Manifest, ManifestFile, hash_for, is_json, open, partial_path, read, write_json, write_sums,
};
use iostall_transfer::{Copier, CopyError, CopyLog, CopyOptions};

use crate::error::SessionError;
use crate::event::{Event, Observer};
use crate::machine::processors_of_others;
use crate::names::input_path;
use crate::output::{Form, LogFile, LogFileError, OutputError, Outputs, Taken};
use crate::transfer::{Transfer, target};

/// Enough for ten million names.
const FILE_LIST: Input = Input { what: "list of files", limit: ByteCount(1 << 30) };

const LOSSES_LISTED: usize = 5;

pub struct CopyRequest {
    pub sources: Vec<PathBuf>,
    pub destination: PathBuf,
    pub options: CopyOptions,
    /// The rate limit in `options`, for the record.
    pub limit: Option<u64>,
    /// Gets a line for each file as soon as it is done.
    pub log: Option<LogFile>,
}

/// Reads a list of files, from standard input if `path` is `-`. Names end in line breaks or, with
/// `zero_terminated`, in zero bytes.
pub fn read_file_list(path: &Path, zero_terminated: bool) -> Result<FileList, SessionError> {
    let text = FILE_LIST.read(input_path(path))?;
    let list = FileList::parse(&text, if zero_terminated { b'\0' } else { b'\n' });
    list.map_err(|source| SessionError::FileList { path: path.to_owned(), source })
}

pub struct Copied {
    pub outcome: CopyOutcome,
    pub warnings: Vec<Warning>,
    pub ended: Option<CopyError>,
    pub list: Manifest,
    pub log_lost: Option<LogFileError>,
    /// Whether there is nothing to list, because everything failed.
    pub has_nothing: bool,
    name: String,
    targets: Vec<Target>,
    transfer: Transfer,
}

impl Copied {
    pub fn is_whole(&self) -> bool {
        !self.list.is_partial
    }

    /// What must be said also where nobody sees the report, and whether it is a caution of the run as well: lost metadata may be
    /// the only trace of who may read a file now.
    fn remarks(&self, options: &CopyOptions) -> Vec<(String, bool)> {
        let mut lost = self.warnings.iter().filter(|warning| warning.code == WarningCode::MetadataLost);
        let first = lost.next().map(|first| first.message.clone());
        let more = if lost.next().is_some() { ", and more, which `--json FILE` lists" } else { "" };
        let mut remarks: Vec<_> = first.map(|first| (format!("{first}{more}"), true)).into_iter().collect();
        // That nothing is newer than yesterday is usual.
        if !options.selection.rules.is_empty() && self.outcome.has_selected_nothing() {
            remarks.push(("nothing was selected: the patterns leave everything out".to_owned(), false));
        }
        remarks
    }

    pub fn into_run(self) -> (Manifest, Run) {
        let body = RunBody::Copy(Box::new(self.outcome));
        (self.list, self.transfer.finish(self.name, self.targets, self.warnings, body))
    }
}

pub fn copy(
    request: CopyRequest,
    transfer: Transfer,
    observer: &dyn Observer,
) -> Result<Copied, SessionError> {
    let CopyRequest { sources, destination, options, limit, log: log_file } = request;
    let options = options.giving_way(transfer.rate());
    let cpus = cpu_ticks();
    let (planned, dry_run, mut log) = transfer.work(observer, |progress| {
        let mut copier = Copier::new(&options, progress);
        if let Some(file) = &log_file {
            copier.record_to(file.records());
        }
        let mut dry_run = None;
        let done = copier.plan(&sources, &destination).map(|plan| {
            // Report known failures now, not after the hours that the rest may take.
            observer.on(&Event::NotCopied(&copier.log().failures));
            if options.dry_run {
                dry_run = Some(plan.preview(&options, !copier.log().failures.is_empty()));
                return Ok(());
            }
            copier.carry_out(plan)
        });
        (done, dry_run, copier.into_log())
    });
    let log_lost = log_file.and_then(|file| file.finish().err());
    let ended = planned?.err();
    observer.on(&Event::NotCopied(&log.failures[log.failed_at_start..]));
    let is_whole = ended.is_none() && log.is_whole();
    let files = mem::take(&mut log.files).into_iter().map(ManifestFile::from).collect();
    let name = destination.file_name().unwrap_or(destination.as_os_str()).to_string_lossy().into_owned();
    let (gave_way, of_giving_way) = transfer.gave_way();
    let copied = Copied {
        log_lost,
        warnings: warnings(&log)
            .into_iter()
            .chain(of_giving_way)
            .chain(processors_of_others(&cpus, transfer.cpu()))
            .collect(),
        list: Manifest { files, is_partial: !is_whole },
        has_nothing: log.first_file.is_none() && !log.failures.is_empty(),
        targets: log.first_file.as_deref().and_then(first_target).into_iter().collect(),
        outcome: CopyOutcome {
            dry_run,
            gave_way,
            ..outcome(log, ended.as_ref(), &options, limit, &transfer)
        },
        ended,
        name,
        transfer,
    };
    for (message, is_caution) in copied.remarks(&options) {
        observer.on(&Event::MustBeSaid { message: &message, is_caution });
    }
    Ok(copied)
}

/// Facts about the first file. Finding out means reading it, so its times are restored.
fn first_target(path: &Path) -> Option<Target> {
    let before = files::stamp_of_path(path);
    let found = target(path);
    if let (Ok(before), Ok(file)) = (before, File::open(path)) {
        // Does not affect the content, and only the owner may do it.
        let _ = files::set_times(&file, &before);
    }
    found
}

fn outcome(
    log: CopyLog,
    ended: Option<&CopyError>,
    options: &CopyOptions,
    limit: Option<u64>,
    transfer: &Transfer,
) -> CopyOutcome {
    let cpu = transfer.cpu();
    let not_copied = not_copied(&log, ended);
    CopyOutcome {
        settings: options.settings(limit),
        shape: log.shape,
        counts: log.counts,
        bytes: log.bytes,
        hole_bytes: log.hole_bytes,
        kept_bytes: log.kept_bytes,
        unfinished_bytes: log.unfinished_bytes,
        elapsed_ns: transfer.elapsed_ns(),
        prepare_ns: log.prepare_ns,
        sync_ns: log.sync_ns,
        verify_ns: log.verify_ns,
        used: TransferUse {
            buffer_time: transfer.progress().now().buffer_time,
            series: transfer.progress().series(),
            cpu_user_ns: cpu.user_ns,
            cpu_system_ns: cpu.system_ns,
        },
        verified_files: log.verified_files,
        mismatches: log.mismatches,
        not_copied,
        remaining: log.remaining,
        image: log.image,
        dry_run: None,
        gave_way: None,
    }
}

/// In the form stored with the run. The error that ended the copy comes last.
fn not_copied(log: &CopyLog, ended: Option<&CopyError>) -> Vec<NotCopied> {
    let failed = log.failures.iter().map(|failure| NotCopied {
        what: failure.error.undone(),
        // What is to be deleted is not in the source.
        path: match failure.error.undone() {
            Undone::Deleted => failure.target.display().to_string(),
            Undone::Copied | Undone::Removed => failure.source.display().to_string(),
        },
        message: failure.error.to_string(),
    });
    let ended = ended.filter(|error| !error.is_cancelled()).map(|error| NotCopied {
        what: error.undone(),
        path: error.path().map(|path| path.display().to_string()).unwrap_or_default(),
        message: error.to_string(),
    });
    failed.chain(ended).collect()
}

fn warnings(log: &CopyLog) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = log
        .losses
        .iter()
        .take(LOSSES_LISTED)
        .map(|(path, loss)| {
            let message = format!("could not copy the {} of {}: {}", loss.what, path.display(), loss.cause);
            Warning::new(WarningCode::MetadataLost, message).about(path.display().to_string())
        })
        .collect();
    if log.losses.len() > LOSSES_LISTED {
        let message = format!("{} more metadata problems are not listed", log.losses.len() - LOSSES_LISTED);
        warnings.push(Warning::new(WarningCode::MetadataLost, message));
    }
    warnings.extend(sources_in_use(&log.in_use));
    if let Some(shape) = &log.shape {
        warnings.extend(shape.caching_reasons.iter().map(|reason| {
            Warning::new(WarningCode::DirectRefused, format!("direct I/O is not in use: {reason}"))
        }));
    }
    warnings
}

/// One sentence for all files: each small one was read until two reads agreed, and each large one kept its
/// size and time; but together they are not from one point in time.
fn sources_in_use(paths: &[PathBuf]) -> Option<Warning> {
    let (first, others) = paths.split_first()?;
    let what = match others.len() {
        0 => format!("{} was open for writing by another process", first.display()),
        others => format!("{} and {others} more were open for writing by other processes", first.display()),
    };
    let message = format!(
        "{what} while it was copied: no file changed while it was read, but together the files may not be from one point in time"
    );
    let hint = "copy a snapshot, or use the backup command of the database";
    Some(Warning::new(WarningCode::SourceInUse, message).hint(hint))
}

#[derive(Clone, Debug)]
pub struct ManifestPlace {
    pub path: PathBuf,
    /// Whether it may replace any file except a database or disk image.
    pub may_replace: bool,
}

/// The checksum algorithm of a copy: the requested one, or the one implied by the manifest's name.
pub fn hash_of_copy(manifest: Option<&Path>, asked: Option<HashKind>) -> Result<HashKind, SessionError> {
    let Some(path) = manifest else { return Ok(asked.unwrap_or_default()) };
    hash_for(path, asked).map_err(|source| SessionError::ManifestHash { path: path.to_owned(), source })
}

impl ManifestPlace {
    pub fn form(&self) -> Form {
        Form::Manifest { may_replace: self.may_replace }
    }

    /// Adds the name that the list of an unfinished copy gets to `outputs`, so that it is refused at the start like the other.
    pub fn check_partial(&self, outputs: &mut Outputs, taken: &Taken) -> Result<(), OutputError> {
        if outputs.is_stream(&self.path) {
            return Ok(());
        }
        outputs.also("--manifest", self.form(), &partial_path(&self.path), taken)
    }

    /// Keeps one place for the list in `outputs`. The list of an incomplete copy goes next to the name,
    /// because the name may belong to the last complete list; an empty list is not written.
    pub fn choose(&self, outputs: &mut Outputs, is_whole: bool, has_nothing: bool) -> Option<Warning> {
        let beside = partial_path(&self.path);
        if is_whole || has_nothing {
            outputs.leave_out(&beside);
        }
        if has_nothing {
            outputs.leave_out(&self.path);
        }
        if is_whole || has_nothing || outputs.is_stream(&self.path) {
            return None;
        }
        outputs.leave_out(&self.path);
        let message = format!(
            "the list of copied files is incomplete and was written to {}; {} is unchanged",
            beside.display(),
            self.path.display()
        );
        let hint = "the same command writes the complete list when it succeeds";
        Some(Warning::new(WarningCode::PartialList, message).hint(hint))
    }

    pub fn write(&self, list: &Manifest, out: &mut dyn Write) -> io::Result<()> {
        if is_json(&self.path) { write_json(list, out) } else { write_sums(list, out) }
    }

    /// Removes the partial list of an earlier attempt, which the complete list supersedes.
    pub fn remove_partial(&self) {
        let beside = partial_path(&self.path);
        let is_ours =
            open(&beside).is_ok_and(|text| read(text, &beside, None).is_ok_and(|list| list.is_partial));
        if is_ours {
            // If this fails, the file's name still says that it is partial.
            let _ = std::fs::remove_file(beside);
        }
    }
}
