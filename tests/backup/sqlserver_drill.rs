//! `iostall backup drill --sqlserver` against the mock SQL Server of the collector's tests: it plays which databases there are, and reads
//! of a query only what a test looks for. It is no SQL Server: what it proves is what iostall makes of the answers.

use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::running::Running;
use crate::sqlserver::server::{Answer, Compute, PASSWORD, Server, USER};
use crate::support::{Ran, Workspace};

use super::sqlserver::{AT_43, rows, server, server_row};

const HEADS: &str = "\nPosition\tDatabaseName\tServerName\tBackupType\tBackupSize\tCompressedBackupSize\tBackupStartDate\t\
                     BackupFinishDate\tTimeZone\tHasBackupChecksums\tBackupSetGUID\tDifferentialBaseGUID\tFirstLSN\tLastLSN";
const FULL: &str = "1\tsales\tDB1\t1\t1073741824\t268435456\t2026-05-24T03:00:00\t2026-05-24T03:05:00\t8\t1\t\
                    0F1E2D3C-0000-4B5A-8697-A8B9CADBECFD\t\\N\t100\t110";
const DIFFERENTIAL: &str = "2\tsales\tDB1\t5\t104857600\t52428800\t2026-05-28T03:00:00\t2026-05-28T03:01:00\t8\t0\t\
                            1F1E2D3C-0000-4B5A-8697-A8B9CADBECFD\t0F1E2D3C-0000-4B5A-8697-A8B9CADBECFD\t190\t200";

fn headers() -> String {
    [HEADS, FULL, DIFFERENTIAL].join("\n")
}

/// The log backup in this place of its files: its hour of that day, and its LSNs.
fn log(place: u32, hour: u32, lsns: [u32; 2]) -> String {
    format!(
        "{place}\tsales\tDB1\t2\t1048576\t524288\t2026-05-28T{hour:02}:00:00\t2026-05-28T{hour:02}:00:09\t8\t1\t\
         2F1E2D3C-0000-4B5A-8697-A8B9CADBEC{place:02}\t\\N\t{}\t{}",
        lsns[0], lsns[1]
    )
}

const FILES: &str = "\nLogicalName\tPhysicalName\tType\tSize\nsales\tE:\\data\\sales.mdf\tD\t3221225472\nsales_log\tL:\\log\\sales.ldf\tL\t536870912";
const ROOM: &str = "\nvolume\tavailable_bytes\nF:\\\t8589934592";
const NONE: &str = "\ndatabase_id\tcreated\tstate\tphysical_name";
const DONE: Answer = Answer::Messages(Vec::new());

fn command(workspace: &Workspace, server: &Server, more: &[&str]) -> Command {
    let url = format!("sqlserver://{USER}@127.0.0.1:{}?password-env=MOCK_PASSWORD", server.port);
    let fixed = [
        "backup",
        "drill",
        "--sqlserver",
        &url,
        "--from",
        r"E:\b\1.bak",
        "--as",
        "sales_drill",
        "--move-to",
        r"F:\drill",
    ];
    let mut command = workspace.command(&[&fixed, more].concat());
    command.env("MOCK_PASSWORD", PASSWORD);
    command
}

fn drill(workspace: &Workspace, server: &Server, more: &[&str]) -> Ran {
    command(workspace, server, more).output().expect("the binary runs").into()
}

/// The texts of the statements that made and dropped the database.
type Asked = Arc<Mutex<Vec<String>>>;

/// Gives `answer`, and notes the text of the statement.
fn noting(asked: &Asked, answer: Answer) -> Answer {
    let asked = Arc::clone(asked);
    Answer::Computed(Compute(Arc::new(move |text: &str| {
        asked.lock().unwrap().push(text.to_owned());
        answer.clone()
    })))
}

/// A server that has the database from the restore to its DROP, with the files that the restore named; `rename` makes them others.
fn playing(restored: &Answer, rename: bool) -> (Server, Asked) {
    let server = server();
    server.answer_with(
        "iostall:backup_server",
        &server_row(16, 0, "\\N", 0).replace("\t0\t\\N\t", "\t\\N\t\\N\t"),
    );
    server.answer_with("iostall:restore_headeronly", &headers());
    server.answer_with("iostall:restore_filelistonly", FILES);
    server.answer_with("iostall:drill_room", ROOM);
    let asked = Asked::default();
    server.answer("iostall:drill_restore", noting(&asked, restored.clone()));
    server.answer("iostall:drill_recover", DONE);
    server.answer("iostall:drill_checkdb", DONE);
    server.answer("iostall:drill_check", rows("\nn\n42"));
    server.answer("iostall:drill_drop", noting(&asked, DONE));
    let seen = Arc::clone(&asked);
    let files = move |_: &str| {
        let asked = seen.lock().unwrap();
        let made = asked.iter().find(|text| text.contains("RESTORE DATABASE"));
        let dropped = asked.iter().any(|text| text.contains("DROP DATABASE"));
        let Some(made) = made.filter(|_| !dropped) else { return rows(NONE) };
        let lines: Vec<String> = made
            .split("TO N'")
            .skip(1)
            .map(|rest| rest.split('\'').next().unwrap())
            .map(|path| if rename { path.replace("drill", "prod") } else { path.to_owned() })
            .map(|path| format!("9\t2026-11-23T04:00:00\tRESTORING\t{path}"))
            .collect();
        rows(&format!("{NONE}\n{}", lines.join("\n")))
    };
    server.answer("iostall:drill_files", Answer::Computed(Compute(Arc::new(files))));
    (server, asked)
}

fn error(number: u32, text: &str) -> Answer {
    Answer::Errors(vec![
        (number, text.to_owned()),
        (3013, "RESTORE DATABASE is terminating abnormally.".to_owned()),
    ])
}

/// The story: VERIFYONLY was fine every night, and the database that was restored at last did not pass CHECKDB.
#[test]
fn a_backup_is_restored_under_another_name_checked_and_dropped_again() {
    let workspace = Workspace::new();
    let (server, asked) = playing(&DONE, false);
    let check = ["--check", "EXECUTE dbo.check_orders", "--json", "d.json"];
    let ran = drill(&workspace, &server, &check).expect_status(0);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("time to recover") && said.contains("every check passed"), "{said}");
    assert!(said.contains("SQL Server 2022 (Enterprise Edition (64-bit))"), "{said}");
    assert!(said.contains("the database sales_drill was dropped"), "{said}");
    assert!(server.was_asked("iostall:drill_check", "USE [sales_drill];\nEXECUTE dbo.check_orders"));
    assert!(server.was_asked("iostall:drill_checkdb", "DBCC CHECKDB (N'sales_drill')"));
    let asked = asked.lock().unwrap();
    let [made, dropped] = &asked[..] else { panic!("{asked:?}") };
    assert!(made.contains("FILE = 1,") && made.contains("NORECOVERY") && !made.contains("REPLACE"), "{made}");
    assert!(
        made.contains(r"MOVE N'sales_log' TO N'F:\drill\sales_drill_") && made.contains("_2.ldf'"),
        "{made}"
    );
    assert!(dropped.contains("d.database_id = 9") && dropped.contains("N'2026-11-23T04:00:00'"), "{dropped}");
    let run = workspace.json("d.json");
    let outcome = &run["backup-drill"];
    assert_eq!(outcome["set"], "0f1e2d3c00004b5a8697a8b9cadbecfd");
    assert_eq!(
        (&outcome["source"], &outcome["made_utc"]),
        (&"DB1: sales".into(), &"2026-05-24T01:00:00Z".into())
    );
    assert!(outcome["is_complete"].as_bool().unwrap() && !outcome["is_kept"].as_bool().unwrap(), "{outcome}");
    let listed = workspace.run(&["runs"]).expect_status(0).stdout;
    assert!(listed.contains("sales_drill") && listed.contains("backup-drill"), "{listed}");
}

#[test]
fn a_dry_run_prints_the_statements_for_these_files_and_restores_nothing() {
    let workspace = Workspace::new();
    let (server, _) = playing(&DONE, false);
    let ran = drill(&workspace, &server, &["--dry-run", "--check", "EXECUTE dbo.one"]).expect_status(0);
    for part in [
        "RESTORE DATABASE [sales_drill]",
        "MOVE N'sales' TO",
        "WITH RECOVERY;",
        "DBCC CHECKDB",
        "EXECUTE dbo.one",
        "DROP DATABASE",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    assert_eq!(server.count("iostall:drill_restore") + server.count("iostall:drill_drop"), 0);
    let kept = drill(&workspace, &server, &["--dry-run", "--keep"]).expect_status(0);
    assert!(!kept.stdout.contains("DROP DATABASE"), "{}", kept.stdout);
}

#[test]
fn what_would_touch_another_database_or_does_not_fit_is_refused_before_it_begins() {
    let workspace = Workspace::new();
    let (server, _) = playing(&DONE, false);
    let refused = |more: &[&str], said: &str| {
        let ran = drill(&workspace, &server, more).expect_status(2);
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    };
    let baseless = headers().replace("\t0F1E2D3C-0000-4B5A-8697-A8B9CADBECFD\t190", "\t\\N\t190");
    server.answer_with("iostall:restore_headeronly", &baseless);
    refused(&["--file", "2"], "is based on a full backup that is in none of the files");
    server.answer_with("iostall:restore_headeronly", &headers());
    refused(&["--file", "7"], "none of them is number 7");
    server.answer_with("iostall:drill_room", "\nvolume\tavailable_bytes\nF:\\\t1073741824");
    refused(&[], "has 1 GiB left");
    server.answer_with("iostall:backup_server", &server_row(16, 1, "ONLINE", 0));
    refused(&[], "there is a database of that name (ONLINE)");
    assert_eq!(server.count("iostall:drill_restore"), 0);
}

/// The log backups in `E:\\b\\log.trn`, and the others in the first files.
fn with_logs(server: &Server, logs: &[String]) {
    let logs = [&[HEADS.to_owned()], logs].concat().join("\n");
    let of_file = move |text: &str| if text.contains("log.trn") { rows(&logs) } else { rows(&headers()) };
    server.answer("iostall:restore_headeronly", Answer::Computed(Compute(Arc::new(of_file))));
}

/// The story: the full backup had been drilled every week. When the database was lost, no log backup could be restored on it, because one
/// had gone to another place a month ago.
#[test]
fn the_last_differential_and_the_log_are_restored_on_the_full_backup() {
    let workspace = Workspace::new();
    let (server, asked) = playing(&DONE, false);
    with_logs(&server, &[log(1, 4, [200, 300]), log(2, 5, [300, 400]), log(3, 6, [400, 500])]);
    let chain = ["--then", r"E:\b\log.trn", "--json", "d.json"];
    let ran = drill(&workspace, &server, &chain).expect_status(0);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("3 log backups, until the log backup of 2026-05-28T06:00:00"), "{said}");
    assert!(
        said.contains("the differential of 2026-05-28T03:00:00 (number 2 of its files): all of it"),
        "{said}"
    );
    let texts = std::mem::take(&mut *asked.lock().unwrap());
    let [full, differential, logs @ .., dropped] = &texts[..] else { panic!("{texts:?}") };
    assert!(full.contains("FILE = 1,") && full.contains("MOVE N'sales'"), "{full}");
    assert!(
        differential.contains("RESTORE DATABASE") && differential.contains("FILE = 2,"),
        "{differential}"
    );
    assert_eq!(logs.len(), 3);
    for (place, log) in (1..).zip(logs) {
        assert!(log.contains("RESTORE LOG [sales_drill]") && log.contains(r"N'E:\b\log.trn'"), "{log}");
        assert!(log.contains(&format!("FILE = {place},")) && !log.contains("STOPAT"), "{log}");
    }
    for text in &texts[..5] {
        assert!(text.contains("NORECOVERY") && !text.contains("REPLACE"), "{text}");
    }
    assert!(!differential.contains("MOVE"), "its files are there: {differential}");
    assert!(dropped.contains("DROP DATABASE"), "{dropped}");
    let outcome = &workspace.json("d.json")["backup-drill"];
    assert_eq!(outcome["made_utc"], "2026-05-28T04:00:00Z", "{outcome}");
    assert_eq!(outcome["from"], r"E:\b\1.bak, E:\b\log.trn", "{outcome}");

    // A point in time: within the second log backup or the third, which the server says.
    let stop_at = ["--then", r"E:\b\log.trn", "--stop-at", "2026-05-28T05:00:04"];
    let beyond = error(
        4305,
        "The log in this backup set begins at LSN 400, which is too recent to apply to the database.",
    );
    let of_log = {
        let asked = Arc::clone(&asked);
        move |text: &str| {
            asked.lock().unwrap().push(text.to_owned());
            if text.contains("FILE = 3,") { beyond.clone() } else { DONE }
        }
    };
    server.answer("iostall:drill_restore", Answer::Computed(Compute(Arc::new(of_log))));
    let ran = drill(&workspace, &server, &stop_at).expect_status(0);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("2 log backups, until 2026-05-28T05:00:04"), "{said}");
    let texts = std::mem::take(&mut *asked.lock().unwrap());
    let stops = texts.iter().filter(|text| text.contains("STOPAT = N'2026-05-28T05:00:04'")).count();
    assert_eq!(stops, 3, "{texts:?}");
    // Where nothing says that the point was reached, that is no answer but a fault.
    drill(&workspace, &server, &["--then", r"E:\b\log.trn"]).expect_status(1);
}

#[test]
fn a_chain_with_a_gap_or_a_point_beyond_its_end_is_refused_before_anything_is_restored() {
    let workspace = Workspace::new();
    let (server, _) = playing(&DONE, false);
    with_logs(&server, &[log(1, 4, [200, 300]), log(2, 6, [400, 500])]);
    let then = ["--then", r"E:\b\log.trn"];
    let ran = drill(&workspace, &server, &then).expect_status(2);
    assert!(
        ran.stderr.contains("goes on from LSN 300") && ran.stderr.contains("begins at LSN 400"),
        "{}",
        ran.stderr
    );
    with_logs(&server, &[log(1, 4, [200, 300])]);
    let late = [&then[..], &["--stop-at", "2026-05-28T09:00:00"]].concat();
    let ran = drill(&workspace, &server, &late).expect_status(2);
    assert!(ran.stderr.contains("and not at 2026-05-28T09:00:00"), "{}", ran.stderr);
    for wrong in ["yesterday", "2026-05-28T03:00:00.5", "2026-05-28T03:00:00Z"] {
        let ran = drill(&workspace, &server, &["--stop-at", wrong]).expect_status(2);
        assert!(ran.stderr.contains("a local time such as"), "{wrong}: {}", ran.stderr);
    }
    assert_eq!(server.count("iostall:drill_restore"), 0);
}

/// The story: the restore broke off, and nobody knew that a database in RESTORING was left, which took the disk.
#[test]
fn what_fails_is_the_answer_or_an_error_and_says_what_is_left() {
    let workspace = Workspace::new();
    let damaged =
        error(3183, "RESTORE detected an error on page (1:57) in database as read from the backup set.");
    let (server, asked) = playing(&damaged, false);
    let ran = drill(&workspace, &server, &[]).expect_status(1);
    assert!(
        ran.stdout.contains("THE DRILL FAILED: restore: ") && ran.stdout.contains("(error 3183)"),
        "{}",
        ran.stdout
    );
    assert_eq!(asked.lock().unwrap().len(), 2, "and dropped");
    let lookup = error(5133, r#"Directory lookup for the file "F:\drill\x.mdf" failed."#);
    let (server, _) = playing(&lookup, false);
    let ran = drill(&workspace, &server, &[]).expect_status(2);
    assert!(
        ran.stderr.contains("error 5133") && ran.stderr.contains("nothing is left of sales_drill"),
        "{}",
        ran.stderr
    );
    let (server, _) = playing(&DONE, false);
    server.answer("iostall:drill_checkdb", error(8928, "Object ID 99: Page (1:57) could not be processed."));
    server.answer_with("iostall:drill_check", "\nn\n0");
    let ran = drill(&workspace, &server, &["--check", "EXECUTE dbo.zero", "--keep"]).expect_status(1);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("FAILED in 2 checks, the first: CHECKDB") && said.contains("(error 8928)"),
        "{said}"
    );
    assert!(said.contains("it gave 0") && said.contains("the database sales_drill was kept"), "{said}");
    assert_eq!(server.count("iostall:drill_drop"), 0);
}

/// The story: a script dropped what was called like its copy, and somebody had restored the real one under that name.
#[test]
fn a_database_with_other_files_is_never_dropped() {
    let workspace = Workspace::new();
    let (server, _) = playing(&DONE, true);
    let ran = drill(&workspace, &server, &[]).expect_status(0);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("it is not the one that the drill made"), "{said}");
    assert_eq!(server.count("iostall:drill_drop"), 0);
}

#[test]
fn a_signal_ends_the_restore_on_the_server_and_drops_what_it_left() {
    let workspace = Workspace::new();
    let (server, asked) = playing(&DONE, false);
    server.first("iostall:backup_progress", rows(AT_43));
    let killed =
        Answer::After { tag: "iostall:backup_kill", times: 1, then: Box::new(noting(&asked, Answer::Gone)) };
    server.answer("iostall:drill_restore", killed);
    let running = Running::new(&mut command(&workspace, &server, &["--json", "d.json"]));
    server.wait_for("iostall:drill_restore", 1);
    running.signal("INT");
    let ran = running.ended().expect_status(130);
    assert!(ran.stdout.contains("NOT DRILLED to the end"), "{}", ran.stdout);
    assert!(server.was_asked("iostall:backup_kill", "KILL 57;"));
    let run = workspace.json("d.json");
    let checks = run["backup-drill"]["checks"].as_array().unwrap();
    assert!(checks.last().unwrap()["detail"].as_str().unwrap().contains("was dropped"), "{run}");
    assert_eq!(asked.lock().unwrap().len(), 2, "it was there, and is gone");
}
