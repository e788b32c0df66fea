//! What all parts of one copy share and none changes.

use iostall_engine::guard::Destinations;
use iostall_measure::MonotonicClock;

use super::options::CopyOptions;
use super::part::{Named, Replace};
use crate::progress::Progress;

/// The request of a copy, and what it looks at and reports to meanwhile.
pub(super) struct CopyContext<'a> {
    pub(super) options: &'a CopyOptions,
    pub(super) progress: &'a Progress,
    pub(super) clock: MonotonicClock,
    pub(super) destinations: Destinations,
    pub(super) named: Named,
}

impl<'a> CopyContext<'a> {
    pub(super) fn new(options: &'a CopyOptions, progress: &'a Progress) -> Self {
        let destinations = Destinations::new(&options.consent);
        Self { options, progress, clock: MonotonicClock::new(), destinations, named: Named::default() }
    }

    /// What becomes of files that are at the destination.
    pub(super) fn replace(&self) -> Replace<'_> {
        if self.options.overwrite { Replace::Older(&self.named, &self.destinations) } else { Replace::Never }
    }
}
