//! `iostall verify`: reads files past the page cache, compares them with a manifest or another tree, and writes
//! report and run.

use iostall_model::{Run, VerifyOutcome};
use iostall_session::verify::{self, Expected, ManifestUse, VerifyRequest};

use crate::cli::{GlobalArgs, VerifyArgs};
use crate::failure::Status;
use crate::frame::begin_transfer;
use crate::output::{self, Delivery};
use crate::printer::Printer;
use crate::store::{run_writer, taken};

pub(crate) fn run(args: &VerifyArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let path = args.manifest.as_path();
    let expected = if let Some(other) = &args.tree {
        let (one, other) = (path.to_owned(), other.clone());
        Expected::LikeTree { one, other, hash: args.hash.unwrap_or_default() }
    } else {
        let (root, finds_extra) = (args.root.as_deref(), args.extra);
        Expected::listed(&ManifestUse { path, hash: args.hash, root, finds_extra })?
    };
    let taken = taken(global).inputs([path]).targets(expected.paths());
    let outputs = output::check(&args.output, &taken)?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let transfer = begin_transfer(args.nice, printer)?;
    let request = VerifyRequest { expected, limit: args.limit };
    let mut run = verify::verify(&request, transfer, printer)?;
    let status = status(&run, &request.expected);
    let delivery = Delivery::new(&outputs, &args.output, printer).after(status, global.quiet);
    Ok(delivery.give(&mut run, &mut writer, status))
}

fn status(run: &Run, expected: &Expected) -> Status {
    let Some(outcome) = run.body.as_kind::<VerifyOutcome>() else { return Status::Done };
    match outcome.unchecked() {
        1.. => Status::Interrupted,
        0 if expected.is_met_by(outcome) => Status::Done,
        0 => Status::No,
    }
}
