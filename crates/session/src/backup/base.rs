//! The set that a backup is an increment on.

use std::path::PathBuf;
use std::sync::Arc;

use iostall_model::Identity;
use iostall_model::backup::Manifest;
use iostall_model::identity::key_of;
use iostall_transfer::backup::catalog::{FoundSet, Place, ScanError, SetState, scan};
use iostall_transfer::backup::codec::Unlock;
use iostall_transfer::backup::create::{Base, CreateError};
use iostall_transfer::backup::read::{OpenSet, open};

use crate::error::SessionError;

#[derive(Clone, Debug)]
pub struct BaseRequest {
    /// The manifest or stripes of one set; or directories, of which the newest whole set of the same source is taken.
    pub from: Vec<PathBuf>,
    pub unlock: Option<Unlock>,
}

impl BaseRequest {
    /// Reads what is needed of the set. `sources` are those of the backup as they are named, and what they are is asked only to choose.
    pub(super) fn open(
        &self,
        sources: &[String],
        identities: impl FnOnce() -> Result<Vec<Identity>, SessionError>,
    ) -> Result<(Arc<OpenSet>, Arc<Base>), SessionError> {
        let from = if self.are_directories()? {
            self.newest_of(sources, &identities()?)?
        } else {
            self.from.clone()
        };
        let set = open(&from, self.unlock.as_ref()).map_err(CreateError::Base)?;
        let base = Base::of(&set)?;
        Ok((Arc::new(set), Arc::new(base)))
    }

    fn are_directories(&self) -> Result<bool, CreateError> {
        let (mut directory, mut file) = (None, None);
        for path in &self.from {
            match Place::at(path).map_err(CreateError::system("look at", path))? {
                Place::Missing => return Err(CreateError::MissingBase { path: path.clone() }),
                Place::Directory => directory = Some(path),
                Place::File => file = Some(path),
            }
        }
        match (directory, file) {
            (Some(directory), Some(file)) => {
                Err(CreateError::MixedBase { directory: directory.clone(), file: file.clone() })
            }
            (directory, _) => Ok(directory.is_some()),
        }
    }

    fn newest_of(&self, sources: &[String], identities: &[Identity]) -> Result<Vec<PathBuf>, CreateError> {
        let found = scan(&self.from, self.unlock.as_ref()).map_err(|error| match error {
            ScanError::Directory { directory: path, source } => {
                CreateError::System { verb: "look through", path, source }
            }
            ScanError::File { path, source } => CreateError::System { verb: "read", path, source },
        })?;
        let source = key_of(identities);
        let is_it = |found: &&FoundSet| {
            let of_found = found.manifest.as_ref().and_then(Manifest::source_key);
            let of_source = source.is_some() && of_found == source;
            // Stripes in other directories are found where the manifest says, or named then.
            of_source && matches!(found.state(), SetState::Whole | SetState::Elsewhere(_))
        };
        let newest = found.iter().filter(is_it).max_by_key(|found| (found.created_unix_ns, found.set));
        let newest = newest.ok_or_else(|| CreateError::NoBase {
            directories: self
                .from
                .iter()
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>()
                .join(" "),
            source_text: sources.join(", "),
        })?;
        let stripes = newest.stripes.iter().filter(|stripe| !stripe.is_unfinished);
        let stripes = stripes.map(|stripe| stripe.path.clone());
        Ok(newest.manifests.iter().take(1).cloned().chain(stripes).collect())
    }
}
