//! How long solid-state drives last.

mod forms;
mod page;
#[cfg(test)]
mod tests;

pub use self::forms::write_endurance;
pub use self::page::{sections, title};
