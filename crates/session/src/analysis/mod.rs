//! Analysis of runs, for every output format.

pub mod comparison;
pub mod sweep;
