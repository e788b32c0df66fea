//! Documents of a collector in its store.

use iostall_store::{CollectorState, StoreError};
use serde::de::DeserializeOwned;

/// What the document of that name says; `None` if there is none. One that is not understood is no empty one: that would forget alerts that
/// are firing, and send again what was sent.
pub(crate) fn read<T: DeserializeOwned>(
    store: &impl CollectorState,
    name: &str,
) -> Result<Option<T>, StoreError> {
    let Some(text) = store.state(name)? else { return Ok(None) };
    let read = serde_json::from_str(&text);
    read.map(Some).map_err(|_| StoreError::State { name: name.to_owned() })
}
