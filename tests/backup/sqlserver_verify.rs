//! `iostall backup verify --sqlserver` against the mock SQL Server of the collector's tests. It is no SQL Server: what it proves is what
//! iostall makes of the answers.

use crate::running::Running;
use crate::sqlserver::server::{Answer, PASSWORD, Server, USER};
use crate::support::{Ran, Workspace};

use super::sqlserver::{AT_43, rows, server};

const HEADERS: &str = "\nPosition\tDatabaseName\tServerName\tBackupType\tBackupName\tBackupSize\tCompressedBackupSize\t\
                       BackupFinishDate\tIsCopyOnly\tHasBackupChecksums\tIsDamaged\n\
                       1\tsales\tDB1\t1\tweekly\t1073741824\t268435456\t2026-05-24T03:00:04\t1\t1\t0\n\
                       2\tsales\tDB1\t5\tnightly\t104857600\t52428800\t2026-05-28T03:00:04\t0\t0\t0";
const FILES: &str = "\nLogicalName\tPhysicalName\tSize\nsales\tE:\\data\\sales.mdf\t3221225472\nsales_log\tL:\\log\\sales.ldf\t536870912";

fn command(workspace: &Workspace, server: &Server, more: &[&str]) -> std::process::Command {
    let url = format!("sqlserver://{USER}@127.0.0.1:{}?password-env=MOCK_PASSWORD", server.port);
    let fixed = ["backup", "verify", "--sqlserver", &url, "--from", r"E:\b\1.bak", "--from", r"F:\b\2.bak"];
    let mut command = workspace.command(&[&fixed, more].concat());
    command.env("MOCK_PASSWORD", PASSWORD);
    command
}

fn verify(workspace: &Workspace, server: &Server, more: &[&str]) -> Ran {
    command(workspace, server, more).output().expect("the binary runs").into()
}

fn readable() -> Server {
    let server = server();
    server.answer_with("iostall:restore_headeronly", HEADERS);
    server.answer_with("iostall:restore_filelistonly", FILES);
    server.answer("iostall:restore_verifyonly", Answer::Messages(Vec::new()));
    server
}

/// The story: the file held two backups, and VERIFYONLY without FILE read the first one, of last week.
#[test]
fn the_last_backup_of_the_files_is_read_unless_another_is_named() {
    let (workspace, server) = (Workspace::new(), readable());
    let ran = verify(&workspace, &server, &["--json", "v.json"]).expect_status(0);
    assert!(
        ran.stdout.contains("differential backup of sales of 2026-05-28T03:00:04, number 2 of 2"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("read back without a fault: 50 MiB"), "{}", ran.stdout);
    assert!(ran.stdout.contains("no checksums, so damaged pages were not looked for"), "{}", ran.stdout);
    assert!(ran.stdout.contains("weekly") || ran.stdout.contains("full"), "all are listed: {}", ran.stdout);
    assert!(ran.stdout.contains(r"L:\log\sales.ldf"), "{}", ran.stdout);
    for tag in ["iostall:restore_verifyonly", "iostall:restore_filelistonly"] {
        assert!(server.was_asked(tag, "FILE = 2") && server.was_asked(tag, r"DISK = N'F:\b\2.bak'"), "{tag}");
    }
    let json = workspace.json("v.json")["sql-server-verify"].clone();
    assert_eq!(
        (&json["backups"][0]["kind"], &json["backups"][0]["is_copy_only"]),
        (&"full".into(), &true.into())
    );
    assert_eq!(json["files"][1]["bytes"], 536_870_912, "{json}");
    verify(&workspace, &server, &["--file", "1"]).expect_status(0);
    assert!(server.was_asked("iostall:restore_verifyonly", "FILE = 1"));
    let none = verify(&workspace, &server, &["--file", "3"]).expect_status(2);
    assert!(
        none.stderr.contains("none of them is number 3") && none.stderr.contains("--headers"),
        "{}",
        none.stderr
    );
    let shown = workspace.run(&["runs", "show", "1"]).expect_status(0).stdout;
    assert!(shown.contains("number 2 of 2"), "{shown}");
}

#[test]
fn headers_alone_prove_nothing_and_say_so() {
    let (workspace, server) = (Workspace::new(), readable());
    let ran = verify(&workspace, &server, &["--headers"]).expect_status(0);
    assert!(ran.stdout.contains("only its headers were read"), "{}", ran.stdout);
    assert_eq!(server.count("iostall:restore_verifyonly"), 0);
}

#[test]
fn a_backup_that_cannot_be_read_to_its_end_is_an_answer_and_files_that_cannot_be_opened_are_an_error() {
    let (workspace, server) = (Workspace::new(), readable());
    let damaged = r"Read on 'F:\b\2.bak' failed: 23(Data error (cyclic redundancy check).)";
    let errors = [(3203, damaged), (3013, "VERIFY DATABASE is terminating abnormally.")];
    let errors = errors.map(|(number, text)| (number, text.to_owned())).to_vec();
    server.answer("iostall:restore_verifyonly", Answer::Errors(errors));
    let ran = verify(&workspace, &server, &["--json", "v.json"]).expect_status(1);
    assert!(
        ran.stdout.contains("COULD NOT BE READ BACK: ") && ran.stdout.contains("cyclic"),
        "{}",
        ran.stdout
    );
    let failure = workspace.json("v.json")["sql-server-verify"]["failure"].to_string();
    assert!(failure.contains("error 3203"), "{failure}");
    let absent = r"Cannot open backup device 'E:\b\1.bak'. Operating system error 2(not found).";
    server.answer("iostall:restore_headeronly", Answer::Errors(vec![(3201, absent.into())]));
    let ran = verify(&workspace, &server, &[]).expect_status(2);
    assert!(
        ran.stderr.contains("error 3201") && ran.stderr.contains("seen from the server"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_signal_ends_the_reading_on_the_server_too() {
    let (workspace, server) = (Workspace::new(), readable());
    server.first("iostall:backup_progress", rows(AT_43));
    let killed = Answer::After { tag: "iostall:backup_kill", times: 1, then: Box::new(Answer::Gone) };
    server.answer("iostall:restore_verifyonly", killed);
    let running = Running::new(&mut command(&workspace, &server, &[]));
    server.wait_for("iostall:restore_verifyonly", 1);
    running.signal("INT");
    let ran = running.ended().expect_status(130);
    assert!(ran.stderr.contains("KILL"), "{}", ran.stderr);
    assert!(server.was_asked("iostall:backup_kill", "KILL 57;"));
}
