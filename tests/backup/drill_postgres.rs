//! A PostgreSQL server from end to end: backed up under load, verified, restored, started, and drilled.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::create::{names, shelves};
use crate::postgres::Postgres;
use crate::running::Running;
use crate::support::{Workspace, skip, until};

const ACCOUNTS: &str = include_str!("../sql/drill_orders.sql");
const COUNT: &str = include_str!("../sql/drill_count.sql");
const IN_BACKUP: &str = include_str!("../sql/drill_in_backup.sql");

struct Case {
    here: Workspace,
    server: Postgres,
    /// For scratch directories, where the server's account may go.
    scratch: tempfile::TempDir,
    url: String,
}

impl Case {
    /// A server with a few megabytes; `None` if PostgreSQL is not installed.
    fn new() -> Option<Self> {
        let Some(server) = Postgres::start() else {
            skip("backup::drill_postgres", "PostgreSQL 15 is not installed");
            return None;
        };
        let here = Workspace::new();
        shelves(&here);
        let password = here.secret("password", "right\n");
        let scratch = tempfile::tempdir().unwrap();
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
        server.sql(ACCOUNTS);
        let url = server.url("postgres", &password);
        Some(Self { here, server, scratch, url })
    }

    fn drill<'a>(&'a self, rest: &[&'a str]) -> Vec<&'a str> {
        let scratch = self.scratch.path().to_str().unwrap();
        let role =
            if rest.iter().any(|word| word.starts_with("--role")) { &[][..] } else { &["--role", "mon"] };
        [&["backup", "drill", "--scratch", scratch][..], role, rest].concat()
    }

    fn create(&self, name: &str) -> Vec<String> {
        let (one, two) = (format!("b1/{name}.iob"), format!("b2/{name}.iob"));
        ["backup", "create", "--to", &one, "--to", &two, "--json", "b.json", &self.url]
            .map(str::to_owned)
            .to_vec()
    }

    fn left(&self) -> Vec<String> {
        names(self.scratch.path())
    }

    /// A drill that asks the server for something that never ends, and the id of that server.
    fn endless(&self) -> (Running, String) {
        let drill = self.here.start(&self.drill(&["--check=SELECT pg_sleep(86400)", "b1", "b2"]));
        let id = until("the server of the drill", || {
            let own = self.left().pop()?;
            let id =
                fs::read_to_string(self.scratch.path().join(own).join("restored/postmaster.pid")).ok()?;
            id.lines().next().filter(|line| !line.is_empty()).map(str::to_owned)
        });
        (drill, id)
    }
}

/// Whether the process still runs a program: one that nobody has waited for has no words any more.
fn runs(id: &str) -> bool {
    fs::read(Path::new("/proc").join(id).join("cmdline")).is_ok_and(|words| !words.is_empty())
}

fn check<'a>(run: &'a Value, name: &str) -> &'a Value {
    let checks = run["backup-drill"]["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name}: {checks:?}"))
}

fn strs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// The story: the backup had been made every night, and nobody knew whether a server would start from it, what it would hold,
/// and how long that would take.
#[test]
fn a_server_under_load_is_backed_up_verified_restored_and_drilled() {
    let Some(case) = Case::new() else { return };
    let (here, server) = (&case.here, &case.server);
    let users = server.users();
    let count = |server: &Postgres| server.value(COUNT).parse::<u64>().unwrap_or(0);
    until("orders", || (count(server) > 20).then_some(()));
    let mut committed = count(server);
    let mut create = here.start(&strs(&case.create("a")));
    // Orders that were committed before the end of the backup, as the server itself sees that end.
    while !create.has_ended() {
        let seen = count(server);
        if server.value(IN_BACKUP) == "1" {
            committed = committed.max(seen);
        }
    }
    create.ended().expect_status(0);
    let after = count(server);
    drop(users);
    here.run(&["backup", "verify", "b1/a.iob", "b2/a.iob"]).expect_status(0);

    let place = Postgres::place();
    let data: PathBuf = place.path().join("data");
    here.run(&["backup", "restore", "b1/a.iob", "b2/a.iob", "--to", data.to_str().unwrap()]).expect_status(0);
    let copy = Postgres::on(place);
    let there = count(&copy);
    assert!((committed..=after).contains(&there), "{committed} <= {there} <= {after}");
    copy.passes("pg_amcheck", &["--install-missing", "--heapallindexed"]);
    copy.check_pages();

    let check_sql = "--check=SELECT count(*) = 30000 FROM public.account";
    let ran = here.run(&case.drill(&["--json", "d.json", check_sql, "b1", "b2"])).expect_status(0);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("time to recover") && said.contains("every check passed"), "{said}");
    let run = here.json("d.json");
    for name in ["content", "recovery", "amcheck of postgres", "pages"] {
        assert_eq!(check(&run, name)["state"], "passed", "{name}: {run}");
    }
    let outcome = &run["backup-drill"];
    assert!(outcome["engines"][0].as_str().unwrap().starts_with("PostgreSQL 15."), "{outcome}");
    for key in ["restore_ns", "start_ns", "checks_ns", "elapsed_ns", "bytes"] {
        assert!(outcome[key].as_u64().unwrap() > 0, "{key}: {outcome}");
    }
    assert_eq!(case.left(), [""; 0]);
    // In the store, where the next one is compared with it.
    assert!(here.run(&["runs"]).expect_status(0).stdout.contains("backup-drill"));
    let list: Value = serde_json::from_str(&here.run(&["backup", "list", "--json"]).stdout).unwrap();
    assert_eq!(list[0]["proof"], "drilled");
}

/// The story: the disk had lost a page in spring. Every backup since held it, and every one of them was whole.
#[test]
fn a_page_that_was_damaged_before_the_backup_fails_the_drill_and_is_named() {
    let Some(case) = Case::new() else { return };
    let file = case.server.value(include_str!("../sql/drill_file.sql"));
    let path = case.server.data().join(&file);
    let mut bytes = fs::read(&path).unwrap();
    bytes[8192 * 5 + 4000] ^= 0x10;
    fs::write(&path, bytes).unwrap();
    let made = case.here.run(&strs(&case.create("a")));
    let said = [made.stdout, made.stderr].concat();
    assert!(
        said.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains(&format!("{file} block 5 has a wrong checksum")),
        "{said}"
    );
    let ran = case.here.run(&case.drill(&["--json", "d.json", "b1", "b2"])).expect_status(1);
    assert!(ran.stdout.contains("THE DRILL FAILED"), "{}", ran.stdout);
    let run = case.here.json("d.json");
    let pages = check(&run, "pages");
    assert_eq!(pages["state"], "failed");
    let wanted = format!("{file}: page 5 (at offset 40960) has a wrong checksum");
    assert_eq!(pages["detail"].as_str().unwrap(), wanted);
    let heap = check(&run, "amcheck of postgres");
    assert_eq!(heap["state"], "failed");
    assert!(heap["detail"].as_str().unwrap().contains("public.account: invalid page in block 5"), "{heap}");
    assert_eq!(case.left(), [""; 0]);
    // The content of the set itself is as it was written: another answer than that of a damaged backup.
    let list: Value = serde_json::from_str(&case.here.run(&["backup", "list", "--json"]).stdout).unwrap();
    assert_ne!(list[0]["proof"], "drilled");
}

#[test]
fn what_the_user_asks_for_must_be_true_and_a_library_that_is_missing_is_named() {
    let Some(case) = Case::new() else { return };
    case.here.run(&strs(&case.create("a"))).expect_status(0);
    for (asked, words) in [
        ("--check=SELECT count(*) > 30000 FROM public.account", "it is not true"),
        ("--check=SELECT count(*) > 0 FROM account", "with its schema"),
        ("--check=SELECT 1 FROM nowhere", "relation \"nowhere\" does not exist"),
        ("--set=shared_preload_libraries=pg_no_such", "needs the library pg_no_such"),
        ("--role=nobody_here", "--role names a superuser"),
    ] {
        let ran = case.here.run(&case.drill(&[asked, "b1", "b2"]));
        let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(ran.status == Some(1) && said.contains(words), "{asked}: {said}{}", ran.stderr);
        assert_eq!(case.left(), [""; 0], "{asked}");
    }
    for (asked, words) in
        [("--engine-dir=/nonexistent", "--engine-dir"), ("--user=no_such_account", "no_such_account")]
    {
        let ran = case.here.run(&case.drill(&[asked, "b1", "b2"])).expect_status(2);
        assert!(ran.stderr.contains(words) && ran.stderr.contains("hint: "), "{asked}: {}", ran.stderr);
        assert_eq!(case.left(), [""; 0], "{asked}");
    }
}

/// The story: a drill was stopped with Ctrl-C, and its server went on, on files that were deleted below it.
#[test]
fn ctrl_c_and_even_a_kill_leave_no_server_and_ctrl_c_no_file() {
    let Some(case) = Case::new() else { return };
    case.here.run(&strs(&case.create("a"))).expect_status(0);
    let (drill, id) = case.endless();
    drill.signal("INT");
    let ran = drill.ended().expect_status(130);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("not recovered;") || said.contains("PostgreSQL 15."), "{said}");
    assert!(said.contains("NOT DRILLED to the end"), "{said}{}", ran.stderr);
    assert!(!runs(&id), "the server still runs");
    assert_eq!(case.left(), [""; 0]);
    let (drill, id) = case.endless();
    drill.signal("KILL");
    drill.ended();
    until("the end of the server", || (!runs(&id)).then_some(()));
}

#[test]
fn a_drill_whose_time_is_over_says_so_and_leaves_nothing() {
    let Some(case) = Case::new() else { return };
    case.here.run(&strs(&case.create("a"))).expect_status(0);
    let asked = ["--timeout", "5s", "--check=SELECT pg_sleep(86400)", "b1", "b2"];
    let ran = case.here.run(&case.drill(&asked)).expect_status(1);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("(--timeout)"), "{said}");
    assert_eq!(case.left(), [""; 0]);
}

/// Who owned any database in a backup had a program of his run on the host of the drill, as its superuser: through a view on the path of
/// his database, or a function beside those of amcheck.
#[test]
fn nothing_that_the_owner_of_a_database_has_put_there_runs_in_a_drill() {
    let Some(case) = Case::new() else { return };
    let server = &case.server;
    server.sql("CREATE ROLE mallory");
    server.sql("CREATE DATABASE own OWNER mallory");
    let place = Postgres::place();
    let file = place.path().join("pwned");
    server.value_in("own", "CREATE EXTENSION amcheck SCHEMA public");
    let hostile = include_str!("../../crates/collect/testdata/sql/postgres_hostile_owner.sql");
    server.value_in("own", &hostile.replace("{file}", &file.display().to_string()));
    // It is a trap.
    server.value_in("own", include_str!("../sql/hostile_extensions.sql"));
    fs::remove_file(&file).unwrap();

    case.here.run(&strs(&case.create("a"))).expect_status(0);
    let check_sql = ["--database=own", "--check=SELECT count(*) = 0 FROM evil.indexed"];
    let drill = case.drill(&[&check_sql[..], &["--json", "d.json", "b1", "b2"]].concat());
    case.here.run(&drill).expect_status(0);
    let run = case.here.json("d.json");
    let looked = check(&run, "amcheck of own");
    assert_eq!(looked["state"], "passed", "{looked}");
    assert!(!file.exists(), "{run}");
}
