//! Reasons for resets of counters.

use iostall_measure::named;
use serde::{Deserialize, Serialize};

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[repr(u8)]
    pub enum ResetReason {
        Restart = "restart" => 1,
        StatisticsReset = "statistics-reset" => 2,
        Reattach = "reattach" => 3,
        IdentityChange = "identity-change" => 4,
        /// A counter of limited width wrapped, and the true difference is unknown.
        Wrap = "wrap" => 5,
        /// A different version, in which the columns may mean something else.
        Upgrade = "upgrade" => 6,
        /// The interval's length is unknown: the clock of the samples changed or went back.
        ClockChange = "clock-change" => 7,
        /// Moved to another volume, so that its I/O cannot be attributed to either.
        Move = "move" => 8,
    }
}

impl ResetReason {
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Restart => "the server restarted and its counters began at zero",
            Self::StatisticsReset => "the statistics were reset",
            Self::Reattach => "the file or device was closed and opened again",
            Self::IdentityChange => "another object now has this name",
            Self::Wrap => "a counter passed the end of its width",
            Self::Upgrade => "another version of the server answers",
            Self::ClockChange => "the clock that times the samples changed",
            Self::Move => "it was moved to another volume",
        }
    }
}
