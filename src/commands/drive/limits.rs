//! `iostall drive limits`: buckets of credits, caps, and how requests count.

use iostall_session::limits::{limits, limits_profile};

use crate::cli::{GlobalArgs, LimitsArgs};
use crate::failure::Status;
use crate::frame::Frame;
use crate::printer::Printer;
use crate::store::taken;

/// Searches and reports.
pub(crate) fn run(args: &LimitsArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let request = args.request();
    limits_profile(&request.plan, request.targets.len())?;
    let taken = taken(global).targets(args.targets.clone());
    let (engine, no_store, output) = (args.engine.into(), args.no_store, &args.output);
    let frame = Frame { engine, no_store, output, taken, global, printer };
    frame.run(|session, _| Ok(limits(request, session)?))
}
