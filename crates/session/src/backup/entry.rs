//! What an account may do with files and directories.

use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files;
use iostall_host::Account;

/// Rights as a mode has them for one class.
pub(super) const READ: u32 = 0o4;
pub(super) const ENTER: u32 = 0o1;
pub(super) const RUN: u32 = 0o5;

const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// The first directory, from `directory` up to the root, that `account` may not enter: an hour of restoring is too late to
/// find out.
pub(super) fn barred(account: &Account, directory: &Path) -> io::Result<Option<PathBuf>> {
    barred_member(account, &[], directory)
}

/// [`barred`] for an account that is also in these groups.
pub(super) fn barred_member(
    account: &Account,
    groups: &[u32],
    directory: &Path,
) -> io::Result<Option<PathBuf>> {
    let real = directory.canonicalize()?;
    for path in real.ancestors() {
        if !may(account, groups, path, ENTER)? {
            return Ok(Some(path.to_owned()));
        }
    }
    Ok(None)
}

/// Whether `account`, which is also in `groups`, has all of these rights. A list of rights beyond the mode counts as a yes: it is the
/// administrator's own doing.
pub(super) fn may(account: &Account, groups: &[u32], path: &Path, rights: u32) -> io::Result<bool> {
    let stamp = files::stamp_of_path(path)?;
    let is_owner = stamp.uid == account.user;
    let class = if is_owner {
        6
    } else if stamp.gid == account.group || groups.contains(&stamp.gid) {
        3
    } else {
        0
    };
    Ok((stamp.mode >> class) & rights == rights || (!is_owner && has_access_list(path)))
}

fn has_access_list(path: &Path) -> bool {
    let attributes = files::attributes_of_link(path);
    attributes.is_ok_and(|(all, _)| all.iter().any(|attribute| attribute.name == ACCESS_LIST))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    fn nobody() -> Account {
        Account { name: "nobody".to_owned(), user: 65_534, group: 65_534 }
    }

    #[test]
    fn a_directory_that_only_its_owner_enters_bars_everybody_else() {
        let directory = tempfile::tempdir_in("/tmp").unwrap();
        let inside = directory.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        let account = nobody();
        let set =
            |mode| std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        set(0o700);
        assert_eq!(barred(&account, &inside).unwrap(), Some(directory.path().canonicalize().unwrap()));
        set(0o711);
        assert_eq!(barred(&account, &inside).unwrap(), None);
    }

    #[test]
    fn a_file_is_read_by_its_owner_by_its_group_and_by_whom_it_is_open_to() {
        let directory = tempfile::tempdir_in("/tmp").unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "").unwrap();
        let (own, group) = (std::fs::metadata(&path).unwrap().uid(), std::fs::metadata(&path).unwrap().gid());
        let set = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let reads = |account: &Account, groups: &[u32]| may(account, groups, &path, READ).unwrap();
        let owner = Account { name: "owner".to_owned(), user: own, group: 65_534 };
        set(0o600);
        assert!(reads(&owner, &[]) && !reads(&nobody(), &[]) && !reads(&nobody(), &[group]));
        set(0o640);
        assert!(!reads(&nobody(), &[]) && reads(&nobody(), &[group]));
        set(0o044);
        assert!(
            reads(&nobody(), &[]) && !reads(&owner, &[]),
            "what is open to others is not open to its owner"
        );
    }
}
