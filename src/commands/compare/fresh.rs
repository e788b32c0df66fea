//! Measures the sides now, in turn.

use std::path::PathBuf;
use std::sync::Arc;

use iostall_load::preset::preset;
use iostall_load::profile::{Overrides, check, read_profile};
use iostall_load::window::StopToken;
use iostall_model::{Profile, Run};
use iostall_session::SessionError;
use iostall_session::comparison::{ComparisonRequest, MeasuredSide, compare, pair_sides};

use crate::cli::{CompareArgs, GlobalArgs};
use crate::frame::begin_session;
use crate::output::keep;
use crate::printer::Printer;
use crate::store::run_writer;

/// What to measure: every side `times` times.
pub(super) fn request(args: &CompareArgs, times: u32) -> anyhow::Result<ComparisonRequest> {
    let paths: Vec<PathBuf> = args.sides.iter().map(PathBuf::from).collect();
    let sides = pair_sides(&profiles(args)?, &paths)?;
    Ok(ComparisonRequest { sides, times, size: args.load.size, consent: args.safety.consent() })
}

/// Measures and stores each run. The flag says whether it was interrupted.
pub(super) fn measure(
    request: &ComparisonRequest,
    args: &CompareArgs,
    global: &GlobalArgs,
    printer: &Printer,
) -> anyhow::Result<(Vec<MeasuredSide>, bool)> {
    let mut writer = run_writer(global, false, printer)?;
    let stop = Arc::new(StopToken::default());
    let session = begin_session(args.load.engine.into(), &stop, printer)?;
    let mut on_run = |label: &str, time: u32, run: &Run| {
        let number = keep(run, &mut writer, false, printer);
        let kept = number.map_or_else(|| " (not kept)".to_owned(), |number| format!(" (run {number})"));
        let line = iostall_report::run_line(&iostall_report::Report::of(run));
        printer.note(&format!("{time} of {}, {label}: {line}{kept}", request.times));
    };
    let measured = compare(request, &session, &mut on_run)?;
    Ok((measured, session.interrupted()))
}

fn profiles(args: &CompareArgs) -> Result<Vec<Profile>, SessionError> {
    let mut profiles = Vec::new();
    for path in &args.load.profile {
        profiles.push(read_profile(path)?);
    }
    for name in &args.load.preset {
        profiles.push(preset(name)?);
    }
    if profiles.is_empty() {
        profiles.push(preset("random-read")?);
    }
    let changes =
        Overrides { duration: args.load.duration, warmup: args.load.warmup, ..Overrides::default() };
    for profile in &mut profiles {
        changes.apply(profile)?;
        check(profile)?;
    }
    Ok(profiles)
}
