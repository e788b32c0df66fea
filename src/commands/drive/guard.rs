//! `iostall drive guard`: is the volume still what was paid for?

use iostall_measure::clock::utc_now;
use iostall_model::guard::DatabaseNear;
use iostall_session::guard::{guard, guard_profile};
use iostall_store::Store;
use iostall_watch::{WatchError, databases_near};

use crate::cli::{GlobalArgs, GuardArgs};
use crate::failure::Status;
use crate::frame::Frame;
use crate::printer::Printer;
use crate::store::{self, selector, taken};

pub(crate) fn run(args: &GuardArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let baseline = args.baseline.as_deref().map(selector).transpose()?;
    let request = args.request(args.paid_for()?, baseline, databases(args, global, printer));
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

/// What a canary must not disturb. A store that cannot be read says nothing of databases, and that is said.
fn databases(args: &GuardArgs, global: &GlobalArgs, printer: &Printer) -> Vec<DatabaseNear> {
    // A store that is not there watches nothing, and is not made for this.
    let is_there = args.canary && store::path(global).is_ok_and(|path| path.exists());
    if !is_there {
        return Vec::new();
    }
    let found = store::open_watch(global)
        .map_err(WatchError::from)
        .and_then(|history| databases_near(&history, &args.target, utc_now()));
    found.unwrap_or_else(|error| {
        let error = anyhow::Error::from(error);
        printer.warning(&error.context("cannot see what databases do: only the device is asked"));
        Vec::new()
    })
}
