//! Resumes an interrupted matrix.

use std::path::PathBuf;

use iostall_measure::ByteCount;
use iostall_measure::platform::Target;
use iostall_model::{EarlierCells, MatrixOutcome, MatrixPlan, Point, Run};
use iostall_store::{Filter, Selector, Store};

use super::cells::Cell;
use crate::error::SessionError;
use crate::targets::named_or_scratch;

const LOOK_BACK: u32 = 100;

pub(crate) struct Earlier {
    number: u32,
    run: Run,
    outcome: MatrixOutcome,
}

pub(super) struct TakenOver<'a> {
    earlier: &'a Earlier,
    pub(super) cells: Vec<EarlierCells>,
}

/// The newest matrix with this plan and these targets, which must be one that was stopped.
pub(crate) fn newest(
    store: &dyn Store,
    plan: &MatrixPlan,
    paths: &[PathBuf],
) -> Result<Earlier, SessionError> {
    let filter = Filter { kind: Some("matrix".to_owned()), limit: Some(LOOK_BACK), ..Filter::default() };
    for entry in store.list(&filter)? {
        let run = store.get(&Selector::Number(entry.number.0))?.run;
        let Some(outcome) = fitting(&run, plan, paths) else { continue };
        let number = entry.number.0;
        if !run.interrupted {
            return Err(SessionError::ResumeComplete { number });
        }
        return Ok(Earlier { number, run, outcome });
    }
    Err(SessionError::NothingToResume)
}

fn fitting(run: &Run, plan: &MatrixPlan, paths: &[PathBuf]) -> Option<MatrixOutcome> {
    // Without a path it was the scratch file, which is created again with the same content.
    let paths = named_or_scratch(paths);
    let same_targets = run.targets.iter().map(|target| &target.path).eq(&paths);
    run.body.as_kind::<MatrixOutcome>().filter(|outcome| same_targets && outcome.plan == *plan).cloned()
}

impl Earlier {
    /// Refuses to put cells of another machine, or of targets that were of another size, into one table with new ones.
    pub(super) fn check_targets(&self, hostname: &str, targets: &[Target]) -> Result<(), SessionError> {
        if self.run.host.hostname != hostname {
            return Err(self.differs("machine", self.run.host.hostname.clone(), hostname.to_owned()));
        }
        for (then, now) in self.run.targets.iter().zip(targets) {
            if then.size_bytes != now.size_bytes {
                let what = format!("size of {}", now.path.display());
                let sizes = [then, now].map(|target| ByteCount(target.size_bytes).to_string());
                let [then, now] = sizes;
                return Err(self.differs(&what, then, now));
            }
        }
        Ok(())
    }

    /// Refuses to mix cells of two engines.
    pub(super) fn check_engine(&self, name: &str) -> Result<(), SessionError> {
        let then = &self.outcome.engine.name;
        if then.is_empty() || then == name {
            return Ok(());
        }
        Err(self.differs("engine", then.clone(), name.to_owned()))
    }

    fn differs(&self, what: &str, then: String, now: String) -> SessionError {
        SessionError::ResumeDiffers { number: self.number, what: what.to_owned(), then, now }
    }

    pub(super) fn id(&self) -> iostall_model::RunId {
        self.run.id
    }
}

impl<'a> TakenOver<'a> {
    pub(super) fn from(earlier: &'a Earlier) -> Self {
        Self { earlier, cells: Vec::new() }
    }

    pub(super) fn take(&mut self, cell: &Cell, workers: u32, index: usize) -> Option<&'a Point> {
        let Earlier { run, outcome, .. } = self.earlier;
        let place = outcome.points.iter().position(|point| cell.is(point, workers))?;
        // A run that was itself resumed has cells of still older ones.
        let (id, started_utc) = outcome
            .earlier_of(place)
            .map_or((run.id, run.started_utc), |cells| (cells.run, cells.started_utc));
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        match self.cells.iter_mut().find(|cells| cells.run == id) {
            Some(cells) => cells.points.push(index),
            None => self.cells.push(EarlierCells { run: id, started_utc, points: vec![index] }),
        }
        Some(&outcome.points[place])
    }
}
