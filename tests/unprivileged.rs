//! The account without rights that servers run under where the tests are root's.

use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;
use std::process::Command;

const NOBODY: u32 = 65_534;

pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

/// Gives `path` to that account.
pub(crate) fn give(path: &Path) {
    if is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

/// `program` under that account. Another program changes the account: `Command::uid` would have the kernel copy the page tables
/// of this process for each child, and tests that ask a server a thousand times spent most of their time on that.
pub(crate) fn unprivileged(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("/usr/bin/setpriv");
    let account = NOBODY.to_string();
    command.args(["--reuid", &account, "--regid", &account, "--clear-groups", "--"]).arg(program);
    command
}
