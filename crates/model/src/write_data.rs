//! The content of a role's writes.

use std::path::PathBuf;

use iostall_measure::ByteCount;
use serde::{Deserialize, Serialize};

/// Content other than incompressible data generated once per worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum WriteData {
    /// Bytes 0 to 255 repeated (DiskSpd's default; compresses and deduplicates well).
    Ramp,
    /// New random bytes for every write.
    Fresh,
    /// Each write takes a random part of a buffer that the workers share.
    Pool {
        /// Size of the buffer; at least a block.
        size: ByteCount,
        /// Its content, repeated if the file is shorter. Absent: random bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<PathBuf>,
    },
}
