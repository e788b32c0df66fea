//! Too little room for a stripe.

use std::fmt;
use std::path::PathBuf;

use iostall_measure::ByteCount;

/// A file system on which the stripes do not fit unless the sources shrink on their way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    pub directory: PathBuf,
    /// What its stripes take without compression.
    pub needed_bytes: u64,
    pub free_bytes: u64,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (needed, free) = (ByteCount(self.needed_bytes), ByteCount(self.free_bytes));
        write!(
            f,
            "{} has {free} free, and without compression its part of the backup takes {needed}",
            self.directory.display()
        )
    }
}
