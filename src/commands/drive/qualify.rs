//! `iostall drive qualify`: rounds of load until a drive is steady.

use iostall_session::qualify::{qualify, qualify_profile};

use crate::cli::{GlobalArgs, QualifyArgs};
use crate::failure::Status;
use crate::frame::Frame;
use crate::printer::Printer;
use crate::store::taken;

/// Loads the target and reports.
pub(crate) fn run(args: &QualifyArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let request = args.request();
    qualify_profile(&request.plan)?;
    let taken = taken(global).targets(vec![args.target.clone()]);
    let (engine, no_store, output) = (args.engine.into(), args.no_store, &args.output);
    let frame = Frame { engine, no_store, output, taken, global, printer };
    frame.run(|session, _| Ok(qualify(request, session)?))
}
