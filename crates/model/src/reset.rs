//! Reasons for resets of counters.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why two readings of a row cannot be subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum ResetReason {
    /// The server restarted, and its counters with it.
    Restart = 1,
    /// The statistics were reset.
    StatisticsReset = 2,
    /// The file or device was closed and reopened.
    Reattach = 3,
    IdentityChange = 4,
    /// A counter of limited width wrapped, and the true difference is unknown.
    Wrap = 5,
    /// A different version, in which the columns may mean something else.
    Upgrade = 6,
    /// The interval's length is unknown: the clock of the samples changed or went back.
    ClockChange = 7,
    /// Moved to another volume, so that its I/O cannot be attributed to either.
    Move = 8,
}

impl ResetReason {
    /// Every reason.
    pub const ALL: [Self; 8] = [
        Self::Restart,
        Self::StatisticsReset,
        Self::Reattach,
        Self::IdentityChange,
        Self::Wrap,
        Self::Upgrade,
        Self::ClockChange,
        Self::Move,
    ];

    /// One sentence for people.
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

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Restart => "restart",
            Self::StatisticsReset => "statistics-reset",
            Self::Reattach => "reattach",
            Self::IdentityChange => "identity-change",
            Self::Wrap => "wrap",
            Self::Upgrade => "upgrade",
            Self::ClockChange => "clock-change",
            Self::Move => "move",
        }
    }
}

impl fmt::Display for ResetReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
