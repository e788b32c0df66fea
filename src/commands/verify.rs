//! `iostall verify`: reads every file of a manifest past the page cache, and writes report and run.

use iostall_model::{Run, VerifyOutcome};
use iostall_session::verify::{self, VerifyRequest};
use iostall_transfer::manifest::{self, Manifest};

use crate::cli::{GlobalArgs, VerifyArgs};
use crate::failure::{Status, hinted};
use crate::frame::begin_transfer;
use crate::output::{self, Delivery, Shown};
use crate::printer::Printer;
use crate::store::{run_writer, taken};

/// Checks and reports.
pub(crate) fn run(args: &VerifyArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let shown = args.manifest.display().to_string();
    let text = manifest::open(&args.manifest).map_err(|error| {
        hinted(
            error,
            "`iostall copy --manifest FILE` writes one; lists from md5sum, sha256sum, b3sum or xxhsum work too",
        )
    })?;
    let list = manifest::read(text, &args.manifest, args.hash).map_err(|error| {
        hinted(
            anyhow::Error::new(error).context(format!("cannot use the manifest {shown}")),
            "--hash xxh3|blake3|sha256|md5|crc32c sets the algorithm of a list",
        )
    })?;
    let taken =
        taken(global).inputs([&args.manifest]).targets(list.files.iter().map(|file| file.path.as_path()));
    let outputs = output::check(&args.output, &taken)?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let transfer = begin_transfer(args.nice, printer)?;
    let request = VerifyRequest { list: &list, shown, limit: args.limit };
    let run = verify::verify(request, transfer, printer)?;
    let status = status(&run, &list);
    let mut delivery = Delivery::new(&outputs, &args.output, printer);
    if global.quiet && status != Status::No {
        delivery.shown = Shown::Nothing;
    }
    Ok(delivery.give(&run, &mut writer, status))
}

/// If the list is incomplete, the copy is not complete even if all listed files are equal.
fn status(run: &Run, list: &Manifest) -> Status {
    let Some(outcome) = run.body.as_kind::<VerifyOutcome>() else { return Status::Done };
    let is_good = outcome.mismatches.is_empty() && !list.is_partial;
    match outcome.unchecked() {
        1.. => Status::Interrupted,
        0 if is_good => Status::Done,
        0 => Status::No,
    }
}
