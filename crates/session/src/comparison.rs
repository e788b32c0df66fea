//! Measures the sides of a comparison in turn, so that other activity on the machine affects all of them
//! alike.

use std::path::PathBuf;

use iostall_engine::guard::WriteConsent;
use iostall_measure::ByteCount;
use iostall_model::{Profile, Run};

use crate::error::SessionError;
use crate::names::check_named_once;
use crate::session::Session;
use crate::targets::{TargetRequest, Targets};

#[derive(Clone, Debug)]
pub struct SidePlan {
    pub label: String,
    pub profile: Profile,
    pub paths: Vec<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct MeasuredSide {
    pub label: String,
    pub runs: Vec<Run>,
}

#[derive(Clone, Debug)]
pub struct ComparisonRequest {
    pub sides: Vec<SidePlan>,
    pub times: u32,
    /// Size of new files; of existing ones, how much is used.
    pub size: Option<ByteCount>,
    pub consent: WriteConsent,
}

/// The sides from targets and profiles: one profile on several targets, several profiles on one target, or
/// pairs.
pub fn pair_sides(profiles: &[Profile], paths: &[PathBuf]) -> Result<Vec<SidePlan>, SessionError> {
    let count = profiles.len().max(paths.len());
    let pairs = profiles.len() <= 1 || paths.len() <= 1 || profiles.len() == paths.len();
    if !pairs || paths.is_empty() || profiles.is_empty() {
        return Err(SessionError::NoPairs { paths: paths.len(), profiles: profiles.len() });
    }
    let plan = |index: usize| {
        let (profile, path) = (&profiles[index % profiles.len()], &paths[index % paths.len()]);
        let mut label = path.display().to_string();
        if profiles.len() > 1 {
            label =
                if paths.len() > 1 { format!("{} on {label}", profile.name) } else { profile.name.clone() };
        }
        SidePlan { label, profile: profile.clone(), paths: vec![path.clone()] }
    };
    Ok((0..count).map(plan).collect())
}

/// Called at the end of each run, with the label of its side, its repeat (from 1), and the run.
pub type OnRun<'a> = &'a mut dyn FnMut(&str, u32, &Run);

/// Measures every side in turn. `on_run` is called for an interrupted run too, but that run belongs to no
/// side.
pub fn compare(
    request: &ComparisonRequest,
    session: &Session<'_>,
    on_run: OnRun<'_>,
) -> Result<Vec<MeasuredSide>, SessionError> {
    let ComparisonRequest { sides: plans, times, size, consent } = request;
    check_named_once(plans.iter().flat_map(|plan| &plan.paths).map(PathBuf::as_path))?;
    let prepare = |plan: &SidePlan| {
        let targets = TargetRequest::of_paths(plan.paths.clone(), *size, consent.clone());
        session.prepare(&targets, &plan.profile)
    };
    let prepared: Vec<Targets> = plans.iter().map(prepare).collect::<Result<_, _>>()?;
    let side = |plan: &SidePlan| MeasuredSide { label: plan.label.clone(), runs: Vec::new() };
    let mut sides: Vec<MeasuredSide> = plans.iter().map(side).collect();
    for time in 0..*times {
        for ((plan, targets), side) in plans.iter().zip(&prepared).zip(&mut sides) {
            let seed = plan.profile.seed.wrapping_add(u64::from(time));
            let profile = Profile { seed, ..plan.profile.clone() };
            let run = session.measure(profile, targets, &format!("compare {}", plan.label))?;
            on_run(&plan.label, time + 1, &run);
            if run.interrupted {
                return Ok(sides);
            }
            side.runs.push(run);
        }
    }
    Ok(sides)
}
