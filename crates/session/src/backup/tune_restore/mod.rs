//! Finds the settings with which restores of a set are fastest, by restoring pieces of it to a place of its own.

mod axes;
mod outcome;
mod parts;
mod tuner;

use iostall_model::{Run, RunBody};
use iostall_transfer::backup::read::{OpenSet, open};

use self::outcome::Found;
use self::parts::Parts;
use self::tuner::{Tuner, failed};
use crate::error::SessionError;
use crate::event::{Event, Observer};
use crate::transfer::{Transfer, target};

pub use self::tuner::RestoreTuneRequest;

/// The share of the budget for measuring the parts alone.
const PARTS_SHARE: f64 = 0.2;

/// Measures the parts, searches, and compares the best with the defaults. If it is interrupted, the run has what was measured so far.
pub fn tune(
    request: &RestoreTuneRequest,
    transfer: Transfer,
    observer: &dyn Observer,
) -> Result<Run, SessionError> {
    let set = open(&request.from, request.unlock.as_ref())?;
    if !set.manifest.bases.is_empty() {
        let named = request.from.first().cloned().unwrap_or_default();
        return Err(SessionError::TuneIncrement { named });
    }
    let mut tuner = Tuner::new(request, &set, &transfer)?;
    let (grid, memory_max) = tuner.grid()?;
    observer.on(&Event::TuneBegun(&tuner.plan(&grid, memory_max)));
    let (mut parts, mut searched) = (Parts::default(), None);
    let mut ended = parts.measure(&mut tuner, request.budget.seconds() * PARTS_SHARE, observer);
    if ended.is_ok() {
        let (found, end) = tuner.search(&grid, &transfer, observer);
        (searched, ended) = (Some(found), end);
    }
    observer.on(&Event::ProgressEnded);
    if let Err(error) = ended
        && !error.is_cancelled()
    {
        return Err(failed(error));
    }
    let found =
        Found { request, tuner: &tuner, memory_max, grid: &grid, parts: &parts, searched: searched.as_ref() };
    let outcome = found.outcome(&transfer);
    let targets = first_stripe(&set).into_iter().collect();
    let name = super::set::short(&set.manifest.set.to_string());
    Ok(transfer.finish(name, targets, Vec::new(), RunBody::BackupTune(Box::new(outcome))))
}

fn first_stripe(set: &OpenSet) -> Option<iostall_measure::platform::Target> {
    set.stripes.first().and_then(|open| target(&open.stripe.path))
}
