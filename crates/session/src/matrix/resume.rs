//! Resumes an interrupted matrix.

use std::path::PathBuf;

use iostall_model::{MatrixOutcome, MatrixPlan, Point, Run, RunId};
use iostall_store::{Filter, Selector, Store};

use super::cells::Cell;
use crate::error::SessionError;
use crate::targets::named_or_scratch;

/// How many of the newest matrices are searched for one to resume.
const LOOK_BACK: u32 = 100;

/// The results of an interrupted matrix.
pub(crate) struct Earlier {
    pub(crate) run: RunId,
    points: Vec<Point>,
}

impl Earlier {
    /// The point of `cell`, if it was measured.
    pub(crate) fn point(&self, cell: &Cell, workers: u32) -> Option<&Point> {
        self.points.iter().find(|point| cell.is(point, workers))
    }
}

/// The newest interrupted matrix with this plan and these targets.
pub(crate) fn newest(
    store: &dyn Store,
    plan: &MatrixPlan,
    paths: &[PathBuf],
) -> Result<Earlier, SessionError> {
    let filter = Filter { kind: Some("matrix".to_owned()), limit: Some(LOOK_BACK), ..Filter::default() };
    let entries = store.list(&filter)?;
    for entry in entries.iter().filter(|entry| entry.interrupted) {
        let run = store.get(&Selector::Number(entry.number.0))?.run;
        if let Some(earlier) = fitting(&run, plan, paths) {
            return Ok(earlier);
        }
    }
    Err(SessionError::NothingToResume)
}

fn fitting(run: &Run, plan: &MatrixPlan, paths: &[PathBuf]) -> Option<Earlier> {
    // Without a path it was the scratch file, which is created again with the same content.
    let paths = named_or_scratch(paths);
    let same_targets = run.targets.iter().map(|target| &target.path).eq(&paths);
    let outcome =
        run.body.as_kind::<MatrixOutcome>().filter(|outcome| same_targets && outcome.plan == *plan)?;
    Some(Earlier { run: run.id, points: outcome.points.clone() })
}
