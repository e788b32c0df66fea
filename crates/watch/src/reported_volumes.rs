//! What sources themselves say of their volumes: kept beside their samples, until it is sent with them.

use std::collections::BTreeMap;

use iostall_model::device::Placement;
use iostall_store::{CollectorState, StoreError};

/// The document in the store: by the name of each source.
const STATE: &str = "volumes";

type Document = BTreeMap<String, Vec<Placement>>;

fn read(store: &impl CollectorState) -> Result<Document, StoreError> {
    let text = store.state(STATE)?;
    // One that was damaged by hand is made again when sources are read.
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
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
