//! `iostall drive limits`: buckets of credits, caps, and how requests count.

use iostall_session::limits::{LimitsStores, limits, limits_profile};
use iostall_store::Store;

use crate::cli::{GlobalArgs, LimitsArgs};
use crate::failure::Status;
use crate::frame::Frame;
use crate::printer::Printer;
use crate::store::{self, taken};

pub(crate) fn run(args: &LimitsArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let request = args.request();
    limits_profile(&request.plan, request.targets.len())?;
    let taken = taken(global).targets(args.targets.clone());
    let (engine, no_store, output) = (args.engine.into(), args.no_store, &args.output);
    let frame = Frame { engine, no_store, output, taken, global, printer };
    frame.run(|session, kept_in| {
        // Where it cannot be opened, that was said already.
        let mut own = if args.no_store { None } else { store::open(global).ok() };
        let opened = if args.resume && kept_in.is_none() { Some(store::open(global)?) } else { None };
        let earlier = kept_in.or(opened.as_ref()).filter(|_| args.resume);
        let stores = LimitsStores {
            earlier: earlier.map(|store| store as &dyn Store),
            checkpoints: own.as_mut().map(|store| store as &mut dyn Store),
        };
        Ok(limits(request, stores, session)?)
    })
}
