//! `iostall drive flash`: a simulated flash device.

use std::path::Path;

use anyhow::anyhow;
use iostall_load::preset;
use iostall_load::profile::read_profile;
use iostall_model::Profile;
use iostall_session::flash::flash;
use iostall_session::{EngineChoice, SessionError};
use iostall_store::Store as _;

use crate::cli::{FlashArgs, GlobalArgs};
use crate::failure::{Status, hinted};
use crate::frame::Frame;
use crate::printer::Printer;
use crate::store::{self, taken};

pub(crate) fn run(args: &FlashArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let profile = args.profile().map(|word| named_profile(word, global)).transpose()?;
    // Nothing is read or written.
    let (engine, no_store, output) = (EngineChoice::Null, args.no_store, &args.output);
    let frame = Frame { engine, no_store, output, taken: taken(global), global, printer };
    frame.run(|session, _| Ok(flash(&args.request(profile), session)?))
}

/// A built-in profile, one in a file, or that of a saved run.
fn named_profile(word: &str, global: &GlobalArgs) -> anyhow::Result<(String, Profile)> {
    let unknown = match preset(word) {
        Ok(profile) => return Ok((word.to_owned(), profile)),
        Err(unknown) => unknown,
    };
    if word.contains(['/', '.']) || Path::new(word).exists() {
        let profile = read_profile(Path::new(word)).map_err(SessionError::from)?;
        return Ok((word.to_owned(), profile));
    }
    let Ok(selector) = store::selector(word) else { return Err(SessionError::from(unknown).into()) };
    let run = store::open(global)?.get(&selector)?.run;
    let profile = run.body.outcome().profile().cloned();
    let none =
        || hinted(anyhow!("run {word} has no load profile"), "runs of load, sweep and matrix have one");
    Ok((format!("run {word}"), profile.ok_or_else(none)?))
}
