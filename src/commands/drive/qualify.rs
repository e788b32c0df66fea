//! `iostall drive qualify`: rounds of load until a drive is steady.

use std::path::Path;

use iostall_host::identity_of;
use iostall_session::qualify::{QualifyStores, qualify, qualify_profile};
use iostall_store::Store;
use iostall_watch::rated_bytes;

use crate::cli::{GlobalArgs, QualifyArgs};
use crate::failure::Status;
use crate::frame::Frame;
use crate::printer::Printer;
use crate::store::{self, taken};

pub(crate) fn run(args: &QualifyArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let request = args.request(rating(args, printer)?);
    qualify_profile(&request.plan)?;
    let taken = taken(global).targets(vec![args.target.clone()]).inputs(&args.drives);
    taken.refuse_inputs_as_targets()?;
    let (engine, no_store, output) = (args.engine.into(), args.no_store, &args.output);
    let frame = Frame { engine, no_store, output, taken, global, printer };
    frame.run(|session, kept_in| {
        // Where it cannot be opened, that was said already.
        let mut own = if args.no_store { None } else { store::open(global).ok() };
        let opened = if args.resume && kept_in.is_none() { Some(store::open(global)?) } else { None };
        let earlier = kept_in.or(opened.as_ref()).filter(|_| args.resume);
        let stores = QualifyStores {
            earlier: earlier.map(|store| store as &dyn Store),
            checkpoints: own.as_mut().map(|store| store as &mut dyn Store),
        };
        Ok(qualify(request, stores, session)?)
    })
}

/// What the drive under the target is rated for, bytes.
fn rating(args: &QualifyArgs, printer: &Printer) -> anyhow::Result<Option<f64>> {
    let Some(file) = &args.drives else { return Ok(None) };
    let beside = args.target.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let found = identity_of(&args.target).or_else(|| identity_of(beside));
    let model = found.and_then(|identity| identity.model).unwrap_or_default();
    let rated = rated_bytes(file, &model, None)?;
    if rated.is_none() {
        let whose = if model.is_empty() { "an unknown drive".to_owned() } else { format!("{model:?}") };
        printer.note(&format!("{} has no rating of {whose}, which holds the target", file.display()));
    }
    Ok(rated)
}
