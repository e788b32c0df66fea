//! Opens a stripe set and says where its frames stand.

mod damage;
mod error;
mod find;
mod runs;
mod set;
mod stripe;

pub use damage::{Damage, entry_of};
pub use error::ReadError;
pub use runs::StripeRead;
pub use set::{OpenSet, OpenStripe, open};
pub use stripe::{Fault, Index, Stripe, Walked};

pub(crate) use runs::{ReadShape, Run, RunSource, add_reads, frames_of, run_job, runs};
