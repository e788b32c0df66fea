//! Whether the account of a server can use an archive: the server fetches the log itself, and another account may have archived or
//! received it.

use std::path::{Path, PathBuf};

use iostall_engine::files;
use iostall_host::{Account, System};
use iostall_model::backup::{Manifest, SourceRecord};

use super::directory::{partial_path, path_of};
use super::error::WalError;
use super::inventory::Inventory;
use super::name::{CLUSTER_FILE, WalName};
use super::place::is_object;
use super::point_error::{Denied, PointError};
use crate::backup::entry::{READ, RUN, barred_member, may};

/// A file that every data directory has, with the owner of all of them.
const OWNER: &[u8] = b"PG_VERSION";

/// The account that a restored server runs under.
#[derive(Clone, Debug)]
pub(in crate::backup) struct Reader {
    account: Account,
    groups: Vec<u32>,
}

impl Reader {
    /// One that a server is started under in no groups but its own.
    pub(in crate::backup) fn alone(account: Account) -> Self {
        Self { account, groups: Vec::new() }
    }

    /// Whose the files of `source` will be; `None` if that is whoever restores them, or an account that this machine does not know.
    pub(super) fn of_files(manifest: &Manifest, source: &SourceRecord) -> Option<Self> {
        if files::effective_user() != 0 {
            return None;
        }
        let prefix = source.prefix.as_bytes();
        let name = if prefix.is_empty() { OWNER.to_vec() } else { [prefix, b"/", OWNER].concat() };
        let file = manifest.files.iter().find(|file| file.name.as_bytes() == name)?;
        let system = System::here();
        let account = system.account(&file.metadata.uid.to_string()).filter(|account| account.user != 0)?;
        Some(Self { groups: system.groups_of(&account.name), account })
    }

    /// Checks that it can fetch everything from segment `first` on from the archive in `directory` with `program`.
    pub(super) fn check(
        &self,
        directory: &Path,
        inventory: &Inventory,
        first: u64,
        program: &Path,
    ) -> Result<(), PointError> {
        // A store asks for the keys that the server has in its environment, which nobody can know before.
        let own = (!is_object(directory)).then_some(directory);
        for place in [own, program.parent()].into_iter().flatten() {
            let barred = barred_member(&self.account, &self.groups, place);
            if let Some(path) = barred.map_err(WalError::system("look at", place))? {
                return Err(self.denied(Denied::Enter, path, 0));
            }
        }
        if !self.may(program, RUN)? {
            return Err(self.denied(Denied::Run, program.to_owned(), 0));
        }
        let mut unreadable = Vec::new();
        for path in own.into_iter().flat_map(|directory| needed(directory, inventory, first)) {
            if !self.may(&path, READ)? {
                unreadable.push(path);
            }
        }
        let others = unreadable.len().saturating_sub(1) as u64;
        unreadable.into_iter().next().map_or(Ok(()), |path| Err(self.denied(Denied::Read, path, others)))
    }

    fn may(&self, path: &Path, rights: u32) -> Result<bool, WalError> {
        may(&self.account, &self.groups, path, rights).map_err(WalError::system("look at", path))
    }

    fn denied(&self, what: Denied, path: PathBuf, others: u64) -> PointError {
        PointError::Denied { account: self.account.name.clone(), what, path, others }
    }
}

/// The files that a recovery may ask for, oldest segment first.
fn needed<'a>(
    directory: &'a Path,
    inventory: &'a Inventory,
    first: u64,
) -> impl Iterator<Item = PathBuf> + 'a {
    let histories = inventory.histories.keys();
    let histories = histories.map(|timeline| path_of(directory, WalName::History(*timeline)));
    let segments = inventory.segments.iter().filter(move |((_, number), _)| *number >= first);
    let segments = segments.map(|((timeline, number), segment)| {
        let name = inventory.name(*timeline, *number);
        if segment.is_partial {
            partial_path(directory, name)
        } else {
            path_of(directory, WalName::Segment(name))
        }
    });
    std::iter::once(directory.join(CLUSTER_FILE)).chain(histories).chain(segments)
}
