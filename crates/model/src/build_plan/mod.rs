//! A build of drives for a database server: how many drives of which level each volume needs, and what comes of it. Arithmetic
//! alone; each figure comes with its formula.

mod demand;
mod error;
mod figures;
mod level;
mod plan;
mod risk;
#[cfg(test)]
mod tests;

pub use demand::{Demand, Drive, Role, Spindle};
pub use error::BuildError;
pub use level::RaidLevel;
pub use plan::{BuildPlan, BuildRequest, Figure, PlannedArray, Volume};

use demand::{drives_for_iops, drives_for_rate, drives_for_size};
use figures::{array_figures, build_figures};

const DRIVES_MAX: f64 = 1_000_000.0;
/// Drives of arrays for which one stands by, where no number is asked for: an enclosure.
const DRIVES_PER_SPARE: u64 = 24;

/// The fewest drives for each volume, and what comes of them.
pub fn build_plan(request: &BuildRequest) -> Result<BuildPlan, BuildError> {
    let array = |volume: &Volume| {
        let (level, drives) = level_and_drives(volume, &request.drive)?;
        let figures = array_figures(request, &volume.demand, level, drives);
        Ok(PlannedArray { role: volume.role, demand: volume.demand, level, drives, figures })
    };
    let arrays = request.volumes.iter().map(array).collect::<Result<Vec<_>, BuildError>>()?;
    let in_arrays: u64 = arrays.iter().map(|array| array.drives).sum();
    let hot_spares = request.hot_spares.unwrap_or_else(|| in_arrays.div_ceil(DRIVES_PER_SPARE));
    let figures = build_figures(request, &arrays, hot_spares, DRIVES_PER_SPARE);
    let drive = request.drive.clone();
    Ok(BuildPlan { drive, arrays, hot_spares, drives: in_arrays + hot_spares, figures })
}

fn level_and_drives(volume: &Volume, drive: &Drive) -> Result<(RaidLevel, u64), BuildError> {
    let Volume { role, demand, level: wanted } = volume;
    let role = *role;
    let level = wanted.unwrap_or_else(|| role.usual_level());
    let least = [drives_for_size, drives_for_iops, drives_for_rate]
        .into_iter()
        .map(|drives| drives(demand, level, drive))
        .fold(0.0, f64::max);
    // Not a number either.
    if !(0.0..=DRIVES_MAX).contains(&least) {
        return Err(BuildError::TooMany { role: role.name() });
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and limited above")]
    let least = least as u64;
    // Two drives are a mirror without stripes.
    if wanted.is_none() && level == RaidLevel::R10 && least <= 2 {
        return Ok((RaidLevel::R1, 2));
    }
    match level.at_least(least) {
        Some(drives) => Ok((level, drives)),
        None if wanted.is_none() => Ok((RaidLevel::R10, least + least % 2)),
        None => Err(BuildError::TooFew { role: role.name(), drives: least }),
    }
}
