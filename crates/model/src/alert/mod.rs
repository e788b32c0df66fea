//! Alerts: rules over what was sampled, and when somebody is notified.
//!
//! [`RuleEvaluator`] takes the changes of every sample and a clock that it is handed, and gives notices. It sends nothing:
//! where a notice goes is not its business.
//!
//! The rules of evaluation, each of them a test:
//!
//! 1. A group of rows is over when its value in an interval is above the threshold of its class of storage, and the
//!    interval held enough operations to mean anything.
//! 2. It is pending while intervals that are over, one after the other, cover less than the sustained time, and firing
//!    from then on. It is resolved when intervals that are not over, one after the other, cover the clearing time, or
//!    when the group is gone.
//! 3. A reset, a gap, and an interval over a gap say nothing: the sustained time starts again after them, and an
//!    alert that is firing goes on firing.
//! 4. In muted hours nobody is notified. Of an alert that starts firing then, people are notified at their end if it
//!    still fires; of one that is resolved then, at their end, if they were notified that it was firing.

mod class;
mod evaluator;
mod instance;
mod mute;
mod notice;
mod now;
mod rule;

pub use class::{Match, StorageClass};
pub use evaluator::RuleEvaluator;
pub use mute::MuteHours;
pub use notice::{About, Notice, Occasion};
pub use now::Now;
pub use rule::{Condition, Measured, Rule, RuleBook};
