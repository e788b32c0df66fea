//! `iostall copy`: sources → copier → manifest, report and store.

mod failures;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use iostall_engine::files;
use iostall_engine::guard::WriteConsent;
use iostall_measure::platform::Target;
use iostall_model::transfer::{CopyOutcome, VerifyMode};
use iostall_model::{RunBody, Warning, WarningCode};
use iostall_transfer::copy::{Specials, Symlinks};
use iostall_transfer::manifest::{ManifestFile, begins_manifest, write_json, write_sums};
use iostall_transfer::rate::RateLimit;
use iostall_transfer::{Copier, CopyError, CopyLog, CopyOptions};

use crate::cli::{CopyArgs, GlobalArgs, SpecialChoice, SymlinkChoice};
use crate::failure::{Status, hinted};
use crate::output;
use crate::printer::Printer;
use crate::store;
use crate::transferring::{Transferring, target};

/// Losses of metadata that are told one by one; the rest are counted.
const LOSSES_TOLD: usize = 5;
/// What is read of a file to see whether it is a manifest, bytes: a name may be 4 KiB long.
const MANIFEST_HEAD_BYTES: u64 = 16 << 10;

/// Copies, and reports it.
pub(crate) fn run(args: &CopyArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let Some((destination, sources)) = args.paths.split_last() else { unreachable!("clap asks for two") };
    output::check(&args.output)?;
    check_manifest(args)?;
    let mut store = if args.no_store { None } else { Some(store::open(global)?) };
    let transferring = Transferring::begin(args.nice, printer)?;
    let options = options(args);
    let (planned, log) = transferring.work(|progress| {
        let mut copier = Copier::new(&options, progress);
        let done = copier.plan(sources, destination).map(|plan| {
            // What is known now is told now, and not after the hours that the rest may take.
            failures::tell(&copier.log().failures, printer);
            copier.carry_out(plan)
        });
        (done, copier.into_log())
    });
    let ended = planned.map_err(with_hint)?.err();
    failures::tell(&log.failures[log.failed_at_start..], printer);
    if let Some(path) = args.manifest.as_ref().filter(|_| !log.files.is_empty() || log.failures.is_empty()) {
        write_manifest(path, &log)?;
    }
    let warnings = warnings(&log);
    let targets = log.files.first().and_then(|file| first_target(&file.path)).into_iter().collect();
    let outcome = outcome(log, ended.as_ref(), &options, args, &transferring);
    let status = failures::status(&outcome, ended.as_ref());
    if let Some(error) = ended {
        printer.error(&with_hint(error));
    }
    let name = destination.file_name().unwrap_or(destination.as_os_str()).to_string_lossy().into_owned();
    let run = transferring.run(&name, targets, warnings, RunBody::Copy(Box::new(outcome)));
    let number = store.as_mut().map(|store| store::add(store, &run)).transpose()?;
    if status == Status::CouldNot {
        output::write_files(&run, number, &args.output, printer)?;
    } else if !global.quiet || args.output.json.is_some() || status == Status::No {
        output::write(&run, number, &args.output, printer)?;
    }
    Ok(status)
}

fn options(args: &CopyArgs) -> CopyOptions {
    let verify = match (args.verify, &args.manifest) {
        (Some(verify), _) => verify,
        (None, Some(_)) => VerifyMode::OnTheFly,
        (None, None) => VerifyMode::None,
    };
    let usual = CopyOptions::default();
    CopyOptions {
        verify,
        hash: args.hash,
        reflink: args.reflink,
        overwrite: args.overwrite,
        consent: WriteConsent {
            overwrite: args.to_device.iter().cloned().collect(),
            destroy_database: args.destroy_database.clone(),
            destroy_signature: args.destroy.iter().cloned().collect(),
        },
        fail_fast: args.fail_fast,
        resume: args.resume,
        rate: args.limit.map(|limit| Arc::new(RateLimit::new(limit))),
        source_caching: args.source_caching,
        target_caching: args.target_caching,
        transfer_bytes: args.transfer_size.map(|size| u32::try_from(size.bytes()).unwrap_or(u32::MAX)),
        depth: args.depth,
        tune: args.tune,
        small_file_bytes: args.small_file.bytes(),
        checkpoint_bytes: args.checkpoint.bytes(),
        symlinks: match args.symlinks {
            SymlinkChoice::Keep => Symlinks::Keep,
            SymlinkChoice::Follow => Symlinks::Follow,
            SymlinkChoice::Skip => Symlinks::Skip,
        },
        specials: match args.specials {
            SpecialChoice::Skip => Specials::Skip,
            SpecialChoice::Keep => Specials::Keep,
            SpecialChoice::Refuse => Specials::Refuse,
        },
        one_file_system: args.one_file_system,
        workers: args.workers.unwrap_or(usual.workers),
    }
}

/// What is known of the first file. To find it out is to read the file: its times are then set again.
fn first_target(path: &Path) -> Option<Target> {
    let before = files::stamp_of_path(path);
    let found = target(path);
    if let (Ok(before), Ok(file)) = (before, File::open(path)) {
        // Of no matter to its content, and only its owner may.
        let _ = files::set_times(&file, &before);
    }
    found
}

fn outcome(
    log: CopyLog,
    ended: Option<&CopyError>,
    options: &CopyOptions,
    args: &CopyArgs,
    transferring: &Transferring<'_>,
) -> CopyOutcome {
    let cpu = transferring.cpu();
    let not_copied = failures::not_copied(&log, ended);
    CopyOutcome {
        settings: options.settings(args.limit),
        shape: log.shape,
        counts: log.counts,
        bytes: log.bytes,
        hole_bytes: log.hole_bytes,
        kept_bytes: log.kept_bytes,
        elapsed_ns: transferring.elapsed_ns(),
        prepare_ns: log.prepare_ns,
        sync_ns: log.sync_ns,
        verify_ns: log.verify_ns,
        buffer_time: transferring.progress.now().buffer_time,
        series: transferring.progress.series(),
        cpu_user_ns: cpu.user_ns,
        cpu_system_ns: cpu.system_ns,
        verified_files: log.verified_files,
        mismatches: log.mismatches,
        not_copied,
        remaining: log.remaining,
        image: log.image,
    }
}

/// What was not kept, as doubts beside the outcome.
fn warnings(log: &CopyLog) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = log
        .losses
        .iter()
        .take(LOSSES_TOLD)
        .map(|(path, loss)| {
            let message = format!("{} of {} could not be kept: {}", loss.what, path.display(), loss.cause);
            Warning::new(WarningCode::MetadataLost, message).about(path.display().to_string())
        })
        .collect();
    if log.losses.len() > LOSSES_TOLD {
        let message = format!("{} more losses of metadata are not listed", log.losses.len() - LOSSES_TOLD);
        warnings.push(Warning::new(WarningCode::MetadataLost, message));
    }
    if let Some(shape) = &log.shape {
        warnings.extend(shape.caching_reasons.iter().map(|reason| {
            Warning::new(WarningCode::DirectRefused, format!("not past the page cache: {reason}"))
        }));
    }
    warnings
}

/// Refuses a manifest that could not be written afterwards, or in whose place something else is: a word in the wrong
/// place must not cost a file.
fn check_manifest(args: &CopyArgs) -> anyhow::Result<()> {
    let Some(path) = &args.manifest else { return Ok(()) };
    let shown = path.display();
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !directory.is_dir() {
        let error = anyhow::anyhow!("--manifest {shown}: there is no directory {}", directory.display());
        return Err(hinted(error, "make the directory first; nothing was copied"));
    }
    let Ok(there) = path.symlink_metadata() else { return Ok(()) };
    let mut head = Vec::new();
    if there.is_file() {
        let read = File::open(path).and_then(|file| file.take(MANIFEST_HEAD_BYTES).read_to_end(&mut head));
        read.with_context(|| format!("cannot read what is at --manifest {shown}"))?;
    }
    if there.is_file() && (args.overwrite || begins_manifest(&head)) {
        return Ok(());
    }
    let error = anyhow::anyhow!("--manifest {shown} is there, and is no manifest");
    Err(hinted(error, "name another file; a file that is there is replaced with --overwrite"))
}

fn write_manifest(path: &Path, log: &CopyLog) -> anyhow::Result<()> {
    let files: Vec<ManifestFile> = log.files.iter().filter_map(Option::<ManifestFile>::from).collect();
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let written = output::to_file(path, &|mut out| {
        if is_json {
            write_json(&files, &mut out)?;
        } else {
            write_sums(&files, &mut out)?;
        }
        Ok(())
    });
    let durable = written.and_then(|()| Ok(File::open(path)?.sync_all()?));
    durable.with_context(|| format!("cannot write the manifest {}", path.display()))
}

fn with_hint(error: CopyError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}
