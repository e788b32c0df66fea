//! Backups as lists: what they will take, which there are, and which are kept.

mod plan;

pub use plan::{plan_json, plan_sections, plan_title};
