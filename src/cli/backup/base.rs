//! What an increment is based on.

use std::path::PathBuf;

use clap::Args;
use iostall_session::backup::base::BaseRequest;
use iostall_transfer::backup::codec::{Lock, Unlock};

/// Which set a new backup is compared with.
#[derive(Debug, Args)]
pub(crate) struct BaseArgs {
    /// Store only what differs from this backup: a set, or a directory with the newest one of the same source in it; stripes or
    /// directories that belong to it may be named, too
    #[arg(long, value_name = "SET", help_heading = "What")]
    pub(crate) base: Vec<PathBuf>,
    /// A file with a secret key of age that opens an encrypted --base; may be repeated
    #[arg(long, value_name = "FILE", requires = "base", help_heading = "Encryption")]
    pub(crate) key_file: Vec<PathBuf>,
}

impl BaseArgs {
    /// `None` for a whole backup. A passphrase is that of both sets.
    pub(crate) fn request(&self, lock: Option<&Lock>) -> Option<BaseRequest> {
        let of_lock = || match lock {
            Some(Lock::Passphrase(passphrase)) => Some(Unlock::Passphrase(passphrase.clone())),
            Some(Lock::Recipients(_)) | None => None,
        };
        let keys = (!self.key_file.is_empty()).then(|| Unlock::KeyFiles(self.key_file.clone()));
        let unlock = keys.or_else(of_lock);
        (!self.base.is_empty()).then(|| BaseRequest { from: self.base.clone(), unlock })
    }
}

/// Where the sets are that an increment is based on.
#[derive(Debug, Args)]
pub(crate) struct BasePlaces {
    /// Where the backups are that an increment is based on, if not beside it or where they were: directories, or the sets; may be
    /// repeated
    #[arg(long, value_name = "PLACE", help_heading = "What")]
    pub(crate) base: Vec<PathBuf>,
}
