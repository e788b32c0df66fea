//! What an increment is based on.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::bytes::{Digest32, StoredName};
use super::set_id::SetId;

/// A set that an increment cannot be restored without, and how to know it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseRecord {
    pub set: SetId,
    pub started_utc: Timestamp,
    /// Where its manifest was when the increment was made. A reader looks beside the increment first.
    pub manifest: StoredName,
    /// What the ends of its stripes were, by number: another set that claims its id is not taken for it.
    pub end_digests: Vec<Digest32>,
}
