//! `iostall copy`: sources → copier → manifest, report and store.

pub(crate) mod failures;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostall_model::transfer::{HashKind, VerifyMode};
use iostall_session::SessionError;
use iostall_session::copy::{CopyRequest, copy};
use iostall_session::targets::WriteConsent;
use iostall_transfer::CopyOptions;
use iostall_transfer::copy::{Resume, Specials, Symlinks, pair_names};
use iostall_transfer::rate::RateLimit;

use crate::cli::{CopyArgs, GlobalArgs, SpecialChoice, SymlinkChoice};
use crate::failure::Status;
use crate::frame::begin_transfer;
use crate::manifest;
use crate::output::{Delivery, Form, Outputs, Shown, Taken, wanted};
use crate::printer::Printer;
use crate::store::Recorder;

/// Copies, and reports it.
pub(crate) fn run(args: &CopyArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let Some((destination, sources)) = args.paths.split_last() else { unreachable!("clap asks for two") };
    let hash = manifest::hash(args)?;
    let mut outputs = check_outputs(args, sources, destination, global)?;
    let mut recorder = Recorder::begin(global, args.no_store, printer)?;
    let transfer = begin_transfer(args.nice, printer)?;
    let (sources, destination, options) = (sources.to_vec(), destination.clone(), options(args, hash));
    let request = CopyRequest { sources, destination, options, limit: args.limit };
    let mut copied = copy(&request, transfer, printer)?;
    let is_whole = copied.is_whole();
    copied.warnings.extend(manifest::choose_place(args, &mut outputs, is_whole, copied.has_nothing));
    let status = failures::status(&copied.outcome, copied.ended.as_ref());
    if let Some(error) = copied.ended.take() {
        printer.error(&SessionError::from(error).into());
    }
    let (list, run) = copied.into_run();
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
