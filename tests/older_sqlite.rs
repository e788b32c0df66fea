//! Opening the store with other versions of SQLite.

use std::process::Command;

use crate::support::{Workspace, skip};

/// A DBA opened the store with Debian 12's `sqlite3`, then with Python: "malformed database schema
/// (run_entry)".
#[test]
fn the_store_opens_in_the_sqlite_that_people_have() {
    let here = Workspace::new();
    here.run(&[
        "load",
        "--engine",
        "null",
        "--duration",
        "100ms",
        "--warmup",
        "0",
        "--name",
        "night",
        "t.dat",
    ])
    .expect_status(0);
    let store = here.path("store.db");
    let query = include_str!("older_sqlite.sql");
    let python = format!(
        "import sqlite3\nfor row in sqlite3.connect({:?}).execute({query:?}): print(*row, sep='|')",
        store.to_str().unwrap()
    );
    let mut shell = Command::new("sqlite3");
    shell.arg(&store).arg(query);
    let mut module = Command::new("python3");
    module.args(["-c", &python]);
    let mut asked = 0;
    for mut program in [shell, module] {
        let Ok(output) = program.output() else { continue };
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("No module named") {
            continue;
        }
        assert!(output.status.success(), "{program:?}: {said}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "1|night|[\"null\"]\n", "{program:?}");
        asked += 1;
    }
    if asked == 0 {
        skip(
            "older_sqlite::the_store_opens_in_the_sqlite_that_people_have",
            "neither sqlite3 nor python3 is installed",
        );
    }
}
