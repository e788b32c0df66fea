//! Opens a stripe set and says where its frames stand.

mod chain;
mod damage;
mod digests;
mod error;
mod find;
mod medium;
mod runs;
mod set;
mod stripe;
mod without_key;

pub use chain::{open, open_with};
pub use damage::{Damage, entry_of};
pub use error::ReadError;
pub use runs::{ReadChoice, StripeRead};
pub use set::{Chain, ChainStripe, OpenSet, OpenStripe};
pub use stripe::{Fault, Index, Stripe, Walked};
pub use without_key::open_without_key;

pub(crate) use damage::blocks_of;
pub(crate) use digests::pieces;
pub(crate) use find::manifest_bytes;
pub(crate) use medium::{HEAD_BYTES, read_start};
pub(crate) use runs::{ReadShape, Run, RunSource, add_reads, frames_of, run_job, runs};
