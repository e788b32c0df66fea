//! `iostall drive guard`: is the volume still what was paid for?

use iostall_session::guard::{guard, guard_profile};
use iostall_store::Store;

use crate::cli::{GlobalArgs, GuardArgs};
use crate::failure::Status;
use crate::frame::Frame;
use crate::printer::Printer;
use crate::store::{self, selector, taken};

/// Guards and reports.
pub(crate) fn run(args: &GuardArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let baseline = args.baseline.as_deref().map(selector).transpose()?;
    let request = args.request(baseline);
    guard_profile(&request.plan)?;
    let taken = taken(global).targets(vec![args.target.clone()]);
    let (engine, no_store, output) = (args.engine.into(), args.no_store, &args.output);
    let frame = Frame { engine, no_store, output, taken, global, printer };
    frame.run(|session, kept_in| {
        let opened =
            if kept_in.is_none() && args.baseline.is_some() { Some(store::open(global)?) } else { None };
        let earlier = kept_in.or(opened.as_ref()).map(|store| store as &dyn Store);
        Ok(guard(request, earlier, session)?)
    })
}
