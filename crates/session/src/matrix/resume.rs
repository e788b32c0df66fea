//! Resumes an interrupted matrix.

use iostall_model::{EarlierCells, MatrixOutcome, MatrixPlan, Point};
use iostall_store::Store;

use super::cells::Cell;
use crate::error::SessionError;
use crate::past::{Earlier, Subject};

pub(super) struct TakenOver<'a> {
    earlier: &'a Earlier<MatrixOutcome>,
    pub(super) cells: Vec<EarlierCells>,
}

/// The newest matrix with this plan and these targets, which must be one that was stopped.
pub(super) fn newest(
    subject: &Subject<'_>,
    store: &dyn Store,
    plan: &MatrixPlan,
) -> Result<Earlier<MatrixOutcome>, SessionError> {
    let fits = |outcome: &MatrixOutcome| (outcome.plan == *plan).then(|| outcome.clone());
    subject.to_resume(store, ("matrix", "matrix"), fits, |earlier| !earlier.run.interrupted)
}

impl<'a> TakenOver<'a> {
    pub(super) fn from(earlier: &'a Earlier<MatrixOutcome>) -> Self {
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
