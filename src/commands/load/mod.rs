//! `iostall load`: runs a profile on targets, and writes reports and run.

mod profile;

use iostall_session::load::{LoadRequest, load};
use iostall_session::requirements::check_roles;
use iostall_session::targets::{TargetRequest, named_or_scratch};
use iostall_session::translate::{bind_files, read_job_file};

use crate::cli::{GlobalArgs, LoadArgs, RunOutput as _};
use crate::failure::{Status, hinted};
use crate::frame::Frame;
use crate::printer::Printer;
use crate::store::taken;

pub(crate) fn run(args: &LoadArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let what = &args.what;
    let fio = what.fio.as_deref().map(read_job_file).transpose()?;
    let profile = profile::resolve(args, fio.as_ref())?;
    check_roles(&profile, args.output.require())
        .map_err(|error| hinted(error, "without a name a limit is for all"))?;
    let name = args.name.clone().unwrap_or_else(|| profile.name.clone());
    let mut targets = TargetRequest {
        bindings: what.bindings.clone(),
        ..TargetRequest::of_paths(args.targets.clone(), what.size, args.safety.consent())
    };
    if let Some(fio) = &fio {
        fio.notes.iter().for_each(|note| printer.note(note));
        bind_files(&mut targets, fio);
    }
    let bound = targets.bindings.iter().map(|binding| binding.path.clone());
    let named: Vec<_> = args.targets.iter().cloned().chain(bound).collect();
    let taken = taken(global).targets(named_or_scratch(&named)).inputs(what.profile.iter().chain(&what.fio));
    let (engine, no_store, output) = (what.engine.into(), args.no_store, &args.output);
    let frame = Frame { engine, no_store, output, taken, global, printer };
    frame.run(|session, _| Ok(load(LoadRequest { targets, profile, asked: None, name }, session)?))
}
