//! `iostall load`: profile → targets → spans → reports and store.

mod profile;

use iostall_model::{Profile, Run, RunBody};

use crate::cli::{GlobalArgs, LoadArgs};
use crate::failure::Status;
use crate::measuring::{Interrupted, Session, TargetRequest};
use crate::output;
use crate::printer::Printer;
use crate::store;

/// Runs a load and reports it.
pub(crate) fn run(args: &LoadArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let profile = profile::resolve(args)?;
    output::check(&args.output)?;
    // Before the load: a store that cannot be used should not cost anybody a run.
    let mut store = if args.no_store { None } else { Some(store::open(global)?) };
    let session = Session::begin(args.what.engine, printer)?;
    let run = match measure(args, profile, &session) {
        Err(error) if error.is::<Interrupted>() => {
            printer.error(&error);
            return Ok(Status::Interrupted);
        }
        other => other?,
    };
    let number = store.as_mut().map(|store| store::add(store, &run)).transpose()?;
    output::write(&run, number, &args.output, printer)?;
    Ok(if session.interrupted() { Status::Interrupted } else { status(&run) })
}

fn measure(args: &LoadArgs, profile: Profile, session: &Session<'_>) -> anyhow::Result<Run> {
    let request = TargetRequest {
        paths: args.targets.clone(),
        bindings: args.what.bindings.clone(),
        sizes: Vec::new(),
        size: args.what.size,
        consent: args.safety.consent(),
    };
    let targets = session.prepare(&request, &profile)?;
    let name = args.name.clone().unwrap_or_else(|| profile.name.clone());
    session.measure(profile, &targets, &name)
}

fn status(run: &Run) -> Status {
    let RunBody::Load(outcome) = &run.body else { return Status::Done };
    let mut roles = outcome.spans.iter().flat_map(|span| &span.roles);
    if roles.any(|role| !role.errors.is_empty()) { Status::No } else { Status::Done }
}
