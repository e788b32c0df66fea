//! The paced writer: data that arrives in bursts at fixed times, written by one method after the other, every
//! write timed.

mod backlog;
mod change;
mod sweep;
mod writer;

pub use backlog::Backlog;
pub use change::find_change;
pub use sweep::sweet_spot;
pub use writer::{PacedError, PacedJob, write_paced};
