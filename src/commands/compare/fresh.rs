//! Sides measured now, in turn: what else happens on the machine then meets both alike.

use std::path::PathBuf;

use iostall_load::preset::preset;
use iostall_load::profile::{Overrides, check};
use iostall_model::Profile;
use iostall_report::compare::Side;

use super::need_two;
use crate::cli::{CompareArgs, GlobalArgs};
use crate::failure::hinted;
use crate::measuring::{Session, TargetRequest, Targets, check_named_once, read_profile};
use crate::output::keep;
use crate::printer::Printer;
use crate::store::Recorder;

/// One side before it is measured.
struct Plan {
    label: String,
    profile: Profile,
    paths: Vec<PathBuf>,
}

/// Measures every side `times` times and keeps each run. The flag says whether it was stopped before its end.
pub(super) fn measure(
    args: &CompareArgs,
    times: u32,
    global: &GlobalArgs,
    printer: &Printer,
) -> anyhow::Result<(Vec<Side>, bool)> {
    let plans = plans(args)?;
    need_two(plans.len())?;
    check_named_once(plans.iter().flat_map(|plan| &plan.paths).map(PathBuf::as_path))?;
    let mut recorder = Recorder::begin(global, false, printer)?;
    let session = Session::begin(args.load.engine, printer)?;
    let prepared: Vec<Targets> = plans
        .iter()
        .map(|plan| {
            let (paths, consent) = (plan.paths.clone(), args.safety.consent());
            let request = TargetRequest {
                paths,
                bindings: Vec::new(),
                sizes: Vec::new(),
                size: args.load.size,
                consent,
            };
            session.prepare(&request, &plan.profile)
        })
        .collect::<anyhow::Result<_>>()?;
    let mut sides: Vec<Side> =
        plans.iter().map(|plan| Side { label: plan.label.clone(), runs: Vec::new() }).collect();
    for time in 0..times {
        for ((plan, targets), side) in plans.iter().zip(&prepared).zip(&mut sides) {
            let profile =
                Profile { seed: plan.profile.seed.wrapping_add(u64::from(time)), ..plan.profile.clone() };
            let run = session.measure(profile, targets, &format!("compare {}", plan.label))?;
            let number = keep(&run, &mut recorder, false);
            let kept = number.map_or_else(|| " (not kept)".to_owned(), |number| format!(" (run {number})"));
            let line = iostall_report::run_line(&iostall_report::Report::of(&run));
            printer.note(&format!("{} of {times}, {}: {line}{kept}", time + 1, plan.label));
            if run.interrupted {
                // A run that was cut off is kept, and compared with nothing.
                return Ok((sides, session.interrupted()));
            }
            side.runs.push(run);
        }
    }
    Ok((sides, false))
}

/// The sides that targets and profiles make: one profile on several targets, several on one, or one each.
fn plans(args: &CompareArgs) -> anyhow::Result<Vec<Plan>> {
    let profiles = profiles(args)?;
    let paths: Vec<PathBuf> = args.sides.iter().map(PathBuf::from).collect();
    let count = profiles.len().max(paths.len());
    if (profiles.len() > 1 && paths.len() > 1 && profiles.len() != paths.len()) || paths.is_empty() {
        let error =
            anyhow::anyhow!("{} files and {} profiles do not make pairs", paths.len(), profiles.len());
        return Err(hinted(error, "name one file, or as many as there are profiles"));
    }
    let plan = |index: usize| {
        let (profile, path) = (&profiles[index % profiles.len()], &paths[index % paths.len()]);
        let mut label = path.display().to_string();
        if profiles.len() > 1 {
            label =
                if paths.len() > 1 { format!("{} on {label}", profile.name) } else { profile.name.clone() };
        }
        Plan { label, profile: profile.clone(), paths: vec![path.clone()] }
    };
    Ok((0..count).map(plan).collect())
}

fn profiles(args: &CompareArgs) -> anyhow::Result<Vec<Profile>> {
    let mut profiles = Vec::new();
    for path in &args.load.profile {
        profiles.push(read_profile(path)?);
    }
    for name in &args.load.preset {
        profiles
            .push(preset(name).map_err(|error| hinted(error, "`iostall presets` tells what each is for"))?);
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
