//! `iostall copy`: sources → copier → manifest, report and store.

mod failures;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostall_engine::files;
use iostall_engine::guard::WriteConsent;
use iostall_measure::platform::Target;
use iostall_model::CopyOutcome;
use iostall_model::transfer::{HashKind, VerifyMode};
use iostall_model::{RunBody, Warning, WarningCode};
use iostall_transfer::copy::{Resume, Specials, Symlinks, pair_names};
use iostall_transfer::rate::RateLimit;
use iostall_transfer::{Copier, CopyError, CopyLog, CopyOptions};

use crate::cli::{CopyArgs, GlobalArgs, SpecialChoice, SymlinkChoice};
use crate::failure::{Status, hinted};
use crate::manifest;
use crate::output::{Delivery, Form, Outputs, Shown, Taken, wanted};
use crate::printer::Printer;
use crate::store::Recorder;
use crate::transferring::{Transferring, target};

/// Losses of metadata that are told one by one; the rest are counted.
const LOSSES_TOLD: usize = 5;

/// Copies, and reports it.
pub(crate) fn run(args: &CopyArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let Some((destination, sources)) = args.paths.split_last() else { unreachable!("clap asks for two") };
    let hash = manifest::hash(args)?;
    let mut outputs = check_outputs(args, sources, destination, global)?;
    let mut recorder = Recorder::begin(global, args.no_store, printer)?;
    let transferring = Transferring::begin(args.nice, printer)?;
    let options = options(args, hash);
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
    let is_whole = ended.is_none() && log.is_whole();
    let mut warnings = warnings(&log);
    let list = manifest::list(&log, is_whole);
    let has_nothing = log.files.is_empty() && !log.failures.is_empty();
    warnings.extend(manifest::choose_place(args, &mut outputs, is_whole, has_nothing));
    let targets = log.files.first().and_then(|file| first_target(&file.path)).into_iter().collect();
    let outcome = outcome(log, ended.as_ref(), &options, args, &transferring);
    let status = failures::status(&outcome, ended.as_ref());
    if let Some(error) = ended {
        printer.error(&with_hint(error));
    }
    let name = destination.file_name().unwrap_or(destination.as_os_str()).to_string_lossy().into_owned();
    let run = transferring.run(&name, targets, warnings, RunBody::Copy(Box::new(outcome)));
    let manifest = |out: &mut dyn Write| manifest::write(args, &list, out);
    let mut delivery = Delivery::new(&outputs, &args.output);
    delivery.manifest = Some(&manifest);
    if status == Status::CouldNot || (global.quiet && status != Status::No) {
        delivery.shown = Shown::Nothing;
    }
    let given = delivery.give(&run, &mut recorder, status);
    if is_whole && given != Status::CouldNot {
        manifest::remove_partial(args);
    }
    Ok(given)
}

fn options(args: &CopyArgs, hash: HashKind) -> CopyOptions {
    let verify = match (args.verify, &args.manifest) {
        (Some(verify), _) => verify,
        (None, Some(_)) => VerifyMode::OnTheFly,
        (None, None) => VerifyMode::None,
    };
    let usual = CopyOptions::default();
    CopyOptions {
        verify,
        hash,
        reflink: args.reflink,
        overwrite: args.overwrite,
        consent: WriteConsent {
            overwrite: args.to_device.iter().cloned().collect(),
            destroy_database: args.destroy_database.clone(),
            destroy_signature: args.destroy.iter().cloned().collect(),
        },
        fail_fast: args.fail_fast,
        resume: match (args.resume, args.no_resume) {
            (true, _) => Resume::Always,
            (false, true) => Resume::Never,
            (false, false) => Resume::Matching,
        },
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
    warnings.extend(sources_in_use(&log.in_use));
    if let Some(shape) = &log.shape {
        warnings.extend(shape.caching_reasons.iter().map(|reason| {
            Warning::new(WarningCode::DirectRefused, format!("not past the page cache: {reason}"))
        }));
    }
    warnings
}

/// One sentence for all of them: each small file was read until it was the same twice, and each large one has the size and
/// time that it had before; but together they are of no one moment.
fn sources_in_use(paths: &[PathBuf]) -> Option<Warning> {
    let (first, others) = paths.split_first()?;
    let what = match others.len() {
        0 => format!("{} was open for writing by another process", first.display()),
        others => format!("{} and {others} more were open for writing by other processes", first.display()),
    };
    let message = format!(
        "{what} while it was copied: no change was seen in what was read of each file, and all of it \
        together need not be of one moment"
    );
    let hint = "copy a snapshot, or use the backup command of the database";
    Some(Warning::new(WarningCode::SourceInUse, message).hint(hint))
}

/// The outputs, manifest included, none of which may be in the way of the copy.
fn check_outputs(
    args: &CopyArgs,
    sources: &[PathBuf],
    destination: &Path,
    global: &GlobalArgs,
) -> anyhow::Result<Outputs> {
    let manifest = Form::Manifest { may_replace: args.overwrite };
    let mut wanted = wanted(&args.output);
    wanted.push(("--manifest", manifest, args.manifest.as_deref()));
    // Names that do not go together are refused by the copy itself, before it writes anything.
    let pairs = pair_names(sources, destination).unwrap_or_default();
    let taken = Taken::new(global).copies(&pairs, destination);
    let mut outputs = Outputs::check(&wanted, &taken)?;
    manifest::check_partial(args, &mut outputs, &taken)?;
    Ok(outputs)
}

fn with_hint(error: CopyError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}
