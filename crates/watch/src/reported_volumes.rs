//! What sources themselves say of their volumes: kept beside their samples, until it is sent with them.

use std::collections::{BTreeMap, BTreeSet};

use iostall_host::System;
use iostall_model::Level;
use iostall_model::device::Placement;
use iostall_store::{CollectorState, History, Source, SourceId, StoreError};

use crate::destination::Destination;
use crate::error::WatchError;
use crate::state;

/// The document in the store: by the name of each source.
pub(crate) const STATE: &str = "volumes";

pub(crate) type Document = BTreeMap<String, Vec<Placement>>;

fn read(store: &impl CollectorState) -> Result<Document, StoreError> {
    Ok(state::read(store, STATE)?.unwrap_or_default())
}

pub(crate) fn put_reported(
    store: &mut impl CollectorState,
    name: &str,
    placements: &[Placement],
) -> Result<(), StoreError> {
    let mut all = read(store)?;
    if all.get(name).map_or(&[][..], Vec::as_slice) == placements {
        return Ok(());
    }
    all.insert(name.to_owned(), placements.to_vec());
    store.put_state(STATE, &serde_json::to_string(&all).unwrap_or_default())
}

pub(crate) fn reported(store: &impl CollectorState, name: &str) -> Result<Vec<Placement>, StoreError> {
    Ok(read(store)?.remove(name).unwrap_or_default())
}

#[derive(Debug, Default)]
pub(crate) struct Placed(BTreeMap<SourceId, Vec<Placement>>);

impl Placed {
    /// Sends what is under the volumes of `source`, unless `to` has heard the same. It has samples of it.
    pub(crate) fn send(
        &mut self,
        from: &(impl History + CollectorState),
        to: &mut impl Destination,
        source: &Source,
    ) -> Result<(), WatchError> {
        let Some(newest) = from.last_sample(source.id)? else { return Ok(()) };
        let volumes: BTreeSet<String> =
            newest.rows.iter().filter_map(|row| Level::Volumes.group(&row.subject)).collect();
        let system = System::here();
        let mut placements: Vec<Placement> =
            volumes.iter().filter_map(|volume| system.placement(volume)).collect();
        // What this host does not know, the source may.
        let said = reported(from, &source.name)?;
        let is_known = |one: &Placement| placements.iter().any(|known| known.volume == one.volume);
        let rest: Vec<Placement> = said.into_iter().filter(|one| !is_known(one)).collect();
        placements.extend(rest);
        if self.0.get(&source.id) != Some(&placements) {
            to.place(source.id, &placements)?;
            self.0.insert(source.id, placements);
        }
        Ok(())
    }
}
