//! Pure statistics: knees of curves, changes of level, confidence intervals, comparisons, trends. No clock,
//! no device, no formatting, and nothing that is stored.

pub mod alike;
pub mod autocorrelation;
pub mod burst;
pub mod change;
pub mod compare;
pub mod confidence;
mod distribution;
pub mod governor;
pub mod guard;
pub mod halving;
pub mod knee;
#[cfg(test)]
mod noise;
pub mod permutation;
pub mod plateau;
pub mod rate_search;
pub mod sign_test;
pub mod steady;
pub mod summary;

pub mod trend;
pub mod welch;
pub mod work;
