//! Watched files, databases, volumes and servers in a window of time, and how they changed between two
//! windows.

mod comparison;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
mod group;
mod interval;
mod report;
mod series;
mod source_history;
mod volumes;
mod window;

pub use comparison::{Overall, Pair, Presence, Values, WatchComparison, stall_ns_at_mix};
pub use group::{Group, GroupKey, key_of};
pub use interval::{Grain, Interval};
pub use report::{Shown, WatchReport, share_of};
pub use series::{Broken, Cause, Line, Mark, Piece, WatchSeries};
pub use source_history::{BackupAges, GapRun, SourceHistory, Unread};
pub use volumes::OnVolumes;
pub use window::{Order, WatchWindow};
