//! Finds the settings with which backups of a source onto some targets are fastest, by trying them.

mod axes;
pub(super) mod grid;
pub(super) mod outcome;
mod parts;
pub(super) mod search;
#[cfg(test)]
mod simulated;
pub(super) mod tuner;

use iostall_model::{Run, RunBody};

use self::axes::Axes;
use self::outcome::Found;
use self::parts::Parts;
use self::tuner::Tuner;
use crate::error::SessionError;
use crate::event::{Event, Observer};
use crate::transfer::{Transfer, target};

pub use self::tuner::TuneRequest;

/// The share of the budget for measuring the parts alone.
const PARTS_SHARE: f64 = 0.2;

/// Measures the parts, searches, and compares the best with the defaults. If it is interrupted, the run has what was measured so far.
pub fn tune(request: &TuneRequest, transfer: Transfer, observer: &dyn Observer) -> Result<Run, SessionError> {
    let mut tuner = Tuner::new(request, &transfer)?;
    let axes = Axes::new(&tuner.given(), &tuner.default);
    let (mut grid, memory_max) = tuner.grid(&axes)?;
    observer.on(&Event::TuneBegun(&tuner.plan(&grid, memory_max)));
    let (mut parts, mut left_out, mut searched) = (Parts::default(), Vec::new(), None);
    let mut ended = parts.measure(&mut tuner, &axes, request.budget.seconds() * PARTS_SHARE, observer);
    if ended.is_ok() {
        tuner.order = parts.fastest_first();
        let (kept, sentences) = parts.worth_trying(&axes, tuner.default.compression);
        (grid, left_out) = (tuner.grid(&kept)?.0, sentences);
        let (found, end) = tuner.search(&grid, &transfer, observer);
        (searched, ended) = (Some(found), end);
    }
    observer.on(&Event::ProgressEnded);
    if let Err(error) = ended
        && !error.is_cancelled()
    {
        return Err(error.into());
    }
    let found = Found {
        request,
        source_bytes: tuner.sample.bytes(),
        trial_bytes: tuner.trial_bytes,
        memory_max,
        default: tuner.default,
        order: &tuner.order,
        grid: &grid,
        parts: &parts,
        left_out,
        searched: searched.as_ref(),
    };
    let outcome = found.outcome(&transfer);
    let named = request.sources.first();
    let targets = named.and_then(|path| target(path)).into_iter().collect();
    let name = named.map(|path| path.display().to_string()).unwrap_or_default();
    Ok(transfer.finish(name, targets, Vec::new(), RunBody::BackupTune(Box::new(outcome))))
}
