//! The sets in directories: found by what is in the files, not by their names.

mod found;
mod remove;
mod scan;
#[cfg(test)]
mod tests;

pub use found::{FoundSet, FoundStripe, FoundUpload, SetState};
pub use remove::{RemoveError, give_up_uploads, remove};
pub use scan::{ScanError, scan};

pub use super::places::Place;
