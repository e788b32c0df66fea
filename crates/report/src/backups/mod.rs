//! Backups as lists: what they will take, which there are, and which are kept.

mod catalog;
mod plan;
mod wal;

pub use catalog::{list_json, list_sections, prune_json, prune_sections};
pub use plan::{plan_json, plan_sections, plan_title};
pub use wal::{wal_json, wal_sections};
