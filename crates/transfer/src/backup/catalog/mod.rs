//! The sets in directories: found by what is in the files, not by their names.

mod remove;
mod scan;
#[cfg(test)]
mod tests;

pub use remove::{RemoveError, give_up_uploads, remove};
pub use scan::{FoundSet, FoundStripe, FoundUpload, ScanError, SetState, scan};

pub use super::places::Place;
