//! What to question about the commits of a run, and about the settings of the server.

use iostall_engine::InputError;
use iostall_load::checks::{memory_file_system, too_fast};
use iostall_measure::Percentile;
use iostall_measure::platform::{Host, Target};
use iostall_model::sync::{ServerSetting, ServerSync, SyncStep};
use iostall_model::{FsyncOutcome, Warning, WarningCode};

use super::postgres_config::is_off;

pub(super) fn check(
    host: &Host,
    targets: &[Target],
    outcome: &FsyncOutcome,
    unread: &[InputError],
    interrupted: bool,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if interrupted {
        let message = "stopped early; the measurements up to then are valid";
        warnings.push(Warning::new(WarningCode::Interrupted, message));
    }
    warnings.extend(outcome.server.iter().flat_map(waits_for_nothing));
    warnings.extend(failures(&outcome.steps));
    let in_memory: Vec<Warning> = targets.iter().filter_map(memory_file_system).collect();
    if in_memory.is_empty() {
        warnings.extend(targets.iter().flat_map(|target| flushes(host, target, &outcome.steps)));
    }
    warnings.extend(in_memory);
    warnings.extend(unread.iter().map(not_read));
    warnings
}

fn waits_for_nothing(server: &ServerSync) -> Vec<Warning> {
    let off = |name| server.setting(name).filter(|setting| is_off(&setting.value));
    let warning = |setting: &ServerSetting, loss: &str, hint: &str| {
        let ServerSetting { name, value, source } = setting;
        Warning::new(WarningCode::SyncOff, format!("{name} = {value} ({source}): {loss}"))
            .about(&server.data_directory)
            .hint(hint)
    };
    let fsync = off("fsync").map(|setting| {
        warning(
            setting,
            "this server flushes nothing, and a power failure or a crash of the system can destroy the whole database; \
             the numbers here are not what it does",
            "set fsync = on, unless every byte of this database can be created again",
        )
    });
    let commit = off("synchronous_commit").map(|setting| {
        warning(
            setting,
            "commits return before they are durable, and a crash loses those of the last moments, up to three times \
             wal_writer_delay; the numbers here are not what they wait for",
            "set synchronous_commit = on where a reported commit must not be lost; it can be set by role, database and transaction",
        )
    });
    fsync.into_iter().chain(commit).collect()
}

fn failures(steps: &[SyncStep]) -> Vec<Warning> {
    let failed = steps.iter().filter_map(|step| Some((step, step.failed.as_ref()?)));
    failed.map(|(step, why)| Warning::new(WarningCode::IoErrors, why.as_str()).about(step.label())).collect()
}

/// A warning about each method whose flushes were faster than the device's media, with the first number of committers that shows it.
fn flushes(host: &Host, target: &Target, steps: &[SyncStep]) -> Vec<Warning> {
    let mut found: Vec<(&str, Warning)> = Vec::new();
    for step in steps.iter().filter(|step| step.method.is_durable()) {
        let name = step.method.name();
        let median = step.flush_ns.value_at(Percentile::P50);
        let warning = median.and_then(|median_ns| too_fast(host, target.device.as_ref(), median_ns));
        if let Some(warning) = warning
            && !found.iter().any(|(known, _)| *known == name)
        {
            found.push((name, warning.about(step.label())));
        }
    }
    found.into_iter().map(|(_, warning)| warning).collect()
}

fn not_read(error: &InputError) -> Warning {
    let message = format!("{error}: the settings shown may not be the server's");
    Warning::new(WarningCode::MissingGrant, message).hint("run it as the user of the server")
}
