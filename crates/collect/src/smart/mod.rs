//! What solid-state drives say of their wear: the JSON of `smartctl -j -x` and of `nvme`, saved or asked for now.
//!
//! Counters of vendors have no common unit, so each family has its own table, and what is in none is not guessed.

mod ata;
mod document;
mod error;
mod field;
mod nvme;
mod place;
mod power_fail;
mod program;
mod scsi;
mod smartctl;
mod source;

pub use document::parse;
pub use error::SmartError;
pub use place::{Drives, read};
pub use power_fail::nvme_power_fail;
pub(crate) use source::SmartSource;
pub use source::{of_row, row};
