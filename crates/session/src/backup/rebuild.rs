//! Makes the lost manifest of a backup again.

use std::path::PathBuf;

use iostall_transfer::backup::codec::Unlock;
use iostall_transfer::backup::rebuild::{Rebuilt, rebuild as rebuild_set};

use crate::error::SessionError;

pub struct RebuildRequest {
    pub stripes: Vec<PathBuf>,
    /// Where the manifest goes, if not beside the stripes.
    pub to: Option<PathBuf>,
    pub unlock: Option<Unlock>,
}

pub fn rebuild(request: &RebuildRequest) -> Result<Rebuilt, SessionError> {
    let RebuildRequest { stripes, to, unlock } = request;
    Ok(rebuild_set(stripes, unlock.as_ref(), to.as_deref(), env!("CARGO_PKG_VERSION"))?)
}
