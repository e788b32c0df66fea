//! `iostall backup restore --until` and `drill --until`, on real servers of several versions.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::server::{Programs, Server, place};
use crate::support::{Ran, Workspace, skip, until};
use crate::unprivileged::{give, is_root};

/// Rows that were written before and after the backup, one a transaction, and what the server said of each.
struct Written {
    number: u64,
    xid: String,
    time: String,
    lsn: String,
}

/// A server that archives, a backup of it, and rows after that.
struct Case<'a> {
    programs: &'a Programs,
    here: Workspace,
    wal: PathBuf,
    _place: TempDir,
    server: Server<'a>,
    rows: Vec<Written>,
}

/// So many rows are in the backup.
const IN_BACKUP: u64 = 500;
const ROWS: u64 = 40;

impl<'a> Case<'a> {
    fn new(programs: &'a Programs, directory: &str) -> Self {
        let place = place();
        let wal = place.path().join(directory);
        fs::create_dir(&wal).unwrap();
        give(&wal);
        let quoted = wal.to_str().unwrap().replace('\'', "'\\''").replace('%', "%%");
        let command = format!("{} backup wal archive %p --to '{quoted}'", programs.iostall().display());
        let server = Server::archiving(programs, &command, &[]);
        server.ask("schema", &[]);
        server.ask("bulk", &[("from", "1"), ("to", &IN_BACKUP.to_string())]);
        let here = Workspace::new();
        fs::create_dir(here.path("b")).unwrap();
        let mut case = Self { programs, here, wal, _place: place, server, rows: Vec::new() };
        case.back_up("b/a.iob").expect_status(0);
        for number in IN_BACKUP + 1..=IN_BACKUP + ROWS {
            case.write(number);
            if number.is_multiple_of(10) {
                case.server.switched();
            }
        }
        case.server.ask("point", &[("name", "before the upgrade")]);
        case.write(IN_BACKUP + ROWS + 1);
        case.server.switched();
        assert_eq!(case.server.ask("failed", &[]), "0", "{}", case.server.log());
        case
    }

    fn back_up(&self, to: &str) -> Ran {
        self.here.run(&["backup", "create", "--to", to, &self.server.url()])
    }

    /// A transaction with the row `number`, and the times and positions around it.
    fn write(&mut self, number: u64) {
        let xid = self.server.ask("xid", &[("number", &number.to_string())]);
        let (lsn, time) = (self.server.ask("lsn", &[]), self.server.ask("now", &[]));
        self.rows.push(Written { number, xid, time, lsn });
    }

    fn row(&self, number: u64) -> &Written {
        self.rows.iter().find(|row| row.number == number).unwrap()
    }

    fn restore(&self, to: &Path, rest: &[&str]) -> Ran {
        let words = ["backup", "restore", "b/a.iob", "--json", "r.json", "--to", to.to_str().unwrap()];
        // The restored server calls the program that restored it, under its own account.
        let mut restore = std::process::Command::new(self.programs.iostall());
        restore.current_dir(self.here.path(".")).args(words).env("TZ", "UTC");
        restore.env("IOSTALL_STORE", self.here.path("store.db"));
        restore.args(["--wal", self.wal.to_str().unwrap()]).args(rest).output().unwrap().into()
    }

    /// The last row after a restore with `rest`, once the server has ended its recovery or waits.
    fn recovered(&self, rest: &[&str]) -> Server<'a> {
        let place = place();
        self.restore(&place.path().join("data"), rest).expect_status(0);
        let copy = Server::on(self.programs, place, &["archive_mode=off"])
            .unwrap_or_else(|log| panic!("{rest:?}: {log}"));
        until("the end of recovery", || {
            (copy.ask("recovering", &[]) == "f" || copy.ask("paused", &[]) == "t").then_some(())
        });
        copy
    }

    #[track_caller]
    fn expect(&self, rest: &[&str], last: u64) {
        let copy = self.recovered(rest);
        assert_eq!(copy.ask("last", &[]), last.to_string(), "{rest:?}");
        assert_eq!(copy.ask("count", &[]), last.to_string(), "{rest:?}");
    }
}

/// The story: the table was dropped at noon, and the restore came back with 11:58 or with 12:01.
fn lands_on_the_named_transaction(version: u32) {
    let Some(programs) = Programs::of(version) else { return };
    // What the server, its file of settings and its shell each have a meaning for.
    let case = Case::new(&programs, "it's 50%p of \\ the\nlog");
    let (last, middle) = (IN_BACKUP + ROWS + 1, IN_BACKUP + 17);
    let row = case.row(middle);
    case.expect(&["--until", &row.time], middle);
    case.expect(&["--until", &format!("xid:{}", row.xid), "--at-target", "promote"], middle);
    case.expect(&["--until", &format!("xid:{}", row.xid), "--exclusive"], middle - 1);
    // The position after the commit is where the next record begins, which is still recovered: it commits nothing.
    case.expect(&["--until", &row.lsn, "--exclusive"], middle);
    case.expect(&["--until", "name:before the upgrade"], last - 1);
    case.expect(&["--until", "latest"], last);
    case.expect(&[], last);
    let copy = case.recovered(&["--until", &row.time]);
    assert_eq!(copy.ask("recovering", &[]), "t", "it waits at the target");
    copy.ask("resume", &[]);
    until("the end of recovery", || (copy.ask("recovering", &[]) == "f").then_some(()));
    assert_eq!(copy.ask("timeline", &[]), "2", "it has become a primary");
    let run = case.here.json("r.json")["restore"]["recovery"].take();
    assert_eq!((&run["timeline"], &run["then_pauses"]), (&Value::from(1), &Value::Bool(true)), "{run}");
}

#[test]
fn a_restored_15_lands_on_the_named_transaction() {
    lands_on_the_named_transaction(15);
}

#[test]
fn a_restored_17_lands_on_the_named_transaction() {
    lands_on_the_named_transaction(17);
}

#[test]
fn a_restored_18_lands_on_the_named_transaction() {
    lands_on_the_named_transaction(18);
}

/// The story: three hours of restoring, and then the server said that the segment of 11:30 was missing.
#[test]
fn what_cannot_be_reached_is_said_before_the_first_byte() {
    let Some(programs) = Programs::of(15) else { return };
    let case = Case::new(&programs, "wal");
    let place = place();
    let to = place.path().join("data");
    let refused = |rest: &[&str], words: &[&str]| {
        let ran = case.restore(&to, rest).expect_status(2);
        for words in words.iter().chain(&["hint: "]) {
            assert!(ran.stderr.contains(words), "{rest:?}: {words}: {}", ran.stderr);
        }
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "{rest:?}");
    };
    refused(&["--until", "2020-01-01"], &["is before the end of the backup: it ends at 0/"]);
    refused(&["--until", "0/100"], &["is before the end of the backup"]);
    refused(&["--until", "7F/0"], &["7F/0 is not in the archive, which ends at 0/"]);
    refused(&["--until", "2100-01-01"], &["is not in the archive", "the last transaction in it ended on"]);
    refused(&["--until", "xid:4000000000"], &["transaction 4000000000 is not in the archive"]);
    refused(&["--until", "name:never"], &["restore point \"never\" is not in the archive"]);
    refused(&["--until", "name:"], &["no name of a restore point"]);
    refused(&["--until", "soonish"], &["is not a time"]);
    refused(&["--timeline", "7"], &["no way leads from this backup to timeline 7"]);
    let list = |rest: &[&str]| {
        let words = [&["backup", "wal", "list", "--json", case.wal.to_str().unwrap()], rest].concat();
        let ran = case.here.run(&words);
        let list: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
        (ran.status, list)
    };
    let (status, whole) = list(&["b"]);
    let set = &whole["sets"][0];
    assert_eq!((status, &set["reaches"][0]["gap"]), (Some(0), &Value::Null), "{whole}");
    assert!(set["reaches"][0]["to_utc"].as_str() > set["ended_utc"].as_str(), "{whole}");
    // A gap between the backup and the target, and one after it.
    let mut segments: Vec<_> = fs::read_dir(&case.wal).unwrap().map(|entry| entry.unwrap().path()).collect();
    segments.retain(|path| {
        path.to_string_lossy().ends_with(".iow") && !path.to_string_lossy().contains(".backup")
    });
    segments.sort();
    let absent = &segments[segments.len() - 2];
    let kept = fs::read(absent).unwrap();
    fs::remove_file(absent).unwrap();
    let name = absent.file_stem().unwrap().to_str().unwrap();
    refused(&["--until", "latest"], &["a gap in the archive stands before the end of the archive", name]);
    let late = case.row(IN_BACKUP + ROWS + 1);
    refused(&["--until", &format!("xid:{}", late.xid)], &["a gap in the archive stands before", name]);
    case.expect(&["--until", &case.row(IN_BACKUP + 12).time], IN_BACKUP + 12);
    let (status, gap) = list(&["b/a.iob"]);
    assert_eq!(
        (status, gap["sets"][0]["reaches"][0]["gap"]["first"].as_str()),
        (Some(1), Some(name)),
        "{gap}"
    );
    // Damage that only reading finds stops the recovery instead of ending it.
    let mut damaged = kept.clone();
    damaged[300] ^= 4;
    fs::write(absent, &damaged).unwrap();
    give(absent);
    case.restore(&to, &["--until", "latest"]).expect_status(0);
    // It lets users read before it comes to the damage.
    let log = match Server::on(&programs, place, &["archive_mode=off"]) {
        Ok(server) => until("the damage", || Some(server.log()).filter(|log| log.contains("is damaged"))),
        Err(log) => log,
    };
    assert!(log.contains("is damaged") && !log.contains("archive recovery complete"), "{log}");
}

/// The story: root had received the log, and after two hours of restoring the server was not allowed to read it.
#[test]
fn an_archive_that_the_account_of_the_server_cannot_read_is_named_before_the_first_byte() {
    if !is_root() {
        return skip("files of another account", "only root has other accounts");
    }
    let Some(programs) = Programs::of(15) else { return };
    let case = Case::new(&programs, "wal");
    let place = place();
    let to = place.path().join("data");
    let drill = || {
        let mut drill = std::process::Command::new(programs.iostall());
        drill.current_dir(case.here.path(".")).env("IOSTALL_STORE", case.here.path("store.db"));
        drill.args(["backup", "drill", "--scratch", place.path().to_str().unwrap(), "--user", "nobody", "b"]);
        Ran::from(drill.args(["--wal", case.wal.to_str().unwrap()]).output().unwrap())
    };
    let refused = |words: &str, hint: &str| {
        for ran in [case.restore(&to, &[]), drill()] {
            let ran = ran.expect_status(2);
            assert!(ran.stderr.contains(words) && ran.stderr.contains(hint), "{words}: {}", ran.stderr);
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "{words}");
        }
    };
    let newest = fs::read_dir(&case.wal).unwrap().map(|entry| entry.unwrap().path());
    let newest = newest.filter(|path| path.extension().is_some_and(|end| end == "iow")).max().unwrap();
    chown(&newest, Some(0), Some(0)).unwrap();
    let wal = case.wal.display();
    refused(
        &format!("the account nobody may not read {}", newest.display()),
        &format!("chown -R nobody {wal}"),
    );
    give(&newest);
    chown(&case.wal, Some(0), Some(0)).unwrap();
    fs::set_permissions(&case.wal, fs::Permissions::from_mode(0o700)).unwrap();
    refused(&format!("the account nobody may not enter {wal}"), &format!("chmod o+x {wal}"));
    give(&case.wal);
    case.expect(&[], IN_BACKUP + ROWS + 1);
}

/// The story: a standby was promoted on Monday, and the backup of Sunday could not be brought beyond it.
#[test]
fn a_recovery_leads_across_a_change_of_the_timeline() {
    let Some(programs) = Programs::of(15) else { return };
    let case = Case::new(&programs, "wal");
    let quoted = case.wal.display();
    let command =
        format!("archive_command={} backup wal archive %p --to {quoted}", programs.iostall().display());
    // What was restored becomes a primary, and archives to the same place.
    let place = place();
    let rest = ["--until", &case.row(IN_BACKUP + 17).time, "--at-target", "promote"];
    case.restore(&place.path().join("data"), &rest).expect_status(0);
    let new = Server::on(&programs, place, &["archive_mode=on", &command]).unwrap();
    until("the end of recovery", || (new.ask("recovering", &[]) == "f").then_some(()));
    new.ask("bulk", &[("from", "1001"), ("to", "1100")]);
    new.switched();
    assert_eq!(new.ask("failed", &[]), "0", "{}", new.log());
    let list =
        case.here.run(&["backup", "wal", "list", "--json", case.wal.to_str().unwrap(), "b"]).expect_status(0);
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    let reaches = list["sets"][0]["reaches"].as_array().unwrap();
    assert_eq!(reaches.iter().map(|reach| &reach["timeline"]).collect::<Vec<_>>(), [1, 2], "{list}");
    let there = IN_BACKUP + 17 + 100;
    let copy = case.recovered(&["--until", "latest"]);
    assert_eq!(copy.ask("count", &[]), there.to_string(), "the newest timeline is followed");
    let old = case.recovered(&["--until", "latest", "--timeline", "1"]);
    assert_eq!(old.ask("count", &[]), (IN_BACKUP + ROWS + 1).to_string());
}

/// The story: the restore to yesterday was practised every night, and nobody had looked where it ended.
#[test]
fn a_drill_brings_a_backup_to_a_point_in_time_and_says_where_it_ended() {
    let Some(programs) = Programs::of(15) else { return };
    let case = Case::new(&programs, "wal");
    let scratch = place();
    let row = case.row(IN_BACKUP + 23);
    let check = format!("--check={}", super::server::sql("is_last", &[("number", &row.number.to_string())]));
    let mut drill = std::process::Command::new(programs.iostall());
    drill.current_dir(case.here.path(".")).env("TZ", "UTC").env("IOSTALL_STORE", case.here.path("store.db"));
    drill.args(["backup", "drill", "--scratch", scratch.path().to_str().unwrap(), "--json", "d.json", "b"]);
    drill.args(["--wal", case.wal.to_str().unwrap(), "--until", &row.time, &check]);
    if is_root() {
        drill.args(["--user", "nobody"]);
    }
    let ran: Ran = drill.output().unwrap().into();
    let ran = ran.expect_status(0);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("the server has recovered to 20") && said.contains("time to recover"), "{said}");
    let run = case.here.json("d.json")["backup-drill"].take();
    let recovery =
        run["checks"].as_array().unwrap().iter().find(|check| check["name"] == "recovery").unwrap();
    let detail = recovery["detail"].as_str().unwrap();
    assert!(detail.contains("of timeline 1 (before 20") && detail.contains("up to 0/"), "{detail}");
    assert_eq!(run["recovery"]["timeline"], 1);
    // The drill wrote nothing into the archive.
    assert!(!case.wal.join("00000002.history.iow").exists());
}
