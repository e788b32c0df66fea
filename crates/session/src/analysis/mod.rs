//! What the numbers of runs tell, for every output alike.

pub mod comparison;
pub mod sweep;
