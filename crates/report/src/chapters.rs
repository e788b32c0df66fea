//! The chapters of each kind of run.

use iostall_model::{Run, RunBody};

use crate::chapter::Chapter;
use crate::{matrix, max_rate, sweep};

/// The chapters of `run`; none for a load, which has spans instead.
pub(crate) fn chapters(run: &Run) -> Vec<Chapter> {
    match &run.body {
        RunBody::Sweep(outcome) => sweep::chapters(run, outcome),
        RunBody::Matrix(outcome) => matrix::chapters(run, outcome),
        RunBody::MaxRate(outcome) => max_rate::chapters(run, outcome),
        _ => Vec::new(),
    }
}
