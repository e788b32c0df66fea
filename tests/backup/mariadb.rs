//! A MariaDB server from end to end: backed up under load, verified, restored, started.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::Value;

use super::attacks::words_of;
use super::create::{names, shelves};
use crate::copy_media::Volume;
use crate::mariadb::{Mariadb, PASSWORD, plugins};
use crate::running::Running;
use crate::support::{Workspace, pause, skip, until};

const COUNT: &str = include_str!("../sql/mariadb_count.sql");
const SUMS: &str = include_str!("../sql/mariadb_sums.sql");

struct Case {
    here: Workspace,
    server: Mariadb,
    url: String,
}

impl Case {
    /// A server with some megabytes in tables of every form; `None` if MariaDB is not installed.
    fn new(options: &[&str]) -> Option<Self> {
        let Some(server) = Mariadb::made_with(options) else {
            skip("backup::mariadb", "MariaDB, or mariadb-backup, is not installed");
            return None;
        };
        let here = Workspace::new();
        shelves(&here);
        let password = here.secret("password", &format!("{PASSWORD}\n"));
        server.sql(include_str!("../sql/mariadb_fill.sql"));
        let url = server.url(&password);
        Some(Self { here, server, url })
    }

    fn create<'a>(&'a self, rest: &[&'a str]) -> Vec<&'a str> {
        let two = ["backup", "create", "--to", "b1/a.iob", "--to", "b2/a.iob", "--json", "b.json"];
        [&two[..], rest, &[self.url.as_str()]].concat()
    }

    /// What is in the directories of stripes.
    fn left(&self) -> Vec<String> {
        [names(&self.here.path("b1")), names(&self.here.path("b2"))].concat()
    }
}

/// The story: the backup had been made every night by a script, and the restore was a page of steps that nobody had tried.
#[test]
fn a_server_under_load_is_backed_up_verified_restored_and_started() {
    let Some(case) = Case::new(&["--log-bin=binlog"]) else { return };
    let (here, server) = (&case.here, &case.server);
    let users = server.users();
    let count = |server: &Mariadb| server.value(COUNT).parse::<u64>().unwrap();
    until("orders", || (count(server) > 20).then_some(()));
    let before = count(server);
    here.run(&case.create(&[])).expect_status(0);
    let after = count(server);
    drop(users);
    let sums = server.value(SUMS);
    let made = here.json("b.json");
    assert!(made["backup"]["files"].as_u64().unwrap() > 100, "{made}");
    here.run(&["backup", "verify", "b1/a.iob", "b2/a.iob"]).expect_status(0);

    let place = Mariadb::place();
    let data = place.path().join("data");
    let to = data.to_str().unwrap();
    let restore = ["backup", "restore", "b1/a.iob", "b2/a.iob", "--to", to, "--json", "r.json"];
    here.run(&restore).expect_status(0);
    let restored = here.json("r.json");
    assert!(restored["restore"]["prepare_ns"].as_u64().unwrap() > 0, "{restored}");
    assert_eq!(restored["warnings"], Value::Array(Vec::new()), "{restored}");
    let copy = Mariadb::on(place, &[]);
    let there = count(&copy);
    assert!((before..=after).contains(&there), "{before} <= {there} <= {after}");
    assert_eq!(copy.value(SUMS), sums);
}

/// The story: one page of one table had been damaged for months, and no backup was made any more, or it was made and nobody heard of
/// the page.
#[test]
fn a_damaged_page_is_named_and_backed_up_with_everything_else() {
    let Some(mut case) = Case::new(&[]) else { return };
    case.server.stop();
    let path = case.server.data().join("fill/plain.ibd");
    let mut bytes = fs::read(&path).unwrap();
    bytes[16_384 * 20 + 5000] ^= 0x10;
    fs::write(&path, bytes).unwrap();
    case.server.resume();
    case.url = case.server.url(&case.here.path("password"));
    let here = &case.here;
    let ran = here.run(&case.create(&[])).expect_status(0);
    let run = here.json("b.json");
    let page = "fill/plain.ibd page 20 has a wrong checksum";
    let (checked, bad) = (run["backup"]["pages_checked"].as_u64().unwrap(), &run["backup"]["bad_pages"]);
    assert!((500..100_000).contains(&checked), "{checked}");
    assert!(bad[0].as_str().unwrap().starts_with(page) && bad.as_array().unwrap().len() == 1, "{bad}");
    let is_of_pages = |one: &&Value| one["code"] == "wrong-pages";
    let warned: Vec<&Value> = run["warnings"].as_array().unwrap().iter().filter(is_of_pages).collect();
    assert!(warned.len() == 1 && warned[0]["message"].as_str().unwrap().starts_with(page), "{run}");
    let said = words_of(&ran);
    assert!(said.contains("1 page with a wrong checksum in the database") && said.contains(page), "{said}");
    let place = Mariadb::place();
    let data = place.path().join("data");
    let restore =
        ["backup", "restore", "b1/a.iob", "b2/a.iob", "--json", "r.json", "--to", data.to_str().unwrap()];
    here.run(&restore).expect_status(0);
    let said = here.json("r.json")["warnings"].to_string();
    assert!(said.contains("fill/plain.ibd page 20"), "{said}");
}

/// The story: the restored server did not open a table whose file had a directory of its own, because it found the original's there.
#[test]
fn a_table_with_a_directory_of_its_own_stands_in_the_restored_one() {
    let Some(case) = Case::new(&[]) else { return };
    let away = Mariadb::place();
    let make = include_str!("../sql/mariadb_away.sql").replace("PLACE", away.path().to_str().unwrap());
    case.server.sql(&make);
    let here = &case.here;
    here.run(&case.create(&[])).expect_status(0);
    let place = Mariadb::place();
    let data = place.path().join("data");
    here.run(&["backup", "restore", "b1/a.iob", "b2/a.iob", "--to", data.to_str().unwrap()]).expect_status(0);
    let original = away.path().join("fill/away.ibd");
    let before = fs::read(&original).unwrap();
    let copy = Mariadb::on(place, &[]);
    copy.sql(include_str!("../sql/mariadb_away_more.sql"));
    assert_eq!(copy.value(include_str!("../sql/mariadb_away_count.sql")), "4");
    assert_eq!(case.server.value(include_str!("../sql/mariadb_away_count.sql")), "2");
    assert!(data.join("fill/away.ibd").exists() && fs::read(&original).unwrap() == before);
}

/// A page that is encrypted, or compressed by itself, has the checksum of what it was before.
#[test]
fn encrypted_and_page_compressed_tables_are_said_to_be_unverifiable() {
    let Some(plugins) = plugins() else {
        return skip("backup::mariadb", "the plugin that encrypts tables of MariaDB cannot be had");
    };
    let plugins = format!("--plugin-dir={}", plugins.display());
    let keys = Mariadb::place();
    let file = keys.path().join("keys");
    fs::write(&file, "1;a7addd9adea9978fda19f21e6be987880e68ac92632ca052e5bb42b1a506939a\n").unwrap();
    let file = format!("--file-key-management-filename={}", file.display());
    let options =
        ["--plugin-load-add=file_key_management", &file, "--innodb-checksum-algorithm=crc32", &plugins];
    let Some(case) = Case::new(&options) else { return };
    case.server.sql(include_str!("../sql/mariadb_secret.sql"));
    let here = &case.here;
    here.run(&case.create(&[])).expect_status(0);
    let said = here.json("b.json")["warnings"].to_string();
    for words in
        ["pages cannot be checked", "fill/secret.ibd (encrypted)", "fill/packed.ibd (compressed by pages)"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("fill/plain.ibd") && !said.contains("wrong checksum"), "{said}");
    let count = case.server.value(include_str!("../sql/mariadb_secrets.sql"));
    let place = Mariadb::place();
    let data = place.path().join("data");
    here.run(&["backup", "restore", "b1/a.iob", "b2/a.iob", "--to", data.to_str().unwrap()]).expect_status(0);
    let copy = Mariadb::on(place, &options);
    assert_eq!(copy.value(include_str!("../sql/mariadb_secrets.sql")), count);
}

/// The story: an increment of a server stored everything again, because the files in mariadb-backup's stream were compared with
/// nothing.
#[test]
fn an_increment_stores_what_changed_and_a_server_starts_on_what_is_restored_from_it() {
    let Some(case) = Case::new(&[]) else { return };
    let (here, server) = (&case.here, &case.server);
    let create = |name: &str, more: &[&str]| {
        let to = ["b1", "b2"].map(|shelf| format!("{shelf}/{name}.iob"));
        let line = ["backup", "create", "--frame", "64K", "--json", "b.json", "--to", &to[0], "--to", &to[1]];
        here.run(&[&line[..], more, &[case.url.as_str()]].concat()).expect_status(0);
        let run = here.json("b.json");
        let of = |key: &str| run["backup"].get(key).and_then(Value::as_u64).unwrap_or(0);
        (of("bytes"), of("bytes") - of("base_bytes"), of("stored_bytes"))
    };
    let (bytes, all, stored) = create("0", &[]);
    assert_eq!(all, bytes);
    server.sql(include_str!("../sql/mariadb_change.sql"));
    let (bytes, own, stored_now) = create("1", &["--base", "b1"]);
    assert!(own * 10 < bytes && stored_now * 3 < stored, "{own} of {bytes}; {stored_now}, {stored} before");
    server.sql(include_str!("../sql/mariadb_change_more.sql"));
    let (bytes, own, _) = create("2", &["--base", "b1"]);
    assert!(own * 10 < bytes, "{own} of {bytes}");
    let sums = server.value(SUMS);
    let set = ["b1/2.iob", "b2/2.iob"];
    here.run(&[&["backup", "verify"][..], &set].concat()).expect_status(0);
    let place = Mariadb::place();
    let data = place.path().join("data");
    here.run(&[&["backup", "restore"][..], &set, &["--to", data.to_str().unwrap()]].concat())
        .expect_status(0);
    assert_eq!(Mariadb::on(place, &[]).value(SUMS), sums);
}

/// The processes that `parent` has started.
fn children(parent: u32) -> Vec<u32> {
    let of_process = |entry: fs::DirEntry| {
        let id: u32 = entry.file_name().to_str()?.parse().ok()?;
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let words = format!("\nPPid:\t{parent}\n");
        status.contains(&words).then_some(id)
    };
    fs::read_dir("/proc").unwrap().filter_map(|entry| of_process(entry.ok()?)).collect()
}

/// The mariadb-backup that reads for it.
fn reading(running: &Running) -> Option<u32> {
    let is_it = |id: &u32| {
        let words = fs::read_to_string(format!("/proc/{id}/cmdline"));
        words.is_ok_and(|words| words.contains("--stream"))
    };
    children(running.id()).into_iter().find(is_it)
}

/// A backup that takes its time, and the mariadb-backup that it has started.
fn slow(case: &Case) -> (Running, u32) {
    let running = case.here.start(&case.create(&["--limit", "1MB/s", "--compress", "none"]));
    let child = until("mariadb-backup", || reading(&running));
    until("the first bytes", || case.left().iter().any(|name| name.ends_with(".partial")).then_some(()));
    (running, child)
}

fn kill(signal: &str, id: u32) {
    assert!(Command::new("kill").args([signal, &id.to_string()]).status().unwrap().success());
}

fn is_gone(id: u32) -> bool {
    fs::read(format!("/proc/{id}/cmdline")).map_or(true, |words| words.is_empty())
}

/// The story: mariadb-backup had died in the night, and what it had written so far was kept as the backup of that night.
#[test]
fn a_backup_whose_program_or_login_or_disk_fails_leaves_nothing_that_looks_whole() {
    let Some(case) = Case::new(&[]) else { return };
    let here = &case.here;
    let (running, child) = slow(&case);
    let words = fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap();
    assert!(!words.contains("ght"), "the password is on the command line: {words}");
    kill("-KILL", child);
    let ran = running.ended().expect_status(2);
    assert!(ran.stderr.contains("mariadb-backup was killed"), "{}", ran.stderr);
    assert_eq!(case.left(), [""; 0]);

    let (running, child) = slow(&case);
    running.signal("INT");
    running.ended().expect_status(130);
    assert!(is_gone(child));
    assert_eq!(case.left(), [""; 0]);

    let (running, child) = slow(&case);
    kill("-KILL", running.id());
    running.ended();
    until("its end", || is_gone(child).then_some(()));
    assert!(case.left().iter().all(|name| name.ends_with(".partial")), "{:?}", case.left());

    let wrong = here.secret("wrong", "wrong\n");
    let url = case.server.url(&wrong);
    let ran = here.run(&["backup", "create", "--to", "b3/a.iob", &url]).expect_status(2);
    assert!(ran.stderr.contains("refused the login"), "{}", ran.stderr);
    assert_eq!(names(&here.path("b3")), [""; 0]);

    if let Some(volume) = Volume::new(here, "ext4", 512, 16) {
        let to = volume.mounted_at.join("a.iob").display().to_string();
        let ran =
            here.run(&["backup", "create", "--compress", "none", "--to", &to, &case.url]).expect_status(2);
        assert!(ran.stderr.contains("No space left") || ran.stderr.contains("free space"), "{}", ran.stderr);
        let left = names(&volume.mounted_at);
        assert!(left.iter().all(|name| name == "lost+found"), "{left:?}");
    }
    // What was left of the one that was killed is no hindrance.
    here.run(&case.create(&[])).expect_status(0);
    here.run(&["backup", "verify", "b1/a.iob", "b2/a.iob"]).expect_status(0);
}

/// The story: a kill came before the first byte of the backup, and a directory with the password of its login was left for ever.
#[test]
fn a_kill_leaves_no_file_of_its_own_whenever_it_comes() {
    let Some(case) = Case::new(&[]) else { return };
    let here = &case.here;
    fs::create_dir(here.path("tmp")).unwrap();
    for late in 0..8 {
        let mut command = here.command(&case.create(&["--no-store", "--limit", "1MB/s"]));
        let running = Running::new(command.env("TMPDIR", here.path("tmp")));
        let child = until("mariadb-backup", || reading(&running));
        pause(late * 25);
        kill("-KILL", running.id());
        running.ended();
        until("its end", || is_gone(child).then_some(()));
        assert_eq!(names(&here.path("tmp")), [""; 0], "{late}");
    }
}

#[test]
fn without_preparing_it_is_said_what_must_be_done_first_and_one_file_can_be_restored_alone() {
    let Some(case) = Case::new(&[]) else { return };
    let here = &case.here;
    here.run(&case.create(&[])).expect_status(0);
    let set = ["b1/a.iob", "b2/a.iob"];
    let restore = |rest: &[&str]| here.run(&[&["backup", "restore"][..], &set, rest].concat());
    let ran = restore(&["--to", "raw", "--no-prepare"]).expect_status(0);
    let said = [ran.stdout, ran.stderr].concat();
    assert!(said.contains("NOT PREPARED") && said.contains("mariadb-backup --prepare"), "{said}");
    assert!(here.path("raw/ib_logfile0").exists());
    restore(&["--to", "plain.ibd", "--only", "fill/plain.ibd"]).expect_status(0);
    assert!(fs::metadata(here.path("plain.ibd")).unwrap().len() > 1 << 20);
    // Without the program nothing is restored, because nothing could be started on it.
    let ran = restore(&["--to", "none", "--engine-dir", "/nonexistent"]).expect_status(2);
    assert!(ran.stderr.contains("mariadb-backup") && ran.stderr.contains("/nonexistent"), "{}", ran.stderr);
    assert!(!here.path("none").exists());
}

/// The story: the files had been restored often, and nobody had ever started a server on them.
#[test]
fn a_drill_prepares_the_files_starts_a_server_and_checks_every_table() {
    let Some(case) = Case::new(&[]) else { return };
    let here = &case.here;
    drop(case.server.users());
    here.run(&case.create(&[])).expect_status(0);
    let scratch = tempfile::tempdir().unwrap();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let place = scratch.path().to_str().unwrap();
    let drill = |rest: &[&str]| {
        let base = ["backup", "drill", "--scratch", place, "--json", "d.json", "--database", "fill"];
        here.run(&[&base[..], rest, &["b1", "b2"]].concat())
    };
    drill(&["--check=SELECT COUNT(*) = 20000 FROM plain"]).expect_status(0);
    let run = here.json("d.json");
    let outcome = &run["backup-drill"];
    let checks: Vec<(String, String)> = outcome["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| {
            (check["name"].as_str().unwrap().to_owned(), check["state"].as_str().unwrap().to_owned())
        })
        .collect();
    for name in ["content", "recovery", "tables of fill", "tables of mysql", "tables of shop", "pages"] {
        assert!(checks.contains(&(name.to_owned(), "passed".to_owned())), "{name}: {checks:?}");
    }
    assert!(checks.iter().all(|(_, state)| state == "passed"), "{outcome}");
    assert!(outcome["engines"][0].as_str().unwrap().starts_with("MariaDB 1"), "{outcome}");
    assert_eq!(names(scratch.path()), [""; 0]);
    let list: Value = serde_json::from_str(&here.run(&["backup", "list", "--json"]).stdout).unwrap();
    assert_eq!(list[0]["proof"], "drilled");
    drill(&["--check=SELECT COUNT(*) = 1 FROM plain"]).expect_status(1);
}

/// One damaged byte of a stripe costs some pages, and which is what a DBA has to know.
#[test]
fn a_damaged_stripe_is_named_with_the_pages_that_are_lost() {
    let Some(case) = Case::new(&[]) else { return };
    let here = &case.here;
    let create = ["backup", "create", "--compress", "none", "--frame", "64K", "--to", "b1/a.iob", &case.url];
    here.run(&create).expect_status(0);
    let path = here.path("b1/a.iob");
    let mut bytes = fs::read(&path).unwrap();
    // Most of it are pages.
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
    let ran = here.run(&["backup", "verify", "b1/a.iob"]).expect_status(1);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("lost with it: ") && (said.contains(".ibd page") || said.contains("ibdata1 page")),
        "{said}"
    );
}
