//! `iostall copy`: copies files, and writes manifest, report and run.

pub(crate) mod failures;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostall_model::transfer::{HashKind, VerifyMode};
use iostall_session::SessionError;
use iostall_session::copy::{CopyRequest, ManifestPlace, copy, hash_of_copy};
use iostall_session::output::{OutputError, Outputs};
use iostall_session::targets::WriteConsent;
use iostall_transfer::CopyOptions;
use iostall_transfer::copy::{Resume, Specials, Symlinks, pair_names};
use iostall_transfer::rate::RateLimit;

use crate::cli::{CopyArgs, GlobalArgs, SpecialChoice, SymlinkChoice};
use crate::failure::Status;
use crate::frame::begin_transfer;
use crate::output::{Delivery, Shown, wanted};
use crate::printer::Printer;
use crate::store::{run_writer, taken};

/// Copies and reports the result.
pub(crate) fn run(args: &CopyArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let Some((destination, sources)) = args.paths.split_last() else { unreachable!("clap asks for two") };
    let hash = hash_of_copy(args.manifest.as_deref(), args.hash)?;
    let place = args.manifest.clone().map(|path| ManifestPlace { path, may_replace: args.overwrite });
    let mut outputs = check_outputs(args, place.as_ref(), sources, destination, global)?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let transfer = begin_transfer(args.nice, printer)?;
    let (sources, destination, options) = (sources.to_vec(), destination.clone(), options(args, hash));
    let request = CopyRequest { sources, destination, options, limit: args.limit };
    let mut copied = copy(&request, transfer, printer)?;
    let (is_whole, has_nothing) = (copied.is_whole(), copied.has_nothing);
    let partial = place.as_ref().and_then(|place| place.choose(&mut outputs, is_whole, has_nothing));
    copied.warnings.extend(partial);
    let status = failures::status(&copied.outcome, copied.ended.as_ref());
    if let Some(error) = copied.ended.take() {
        printer.error(&SessionError::from(error).into());
    }
    let (list, run) = copied.into_run();
    let manifest = |out: &mut dyn Write| place.as_ref().map_or(Ok(()), |place| place.write(&list, out));
    let mut delivery = Delivery::new(&outputs, &args.output, printer);
    delivery.manifest = Some(&manifest);
    if status == Status::CouldNot || (global.quiet && status != Status::No) {
        delivery.shown = Shown::Nothing;
    }
    let given = delivery.give(&run, &mut writer, status);
    if let Some(place) = place.filter(|_| is_whole && given != Status::CouldNot) {
        place.remove_partial();
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
        read_back_rate: args.limit.map(|limit| Arc::new(RateLimit::new(limit))),
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

/// Checks the outputs, manifest included, none of which may conflict with the copy.
fn check_outputs(
    args: &CopyArgs,
    place: Option<&ManifestPlace>,
    sources: &[PathBuf],
    destination: &Path,
    global: &GlobalArgs,
) -> Result<Outputs, OutputError> {
    let mut wanted = wanted(&args.output);
    wanted.extend(place.map(|place| ("--manifest", place.form(), Some(place.path.as_path()))));
    // The copy itself refuses names that do not go together, before it writes anything.
    let pairs = pair_names(sources, destination).unwrap_or_default();
    let taken = taken(global).copies(&pairs, destination);
    let mut outputs = Outputs::check(&wanted, &taken)?;
    place.map_or(Ok(()), |place| place.check_partial(&mut outputs, &taken))?;
    Ok(outputs)
}
