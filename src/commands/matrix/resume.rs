//! Going on where a matrix was stopped.

use std::path::PathBuf;

use iostall_model::{MatrixOutcome, MatrixPlan, Point, Run, RunId};
use iostall_store::{Filter, Selector, SqliteStore, Store};

use super::cells::Cell;
use crate::failure::hinted;
use crate::measuring::SCRATCH_NAME;
use crate::store::with_hint;

/// Of so many matrices the newest fitting one is looked for.
const LOOK_BACK: u32 = 100;

/// What a stopped matrix measured.
pub(super) struct Earlier {
    pub(super) run: RunId,
    points: Vec<Point>,
}

impl Earlier {
    /// The point of `cell`, where it was measured.
    pub(super) fn point(&self, cell: &Cell, workers: u32) -> Option<&Point> {
        self.points.iter().find(|point| cell.is(point, workers))
    }
}

/// The newest stopped matrix with this plan and these targets.
pub(super) fn newest(store: &SqliteStore, plan: &MatrixPlan, paths: &[PathBuf]) -> anyhow::Result<Earlier> {
    let filter = Filter { kind: Some("matrix".to_owned()), limit: Some(LOOK_BACK), ..Filter::default() };
    let entries = store.list(&filter).map_err(with_hint)?;
    for entry in entries.iter().filter(|entry| entry.interrupted) {
        let run = store.get(&Selector::Number(entry.number.0)).map_err(with_hint)?.run;
        if let Some(earlier) = fitting(&run, plan, paths) {
            return Ok(earlier);
        }
    }
    let error = anyhow::anyhow!("there is no stopped matrix with these settings and targets to go on from");
    Err(hinted(error, "`iostall runs` lists what was kept; leave --resume out to begin a new one"))
}

fn fitting(run: &Run, plan: &MatrixPlan, paths: &[PathBuf]) -> Option<Earlier> {
    // Without a name it was the scratch file, which is made again with the same content.
    let scratch = [PathBuf::from(SCRATCH_NAME)];
    let paths = if paths.is_empty() { &scratch } else { paths };
    let same_targets = run.targets.iter().map(|target| &target.path).eq(paths);
    let outcome =
        run.body.as_kind::<MatrixOutcome>().filter(|outcome| same_targets && outcome.plan == *plan)?;
    Some(Earlier { run: run.id, points: outcome.points.clone() })
}
