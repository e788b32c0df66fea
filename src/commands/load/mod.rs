//! `iostall load`: runs a profile on targets, and writes reports and run.

mod profile;

use std::path::{Path, PathBuf};

use iostall_load::fio::FioEngine;
use iostall_measure::foreign::shell_path;
use iostall_session::load::{LoadRequest, load};
use iostall_session::requirements::check_roles;
use iostall_session::targets::{TargetRequest, named_or_scratch};
use iostall_session::translate::{bind_files, read_job_file, warnings};

use crate::cli::{EngineChoice, GlobalArgs, LoadArgs, RunOutput as _};
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
        bind_files(&mut targets, fio)?;
    } else {
        refuse_job_file(&args.targets, what.size.is_some())?;
    }
    let bound = targets.bindings.iter().map(|binding| binding.path.clone());
    let named: Vec<_> = args.targets.iter().cloned().chain(bound).collect();
    let taken = taken(global)
        .targets(named_or_scratch(&named))
        .inputs(what.profile.iter().chain(&what.fio).map(read_from));
    taken.refuse_inputs_as_targets()?;
    let engine = fio.as_ref().map_or(what.engine, |fio| engine_of(what.engine, fio.engine)).into();
    let (no_store, output) = (args.no_store, &args.output);
    let frame = Frame { engine, no_store, output, taken, global, printer };
    frame.run(|session, _| {
        let mut run = load(LoadRequest { targets, profile, asked: None, name }, session)?;
        run.warnings.extend(fio.iter().flat_map(warnings));
        Ok(run)
    })
}

/// `-` is the file that standard input comes from, if it comes from one.
fn read_from(path: &PathBuf) -> &Path {
    if path == Path::new("-") { Path::new("/dev/stdin") } else { path }
}

/// The engine that jobs of fio's name, unless one was typed.
fn engine_of(typed: EngineChoice, jobs: FioEngine) -> EngineChoice {
    match (typed, jobs) {
        (EngineChoice::Auto, FioEngine::Sync) => EngineChoice::Psync,
        (EngineChoice::Auto, FioEngine::Null) => EngineChoice::Null,
        _ => typed,
    }
}

/// `load nightly.fio` would read the job file as if it were data, or make a test file of that name.
fn refuse_job_file(targets: &[PathBuf], has_size: bool) -> anyhow::Result<()> {
    let is_meant = |path: &&PathBuf| {
        let is_named_so = path.extension().is_some_and(|end| end == "fio");
        is_named_so && (if path.exists() { read_job_file(path).is_ok() } else { !has_size })
    };
    match targets.iter().find(is_meant) {
        Some(path) => Err(hinted(
            anyhow::anyhow!("{} is named like a job file of fio's, and not like a target", path.display()),
            format!(
                "iostall load --fio {} runs its jobs; --size SIZE makes a test file of that name",
                shell_path(path)
            ),
        )),
        None => Ok(()),
    }
}
