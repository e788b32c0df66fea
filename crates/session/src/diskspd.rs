//! Runs a DiskSpd command line: its targets by DiskSpd's rules, and warnings about its numbers.

use std::path::{Path, PathBuf};

use iostall_diskspd::report::{AskedError, profile_of, report_of};
use iostall_diskspd::{CacheMode, DiskspdProfile, FilePlan, MappedProfile, ResultFormats, Unsupported};
use iostall_load::{PlanError, RunError};
use iostall_measure::ByteCount;
use iostall_model::{LoadOutcome, Run, WarningCode};
use thiserror::Error;

use crate::error::SessionError;
use crate::names::is_named;
use crate::targets::{OwnSize, TargetBinding, TargetRequest, WriteConsent, made_by_iostall};

pub fn report(run: &Run, profile: &DiskspdProfile) -> String {
    report_of(run, profile, profile.result_formats).unwrap_or_default()
}

pub fn report_again(run: &Run, formats: ResultFormats) -> Result<String, AskedError> {
    Ok(report_of(run, &profile_of(run)?, formats).unwrap_or_default())
}

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

#[derive(Debug, Error)]
pub enum DiskspdTargetError {
    #[error("{0}")]
    OfWindows(Unsupported),
    #[error("Error opening file: {path} is not there")]
    NotThere {
        path: String,
        /// Whether a later time span makes it.
        is_made_later: bool,
    },
    #[error("-c would replace {path}, which iostall did not make")]
    WouldReplace { path: String },
}

impl DiskspdTargetError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::OfWindows(_) => None,
            Self::NotThere { is_made_later: false, .. } => Some("-c<size> makes it: -c4G".to_owned()),
            Self::NotThere { .. } => Some(
                "a time span works on it before another makes it: give that one a <FileSize> too, or \
                 <PrecreateFiles>UseMaxSize</PrecreateFiles>"
                    .to_owned(),
            ),
            Self::WouldReplace { path } => {
                Some(format!("leave -c out to use the file as it is, or add --overwrite {path}"))
            }
        }
    }
}

/// The targets, under the names that the mapped roles use. By DiskSpd's rules, missing files are created only
/// with `-c`, and `-c` does nothing on a device, which is reported in `note`. Unlike DiskSpd, `-c` replaces
/// only files created by iostall or allowed by the user.
pub fn target_request(
    mapped: &MappedProfile,
    consent: &WriteConsent,
    note: &dyn Fn(&str),
) -> Result<TargetRequest, DiskspdTargetError> {
    let mut request = TargetRequest::of_paths(Vec::new(), None, consent.clone());
    for target in &mapped.targets {
        let (file, path) = (&target.file, PathBuf::from(&target.file.path));
        request.bindings.push(TargetBinding { name: target.name.clone(), path: path.clone() });
        if path.exists() && !path.is_file() {
            if file.made_bytes.is_some() {
                note(&format!("-c: {} is no file, so it is used as it is", file.path));
            }
            continue;
        }
        check_file(file, &path, consent)?;
        let own = OwnSize {
            made: file.made_bytes.map(ByteCount),
            in_spans: file.bytes_in_spans.iter().map(|bytes| bytes.map(ByteCount)).collect(),
        };
        request.sizes.push((Some(target.name.clone()), own));
    }
    Ok(request)
}

fn check_file(file: &FilePlan, path: &Path, consent: &WriteConsent) -> Result<(), DiskspdTargetError> {
    if !path.exists() && file.must_exist {
        let (path, is_made_later) = (file.path.clone(), file.made_bytes.is_some());
        return Err(match Unsupported::windows_path(&file.path) {
            Some(foreign) => DiskspdTargetError::OfWindows(foreign),
            None => DiskspdTargetError::NotThere { path, is_made_later },
        });
    }
    let replaces = path.exists() && file.made_bytes.is_some() && !made_by_iostall(path).unwrap_or(false);
    if replaces && !is_named(path, &consent.overwrite) {
        return Err(DiskspdTargetError::WouldReplace { path: file.path.clone() });
    }
    Ok(())
}
