//! Alerts: rules over what watched things do, and when one is to be told.
//!
//! [`Judge`] takes the changes of every sample and a clock that it is handed, and gives notices. It sends nothing:
//! where a notice goes is not its business.
//!
//! What is judged, each of it a test:
//!
//! 1. A thing is over when its value in an interval is above the threshold of its class of storage, and the
//!    interval held enough operations to mean anything.
//! 2. An alert begins when intervals that are over, one after the other, cover the sustained time. It ends when
//!    intervals that are not, one after the other, cover the clearing time, or when the thing is gone.
//! 3. A reset, a gap, and an interval over a gap say nothing: the sustained time begins anew after them, and an
//!    alert that has begun stays.
//! 4. In quiet hours nothing is told. What has begun then is told at their end, if it lasts; what has ended then
//!    is told at their end, if its beginning was told.

mod class;
mod judge;
mod notice;
mod now;
mod quiet;
mod rule;
mod thing;

pub use class::{Match, StorageClass};
pub use judge::Judge;
pub use notice::{About, Notice, Occasion};
pub use now::Now;
pub use quiet::QuietHours;
pub use rule::{Condition, Measured, Rule, RuleBook};
