//! Checks the numbers of a run: what a careful storage engineer would question, answered from what was
//! recorded. Pure functions: evidence in, warnings out.

mod evidence;
mod flush;
mod generator;
mod machine;
mod numbers;
mod platform;
mod target;

use iostall_model::Warning;

pub use evidence::{BusyBefore, Evidence};
pub use flush::too_fast;
pub use machine::{cpus_between, devices, processors};
pub use platform::memory_file_system;

pub fn check(evidence: &Evidence<'_>) -> Vec<Warning> {
    let mut warnings = numbers::check(evidence);
    warnings.extend(target::check(evidence));
    warnings.extend(platform::check(evidence));
    warnings.extend(generator::check(evidence));
    warnings.dedup();
    warnings
}

#[cfg(test)]
pub(crate) mod tests;
