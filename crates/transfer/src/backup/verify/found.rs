//! What a check found.

use iostall_model::backup::SetId;

use crate::backup::read::{Damage, StripeRead};

#[derive(Debug, Default)]
pub struct Verified {
    pub files: u64,
    /// Frames that were found, but for those of the index and the ends.
    pub frames: u64,
    pub good_frames: u64,
    /// What the good ones hold.
    pub bytes: u64,
    /// Read from all stripes.
    pub stored_bytes: u64,
    /// What was read of each stripe, but for headers and indexes; empty if only these were looked at.
    pub stripes: Vec<StripeRead>,
    /// The sets that it is based on and of which something is needed.
    pub bases: Vec<BaseVerified>,
    /// By stripe and position.
    pub damage: Vec<Damage>,
    pub was_cancelled: bool,
}

/// A set that an increment is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseVerified {
    pub set: SetId,
    /// Frames of it that the increment needs. They were read unless only headers were looked at.
    pub frames: u64,
}
