//! A model of a flash device, and the closed forms beside it.
//!
//! A device programs pages, erases blocks of pages, and cannot write over a page. So it writes elsewhere, and later moves what is
//! still valid out of a block to erase it: it writes more than the host does. How much more follows from the spare area, the way
//! blocks are collected and the pattern of the writes, and is what [`simulation`] counts and [`theory`] computes.

mod cache;
mod care;
mod collector;
pub mod counts;
mod device;
mod error;
mod forms;
pub mod ftl;
mod number;
mod ordered;
pub mod pattern;
mod pools;
mod random;
pub mod simulation;
mod spare;
mod steady;
pub mod theory;
mod zipf;

#[cfg(test)]
mod tests;

pub use counts::Counts;
pub use device::{FlashBuild, FlashDevice};
pub use error::FlashError;
pub use forms::closed_forms;
pub use ftl::Ftl;
pub use simulation::Simulation;
pub use spare::spare_for;
pub use steady::{Steady, steady};
