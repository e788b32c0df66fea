//! How long solid-state drives last.

mod charts;
mod facts;
mod forms;
mod page;
#[cfg(test)]
mod tests;
mod units;

pub use self::forms::write_endurance;
pub use self::page::{sections, title};
