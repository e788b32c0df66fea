//! The profile of a load: a preset or file, with overrides from the command line.

use iostall_load::fio::FioProfile;
use iostall_load::preset::preset;
use iostall_load::profile::{Overrides, check, give_own_files, read_profile};
use iostall_measure::SyncCall;
use iostall_model::Profile;
use iostall_model::profile::SyncRule;
use iostall_session::SessionError;

use crate::cli::LoadArgs;
use crate::failure::hinted;

/// The default on a user's file, which is not written.
const DEFAULT_ON_FILES: &str = "random-read";
/// The default on our own scratch file: the load of a database server.
const DEFAULT_ON_SCRATCH: &str = "oltp";

/// Resolves everything about the profile that needs no device.
pub(super) fn resolve(args: &LoadArgs, fio: Option<&FioProfile>) -> anyhow::Result<Profile> {
    let mut profile = fio.map_or_else(|| base(args), |fio| Ok(fio.profile.clone()))?;
    let bound: Vec<&str> = args.what.bindings.iter().map(|binding| binding.name.as_str()).collect();
    give_own_files(&mut profile, &bound);
    for overrides in [of_run(args), of_roles(args)] {
        overrides.apply(&mut profile).map_err(|error| {
            hinted(error, "--role NAME says which role the options of the shape group change")
        })?;
    }
    if changes_its_kind(args) {
        profile.name.push_str(" (changed)");
        profile.description = String::from("changed by options");
    }
    if args.shape.sync_every == Some(0) {
        let named = |name: &str| args.shape.role.as_deref().is_none_or(|role| role == name);
        profile.spans.iter_mut().flat_map(|span| &mut span.roles).filter(|role| named(&role.name)).for_each(
            |role| {
                (role.sync, role.thresholds) = (None, None);
            },
        );
    }
    check(&profile)?;
    Ok(profile)
}

/// Whether options make of a preset or a profile what its name and its description no longer tell.
fn changes_its_kind(args: &LoadArgs) -> bool {
    let shape = &args.shape;
    shape.block_size.is_some()
        || shape.write_pct.is_some()
        || shape.access.is_some()
        || shape.random_pct.is_some()
        || shape.caching.is_some()
        || shape.sync_every.is_some_and(|every| every > 0)
}

/// The profile before overrides.
fn base(args: &LoadArgs) -> anyhow::Result<Profile> {
    if let Some(path) = &args.what.profile {
        return Ok(read_profile(path).map_err(SessionError::from)?);
    }
    let nothing_named = args.targets.is_empty() && args.what.bindings.is_empty();
    let default = if nothing_named { DEFAULT_ON_SCRATCH } else { DEFAULT_ON_FILES };
    let name = args.what.preset.as_deref().unwrap_or(default);
    Ok(preset(name).map_err(SessionError::from)?)
}

fn of_run(args: &LoadArgs) -> Overrides {
    Overrides {
        seed: args.what.seed,
        warmup: args.what.warmup,
        duration: args.what.duration,
        cooldown: args.what.cooldown,
        ..Overrides::default()
    }
}

fn of_roles(args: &LoadArgs) -> Overrides {
    let shape = &args.shape;
    Overrides {
        role: shape.role.clone(),
        block_size: shape.block_size.clone(),
        queue_depth: shape.queue_depth,
        batch: shape.batch,
        batch_wait: shape.batch_wait,
        workers: shape.workers,
        write_pct: shape.write_pct,
        access: shape.access,
        random_pct: shape.random_pct,
        distribution: shape.distribution.clone(),
        region: shape.region,
        stride: shape.stride,
        rate: shape.rate,
        arrivals: shape.arrivals,
        caching: shape.caching,
        durability: shape.durability,
        sync: shape
            .sync_every
            .filter(|every| *every > 0)
            .map(|every| SyncRule { every, call: SyncCall::default() }),
        compressible_pct: shape.compressible_pct,
        ..Overrides::default()
    }
}
