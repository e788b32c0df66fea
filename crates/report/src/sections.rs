//! The sections of each kind of run.

use iostall_model::{Run, RunBody};

use crate::section::Section;
use crate::{matrix, max_rate, sweep};

/// The sections of `run`; none for a load, which has spans instead.
pub(crate) fn sections(run: &Run) -> Vec<Section> {
    match &run.body {
        RunBody::Sweep(outcome) => sweep::sections(run, outcome),
        RunBody::Matrix(outcome) => matrix::sections(run, outcome),
        RunBody::MaxRate(outcome) => max_rate::sections(run, outcome),
        _ => Vec::new(),
    }
}
