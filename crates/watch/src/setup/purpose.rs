//! What a collector's file is for.

use std::time::Duration;

use iostall_store::Retention;
use jiff::SignedDuration;

/// How long samples are kept that the repository has: a connection that is lost just then must not cost them.
const KEEP_PULLED: Duration = Duration::from_secs(3600);
/// Roll-ups of what the repository has, which makes its own.
const KEEP_PULLED_ROLLUPS: SignedDuration = SignedDuration::from_hours(48);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The history stays in the store.
    Collect,
    /// It is sent to a repository, and belongs to the servers of the sources.
    Pull,
}

impl Purpose {
    /// How long raw samples are kept where the file does not say it; `usual` for a collector.
    pub(super) fn keep_raw(self, usual: Duration) -> Duration {
        match self {
            Self::Collect => usual,
            Self::Pull => KEEP_PULLED,
        }
    }

    /// How long everything is kept, if raw samples are kept for so long.
    pub(crate) fn retention(self, keep_raw: Duration) -> Retention {
        let raw = SignedDuration::try_from(keep_raw).unwrap_or(SignedDuration::MAX);
        match self {
            Self::Collect => Retention { raw, ..Retention::default() },
            Self::Pull => {
                let rollups = KEEP_PULLED_ROLLUPS.max(raw);
                Retention { raw, hours: rollups, days: Some(rollups) }
            }
        }
    }
}
