//! Alerts: rules on sampled data, and when to notify.
//!
//! [`RuleEvaluator`] takes the changes of every sample and the current time, and returns notices. Sending
//! them is up to the caller.
//!
//! The evaluation rules, each covered by a test:
//!
//! 1. A group of rows is over its limit if its value in an interval is above the threshold of its
//!    storage class and the interval had enough operations to be meaningful.
//! 2. It is pending while consecutive intervals over the limit cover less than the sustained time, and
//!    firing from then on. It is resolved when consecutive intervals within the limit cover the
//!    clearing time, or when the group is gone.
//! 3. A reset, a gap, and an interval across a gap say nothing: the sustained time starts again after
//!    them, and a firing alert keeps firing.
//! 4. Nobody is notified in mute hours. If an alert starts firing in them and is still firing at their
//!    end, it is notified then; if one is resolved in them, this is notified at their end, provided
//!    that its firing was notified.
//! 5. What fires or is resolved at once in one group (a volume of a source, unless the rule says otherwise) is one
//!    notice, with the count and the worst few.
//! 6. A rule about drills of backups goes by the calendar: it fires as long as the last good drill is older than the sustained
//!    time, and at once where there never was one.
//! 7. A rule about backups of databases does the same for each database, by what the server's own history says. A database that never
//!    was backed up counts from when it was made. Where the history cannot be read, nothing changes.
//! 8. A restart of the collector changes nothing for those who were notified: what fires is not sent again, and
//!    what has ended meanwhile is resolved. An alert whose rule or source is gone is resolved, too.

mod class;
mod evaluator;
mod instance;
mod mute;
mod notice;
mod reach;
mod rule;
mod volume_limit;

pub use class::{Match, RuleSource, StorageClass};
pub use evaluator::RuleEvaluator;
pub use mute::{MuteHours, Now};
pub use notice::{About, Notice, Occasion, SavedAlert, SavedTimes};
pub use reach::kinds_of;
pub use rule::{Condition, GoodDrill, Grouping, LastDrill, Measured, Rule, RuleBook};
pub use volume_limit::VolumeLimit;
