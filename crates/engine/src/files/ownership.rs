//! Gives files to another account.

use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Gid, Uid, chownat};

/// Gives `path`, and everything below it, to the account `user` and the group `group`. Links themselves are given away, never
/// what they lead to.
pub fn give_tree(path: &Path, user: u32, group: u32) -> io::Result<()> {
    let (owner, group_id) = (Uid::from_raw(user), Gid::from_raw(group));
    chownat(CWD, path, Some(owner), Some(group_id), AtFlags::SYMLINK_NOFOLLOW)?;
    if path.symlink_metadata()?.is_dir() {
        for entry in std::fs::read_dir(path)? {
            give_tree(&entry?.path(), user, group)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;
    use crate::files::{effective_group, effective_user};

    #[test]
    fn everything_below_is_given_away_and_nothing_that_a_link_leads_to() {
        let root = tempfile::tempdir().unwrap();
        let (outside, tree) = (root.path().join("outside"), root.path().join("tree"));
        std::fs::write(&outside, "mine").unwrap();
        std::fs::create_dir_all(tree.join("a/b")).unwrap();
        std::fs::write(tree.join("a/b/f"), "x").unwrap();
        symlink(&outside, tree.join("a/link")).unwrap();
        let mine = (effective_user(), effective_group());
        let theirs = if mine.0 == 0 { (65_534, 65_534) } else { mine };
        give_tree(&tree, theirs.0, theirs.1).unwrap();
        let owner = |path: &Path| {
            let stat = path.symlink_metadata().unwrap();
            (stat.uid(), stat.gid())
        };
        for name in ["", "a", "a/b", "a/b/f", "a/link"] {
            assert_eq!(owner(&tree.join(name)), theirs, "{name}");
        }
        assert_eq!(owner(&outside), mine);
        assert!(give_tree(&root.path().join("absent"), mine.0, mine.1).is_err());
    }
}
