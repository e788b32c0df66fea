//! Who this server is now: what it says of itself to a centre.

use std::path::Path;

use iostall_engine::files::stamp_of_path;
use iostall_host::System;
use sha2::{Digest as _, Sha256};

pub(crate) const PROGRAM_VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) host: String,
    /// A hash of the machine, its boot and the file that the store is in. A copy of a store or of its machine has another one, and once
    /// a server has another one, the earlier one does not come back.
    pub(crate) hash: String,
}

impl Instance {
    pub(crate) fn here(store: &Path) -> Self {
        let system = System::here();
        let host = system.host().hostname;
        let file = stamp_of_path(store).map(|stamp| format!("{}:{}", stamp.device, stamp.inode));
        let parts = [
            system.machine_id().unwrap_or_default(),
            system.boot_id().unwrap_or_default(),
            host.clone(),
            file.unwrap_or_default(),
        ];
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part.as_bytes());
        }
        let hash = digest.finalize().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        Self { host, hash }
    }
}
