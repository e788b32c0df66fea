//! Opens a stripe set and says where its frames stand.

mod damage;
mod error;
mod find;
mod medium;
mod runs;
mod set;
mod stripe;
mod without_key;

pub use damage::{Damage, entry_of};
pub use error::ReadError;
pub use runs::{ReadChoice, StripeRead};
pub use set::{OpenSet, OpenStripe, open};
pub use stripe::{Fault, Index, Stripe, Walked};
pub use without_key::open_without_key;

pub(crate) use damage::blocks_of;
pub(crate) use find::manifest_bytes;
pub(crate) use runs::{ReadShape, Run, RunSource, add_reads, frames_of, run_job, runs};
