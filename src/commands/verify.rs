//! `iostall verify`: manifest → every file past the page cache → report and store.

use iostall_model::{RunBody, Warning, WarningCode};
use iostall_transfer::manifest;
use iostall_transfer::rate::RateLimit;
use iostall_transfer::verify::verify_files;

use crate::cli::{GlobalArgs, VerifyArgs};
use crate::failure::{Status, hinted};
use crate::output::{self, Delivery, Shown, Taken};
use crate::printer::Printer;
use crate::store::Recorder;
use crate::transferring::{Transferring, target};

/// Checks, and reports it.
pub(crate) fn run(args: &VerifyArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let shown = args.manifest.display().to_string();
    let text = manifest::open(&args.manifest).map_err(|error| {
        hinted(
            error,
            "`iostall copy --manifest FILE` writes one; a list of md5sum, sha256sum, b3sum or xxhsum serves too",
        )
    })?;
    let list = manifest::read(text, &args.manifest, args.hash).map_err(|error| {
        hinted(
            anyhow::Error::new(error).context(format!("cannot use the manifest {shown}")),
            "--hash xxh3|blake3|sha256|md5|crc32c says what a list has",
        )
    })?;
    let taken = Taken::new(global)
        .inputs([&args.manifest])
        .targets(list.files.iter().map(|file| file.path.as_path()));
    let outputs = output::check(&args.output, &taken)?;
    let mut recorder = Recorder::begin(global, args.no_store, printer)?;
    let transferring = Transferring::begin(args.nice, printer)?;
    let rate = args.limit.map(RateLimit::new);
    let mut outcome = transferring.work(|progress| verify_files(&list.files, rate.as_ref(), progress))?;
    outcome.manifest.clone_from(&shown);
    // Files that are all equal are no whole copy where the list does not have all of it.
    let is_good = outcome.mismatches.is_empty() && !list.is_partial;
    let status = match outcome.unchecked() {
        1.. => Status::Interrupted,
        0 if is_good => Status::Done,
        0 => Status::No,
    };
    let warnings = list.is_partial.then(|| partial_list(&shown)).into_iter().collect();
    let targets = list.files.iter().take(1).filter_map(|file| target(&file.path)).collect();
    let run = transferring.run(&shown, targets, warnings, RunBody::Verify(outcome));
    let mut delivery = Delivery::new(&outputs, &args.output);
    if global.quiet && status != Status::No {
        delivery.shown = Shown::Nothing;
    }
    Ok(delivery.give(&run, &mut recorder, status))
}

fn partial_list(shown: &str) -> Warning {
    let message =
        format!("{shown} is the list of a copy that did not finish: files that it lacks were not checked");
    Warning::new(WarningCode::PartialList, message)
        .hint("the same copy again goes on, and writes the whole list")
}
