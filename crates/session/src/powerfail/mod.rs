//! Whether a flush is true: writes whose acknowledgement a witness on another machine keeps, and a look at what is there after the power
//! was cut.

mod block;
mod check;
mod cuts;
mod error;
mod inspect;
mod log;
mod protocol;
#[cfg(test)]
mod tests;
mod witness;
mod write;

pub(crate) use cuts::{cuts_of, share_max};

pub use check::{CheckRequest, check};
pub use witness::{WitnessRequest, witness};
pub use write::{WriteRequest, Written, write};

/// Writes that a flush can make durable at once.
pub const WRITES_PER_FLUSH: std::ops::RangeInclusive<u32> = 1..=protocol::GROUP_MAX;
pub const BLOCK_BYTES: std::ops::RangeInclusive<u32> = protocol::BLOCK_BYTES;
