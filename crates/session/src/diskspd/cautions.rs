//! Warnings that a DiskSpd report has no place for, and advice about targets that do not fit.

use iostall_diskspd::{CacheMode, DiskspdProfile};
use iostall_load::{PlanError, RunError};
use iostall_measure::ByteCount;
use iostall_model::{LoadOutcome, Run, WarningCode};

use crate::error::SessionError;

pub fn cautions(run: &Run, profile: &DiskspdProfile) -> Vec<String> {
    let measures_latency = profile.time_spans.iter().any(|span| span.measure_latency);
    let warnings = run
        .warnings
        .iter()
        .filter(|warning| warning.code != WarningCode::FewSamples || measures_latency)
        .map(|warning| {
            let subject = warning.subject.as_deref().map(|subject| paths_of(subject, profile) + ": ");
            subject.unwrap_or_default() + &warning.message
        });
    ranges_moved(run, profile).into_iter().chain(warnings).collect()
}

/// The paths behind role names, which the user has never seen: the first time span's, for names repeat from span to span.
fn paths_of(subject: &str, profile: &DiskspdProfile) -> String {
    let targets = profile.time_spans.first().map(|span| span.targets.as_slice()).unwrap_or_default();
    let path_of = |name: &str| -> Option<String> {
        let number: usize = name.strip_prefix("target")?.parse().ok()?;
        Some(targets.get(number.checked_sub(1)?)?.path.clone())
    };
    let names = subject.split(", ").map(|name| path_of(name).unwrap_or_else(|| name.to_owned()));
    names.collect::<Vec<_>>().join(", ")
}

/// Ranges that are not where they were asked for: DiskSpd too only warns about a target that ends before `-f`, and fails where a
/// range begins within a sector.
fn ranges_moved(run: &Run, profile: &DiskspdProfile) -> Vec<String> {
    let Some(outcome) = run.body.as_kind::<LoadOutcome>() else { return Vec::new() };
    let mut found = Vec::new();
    for (span, asked) in outcome.spans.iter().zip(&profile.time_spans) {
        for target in &asked.targets {
            let known = run.targets.iter().position(|known| known.path.to_string_lossy() == target.path);
            let Some((index, bytes)) = known.and_then(|index| Some((index, *span.target_bytes.get(index)?)))
            else {
                continue;
            };
            let path = &target.path;
            if target.max_bytes > bytes {
                found.push(format!(
                    "'{path}': the target ends at {}, before the maximum offset of {} (-f); requests go as far as its end",
                    ByteCount(bytes),
                    ByteCount(target.max_bytes)
                ));
            }
            let direct = run.targets[index].direct.as_ref().filter(|direct| direct.granted);
            let sector = direct.and_then(|direct| direct.offset_align).map_or(1, u64::from).max(1);
            let on_sectors = [target.base_bytes, target.max_bytes].iter().all(|at| at.is_multiple_of(sector));
            if target.cache_mode == CacheMode::NoOsCache && !on_sectors {
                found.push(format!(
                    "'{path}': -B or -f is within a sector of {sector} bytes; requests past the cache keep to the sectors between"
                ));
            }
        }
    }
    found.dedup();
    found
}

/// Advice in terms of DiskSpd's options, if the error is about the size of a target.
pub fn hint(error: &SessionError) -> Option<&'static str> {
    let SessionError::Run(RunError::Plan { source, .. }) = error else { return None };
    match source {
        PlanError::BlockDoesNotFit { .. } => {
            Some("make -b smaller, the file larger (-c), or -B and -f wider apart")
        }
        PlanError::NotAMultiple { .. } => {
            Some("give -b, -r, -s and -T as multiples of it, or go through the page cache (-Sb)")
        }
        PlanError::StartOutside { .. } => {
            Some("make -T smaller or the file larger (-c), or use fewer threads (-t)")
        }
        _ => None,
    }
}
