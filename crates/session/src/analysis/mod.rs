//! Analysis of runs, for every output format.

pub mod comparison;
pub mod first_reads;
pub mod guard;
pub mod limits;
pub mod max_rate;
pub mod points;
pub mod qualify;
pub mod sweep;
