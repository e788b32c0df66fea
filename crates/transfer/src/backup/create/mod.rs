//! Makes a backup: from sources through frames onto stripes, and a manifest at the end.
//!
//! ```text
//! items ─┬─ large files ──► direct reads ─┐
//!        ├─ small files ──► bundles ──────┼─► encode on N workers ──► stripes ──► index, end ──► names ──► manifest
//!        └─ streams ──────► ordered ──────┘
//! ```

mod base;
mod encode;
mod error;
mod item;
mod ledger;
mod made;
mod open;
mod options;
mod packing;
mod room;
mod run;
mod sample;
mod small;
mod source;
mod streamed;
mod stripe;
mod target_file;
mod target_object;
mod targets;
#[cfg(test)]
mod tests;
mod tree;
mod trial;
mod writer;

pub use super::trial::{Trial, TrialLimit};
pub use base::Base;
pub use error::{CreateError, Shortage};
pub use item::{Inspect, Item, Live, LiveEnd, OnChange, PagesSeen, PreparedSource, What, metadata_of};
pub use made::{Counts, Made, MadeStripe};
pub use options::CreateOptions;
pub use room::shortages;
pub use run::{check, create};
pub use sample::Sample;
pub(super) use target_file::remove_dead;
pub use targets::check as check_targets;
pub use tree::{SourceRequest, prepare};
pub use trial::{Feed, trial};
