//! What each kind of run has to say of itself.

use std::any::Any;

use crate::capacity::Capacity;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;
use crate::summary::Summary;

/// What a run of any kind says of itself. Nothing has a default: a new kind answers all of it.
pub trait Outcome: Any {
    /// Its word in listings, in the store and in names of files; the key of its outcome in documents.
    fn kind(&self) -> &'static str;
    /// How much of target `index`, which has `whole_bytes`, was used from its start; `None` where it does not say.
    fn used_bytes(&self, index: usize, whole_bytes: u64) -> Option<u64>;
    /// The load that was asked for; `None` where there is none, or more than one.
    fn profile(&self) -> Option<&Profile>;
    /// The engines that carried the requests out.
    fn engines(&self) -> Vec<&EngineUse>;
    /// What was measured setting by setting, in the order of measuring.
    fn points(&self) -> &[Point];
    /// What can be compared with another run's, by name.
    fn measured(&self) -> Vec<Measured>;
    /// What it says of the devices under its `targets`, shape by shape.
    fn capacities(&self, targets: usize) -> Vec<Capacity>;
    /// The few numbers that a listing shows.
    fn summary(&self) -> Summary;
}
