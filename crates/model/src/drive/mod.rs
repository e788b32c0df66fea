//! How long a solid-state drive lasts: what it says of its own wear, what its data sheet promises, and what follows.

mod endurance;
mod history;
mod plausibility;
mod projection;
mod raid;
mod rating;
mod reading;
#[cfg(test)]
mod tests;

pub use endurance::{DriveState, Endurance, Planned, endurance};
pub use history::{DriveHistory, WearInterval, WriteRates};
pub use plausibility::Found;
pub use projection::{DaysBand, Route, RouteName};
pub use raid::{RaidError, RaidShare};
pub use rating::{Converted, DriveRating, RatingError};
pub use reading::{CountedBytes, CountedPercent, DriveIdentity, DriveLink, DriveReading, Wear};
