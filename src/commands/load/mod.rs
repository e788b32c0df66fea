//! `iostall load`: profile → targets → spans → reports and store.

mod profile;

use iostall_model::{Profile, Run};

use crate::cli::{GlobalArgs, LoadArgs};
use crate::failure::Status;
use crate::measuring::{Keeping, Session, TargetRequest, has_failures, named_or_scratch};
use crate::output::Taken;
use crate::printer::Printer;

/// Runs a load and reports it.
pub(crate) fn run(args: &LoadArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let profile = profile::resolve(args)?;
    let (engine, no_store, output) = (args.what.engine, args.no_store, &args.output);
    let bound = args.what.bindings.iter().map(|binding| binding.path.clone());
    let named: Vec<_> = args.targets.iter().cloned().chain(bound).collect();
    let taken = Taken::new(global).targets(named_or_scratch(&named)).inputs(&args.what.profile);
    let keeping = Keeping { engine, no_store, output, taken, global, printer };
    keeping.run(|session, _| measure(args, profile, session), status)
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
    if has_failures(run) { Status::No } else { Status::Done }
}
