//! The central repository of a fleet, by its URL.

use iostall_collect::Address;
use iostall_store::{InitialisedRepository, PostgresHistory, StoreError};

use crate::error::WatchError;
use crate::named::{AskPassword, NamedSource};

/// Creates the repository in the database at `url`, or upgrades its tables.
pub fn initialise_repository(url: &str, ask: AskPassword<'_>) -> Result<InitialisedRepository, WatchError> {
    let place = place(url, ask)?;
    Ok(PostgresHistory::initialise(&place.address, &place.secret).map_err(StoreError::from)?)
}

fn place(url: &str, ask: AskPassword<'_>) -> Result<NamedSource, WatchError> {
    let address: Address = url.parse()?;
    NamedSource::at(address, ask)
}
