//! Which devices of this host are under the volumes of a source, as a destination has heard it.

use std::collections::{BTreeMap, BTreeSet};

use iostall_host::System;
use iostall_model::Level;
use iostall_model::device::Placement;
use iostall_store::{History, SourceId};

use crate::destination::Destination;
use crate::error::WatchError;

/// What a destination has heard.
#[derive(Debug, Default)]
pub(crate) struct Placed(BTreeMap<SourceId, Vec<Placement>>);

impl Placed {
    /// Sends what is under the volumes of `source`, unless `to` has heard the same. It has samples of it.
    pub(crate) fn send(
        &mut self,
        from: &impl History,
        to: &mut impl Destination,
        source: SourceId,
    ) -> Result<(), WatchError> {
        let Some(newest) = from.last_sample(source)? else { return Ok(()) };
        let volumes: BTreeSet<String> =
            newest.rows.iter().filter_map(|row| Level::Volumes.group(&row.subject)).collect();
        let system = System::here();
        let placements: Vec<Placement> =
            volumes.iter().filter_map(|volume| system.placement(volume)).collect();
        if self.0.get(&source) != Some(&placements) {
            to.place(source, &placements)?;
            self.0.insert(source, placements);
        }
        Ok(())
    }
}
