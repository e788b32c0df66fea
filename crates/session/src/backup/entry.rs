//! Whether an account may enter a directory.

use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileStamp};
use iostall_host::Account;

/// The first directory, from `directory` up to the root, that `account` may not enter: an hour of restoring is too late to
/// find out.
pub(super) fn barred(account: &Account, directory: &Path) -> io::Result<Option<PathBuf>> {
    let real = directory.canonicalize()?;
    for path in real.ancestors() {
        if !may_enter(account, &files::stamp_of_path(path)?) {
            return Ok(Some(path.to_owned()));
        }
    }
    Ok(None)
}

fn may_enter(account: &Account, stamp: &FileStamp) -> bool {
    let bit = if stamp.uid == account.user {
        0o100
    } else if stamp.gid == account.group {
        0o010
    } else {
        0o001
    };
    stamp.mode & bit != 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_directory_that_only_its_owner_enters_bars_everybody_else() {
        let directory = tempfile::tempdir_in("/tmp").unwrap();
        let inside = directory.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        let account = Account { name: "nobody".to_owned(), user: 65_534, group: 65_534 };
        let set =
            |mode| std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        set(0o700);
        assert_eq!(barred(&account, &inside).unwrap(), Some(directory.path().canonicalize().unwrap()));
        set(0o711);
        assert_eq!(barred(&account, &inside).unwrap(), None);
    }
}
