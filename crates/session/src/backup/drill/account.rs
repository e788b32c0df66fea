//! The account that a server is started under: never root.

use std::path::Path;

use iostall_engine::files;
use iostall_host::{Account, System};

use super::error::DrillError;
use crate::backup::entry::barred;

/// The account for the server: `None` if it is our own. As root it is the one that was named, or the `usual` one for this engine,
/// or `owner`, whose the files in the backup are.
pub(super) fn choose(
    named: Option<&str>,
    usual: &str,
    owner: Option<(u32, u32)>,
) -> Result<Option<Account>, DrillError> {
    choose_of(&System::here(), files::effective_user(), named, usual, owner)
}

fn choose_of(
    system: &System,
    ours: u32,
    named: Option<&str>,
    usual: &str,
    owner: Option<(u32, u32)>,
) -> Result<Option<Account>, DrillError> {
    let found = |name: &str| system.account(name).filter(|account| account.user != 0);
    match named {
        Some(name) if ours != 0 => match system.account(name) {
            Some(account) if account.user == ours => Ok(None),
            _ => Err(DrillError::NotRoot { name: name.to_owned() }),
        },
        Some(name) => found(name).map(Some).ok_or_else(|| DrillError::NoAccount { name: name.to_owned() }),
        None if ours != 0 => Ok(None),
        None => {
            let owner = owner.filter(|(user, _)| *user != 0).map(|(user, group)| Account {
                name: user.to_string(),
                user,
                group,
            });
            let account = found(usual).or(owner);
            account.map(Some).ok_or_else(|| DrillError::NoAccount { name: usual.to_owned() })
        }
    }
}

/// Checks that `account` may enter `directory` and all directories above it: an hour of restoring is too late to find out.
pub(super) fn check_entry(account: &Account, directory: &Path) -> Result<(), DrillError> {
    match barred(account, directory).map_err(DrillError::system("use", directory))? {
        Some(path) => Err(DrillError::Barred { account: account.name.clone(), path }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(passwd: &str) -> (tempfile::TempDir, System) {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("etc")).unwrap();
        std::fs::write(root.path().join("etc/passwd"), passwd).unwrap();
        let system = System::at(root.path());
        (root, system)
    }

    const USUAL: &str = "postgres";
    const PASSWD: &str =
        "root:x:0:0::/root:/bin/sh\npostgres:x:105:110::/:/bin/sh\nme:x:1000:1000::/:/bin/sh\n";

    #[test]
    fn as_root_the_server_runs_under_the_named_the_usual_or_the_owners_account() {
        let (_root, system) = machine(PASSWD);
        let user =
            |named, owner| choose_of(&system, 0, named, USUAL, owner).map(|account| account.unwrap().user);
        assert_eq!(user(Some("me"), None).unwrap(), 1000);
        assert_eq!(user(None, Some((70, 70))).unwrap(), 105, "numbers of another machine mean others here");
        for named in ["nobody-here", "root", "0"] {
            let error = user(Some(named), Some((70, 70))).unwrap_err();
            assert!(matches!(error, DrillError::NoAccount { .. }) && error.hint().is_some(), "{named}");
        }
        let (_root, bare) = machine("root:x:0:0::/root:/bin/sh\n");
        let owned = choose_of(&bare, 0, None, USUAL, Some((70, 71))).unwrap().unwrap();
        assert_eq!((owned.user, owned.group), (70, 71));
        for owner in [None, Some((0, 0))] {
            assert!(matches!(choose_of(&bare, 0, None, USUAL, owner), Err(DrillError::NoAccount { .. })));
        }
    }

    #[test]
    fn without_root_it_is_our_own_account_and_no_other() {
        let (_root, system) = machine(PASSWD);
        assert_eq!(choose_of(&system, 1000, None, USUAL, Some((70, 70))).unwrap(), None);
        assert_eq!(choose_of(&system, 1000, Some("me"), USUAL, None).unwrap(), None);
        let error = choose_of(&system, 1000, Some("postgres"), USUAL, None).unwrap_err();
        assert!(matches!(error, DrillError::NotRoot { .. }), "{error}");
    }
}
