//! The interface of every run kind.

use std::any::Any;

use crate::capacity::Capacity;
use crate::entry::Summary;
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;

/// The interface of every run kind. Nothing has a default, so that a new kind implements all of it.
pub trait Outcome: Any {
    /// Its name in listings, stores and file names, and the key of its outcome in documents.
    fn kind(&self) -> &'static str;
    /// How much of target `index`, which has `whole_bytes`, was used from its start; `None` if unknown.
    fn used_bytes(&self, index: usize, whole_bytes: u64) -> Option<u64>;
    /// The requested load; `None` if there is none, or more than one.
    fn profile(&self) -> Option<&Profile>;
    fn engines(&self) -> Vec<&EngineUse>;
    /// What was measured at each setting, in the order of measurement.
    fn points(&self) -> &[Point];
    /// Its measurements by name, for comparing with another run.
    fn measured(&self) -> Vec<Measured>;
    fn capacities(&self, targets: usize) -> Vec<Capacity>;
    fn summary(&self) -> Summary;
}
