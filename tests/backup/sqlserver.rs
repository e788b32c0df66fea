//! `iostall backup run` against the mock SQL Server of the collector's tests, which plays what a server says and when. It is no SQL
//! Server: what it proves is what iostall makes of the answers.

use std::process::Command;

use serde_json::Value;

use crate::running::Running;
use crate::sqlserver::server::{Answer, PASSWORD, ResultSet, Server, USER};
use crate::support::{Ran, Workspace};

const STRIPES: [&str; 2] = [r"E:\b\1.bak", r"F:\b\2.bak"];

/// A 2022 Enterprise with an ordinary database, an empty history and session 57.
pub(super) fn server() -> Server {
    let server = Server::start(None);
    server.answer_with("iostall:backup_server", &server_row(16, 1, "ONLINE", 0));
    server.answer_with("iostall:backup_secondary", "\nreplicas\n0");
    server.answer_with("iostall:backup_newest", "\nbackup_set_id\n1200");
    server.answer_with("iostall:backup_progress", GONE);
    server.answer_with("iostall:backup_history", NO_HISTORY);
    server.answer("iostall:backup_kill", Answer::Messages(Vec::new()));
    server
}

pub(super) fn server_row(version: u32, recovery_model: u32, state: &str, is_encrypted: u32) -> String {
    format!(
        "\nsession_id\tversion\tbuild\tengine_edition\tedition\trecovery_model\tstate\tis_encrypted\tis_snapshot\n\
         57\t{version}\t1000\t3\tEnterprise Edition (64-bit)\t{recovery_model}\t{state}\t{is_encrypted}\t0"
    )
}

pub(super) const GONE: &str = "\npercent_hundredths\tleft_ms";
pub(super) const AT_43: &str = "\npercent_hundredths\tleft_ms\n4310\t60000";
const AT_97: &str = "\npercent_hundredths\tleft_ms\n9700\t1000";
pub(super) const HISTORY: &str = "\nbackup_set_id\tposition\tsize_bytes\tcompressed_bytes\tseconds\tfinished\thas_checksums\tis_damaged\t\
                       first_lsn\tlast_lsn\n\
                       1201\t3\t1073741824\t268435456\t2\t2026-05-28T03:00:04\t1\t0\t41000000012800037\t41000000013600001";
pub(super) const NO_HISTORY: &str = "\nbackup_set_id\tposition\tsize_bytes\tcompressed_bytes\tseconds";

pub(super) fn rows(tsv: &str) -> Answer {
    Answer::Rows(ResultSet::from_tsv(tsv))
}

/// That answer to the BACKUP, once its progress was asked for `times` times.
pub(super) fn after_looks(times: usize, then: Answer) -> Answer {
    Answer::After { tag: "iostall:backup_progress", times, then: Box::new(then) }
}

pub(super) fn done() -> Answer {
    let messages = [
        "10 percent processed.",
        "BACKUP DATABASE successfully processed 131072 pages in 2.000 seconds (512.000 MB/sec).",
    ];
    Answer::Messages(messages.map(|text| (3014, text.to_owned())).to_vec())
}

pub(super) fn command(workspace: &Workspace, port: u16, more: &[&str]) -> Command {
    let url = format!("sqlserver://{USER}@127.0.0.1:{port}?password-env=MOCK_PASSWORD");
    let [one, two] = STRIPES;
    let fixed = ["backup", "run", "--sqlserver", &url, "--database", "sales"];
    let to: &[&str] = if more.contains(&"--to") { &[] } else { &["--to", one, "--to", two] };
    let mut command = workspace.command(&[&fixed, to, more].concat());
    command.env("MOCK_PASSWORD", PASSWORD);
    command
}

pub(super) fn run(workspace: &Workspace, server: &Server, more: &[&str]) -> Ran {
    command(workspace, server.port, more).output().expect("the binary runs").into()
}

pub(super) fn outcome(workspace: &Workspace) -> Value {
    workspace.json("run.json")["sql-server-backup"].clone()
}

/// The story: the statement of a nightly job was pieced together by hand, and half of what was meant was not in it.
#[test]
fn a_dry_run_prints_the_statement_and_asks_no_server() {
    let workspace = Workspace::new();
    let mut dry = command(
        &workspace,
        9,
        &["--dry-run", "--compression", "zstd:high", "--checksum", "--buffer-count", "64"],
    );
    let ran = Ran::from(dry.env_remove("MOCK_PASSWORD").output().unwrap()).expect_status(0);
    assert_eq!(
        ran.stdout,
        "-- Needs SQL Server 2025 or later.\nBACKUP DATABASE [sales]\nTO DISK = N'E:\\b\\1.bak',\n   DISK = N'F:\\b\\2.bak'\nWITH \
         CHECKSUM,\n     COMPRESSION (ALGORITHM = ZSTD, LEVEL = HIGH),\n     BUFFERCOUNT = 64;\n"
    );
    let mut job = command(&workspace, 9, &["--as", "agent-job"]);
    let job = Ran::from(job.output().unwrap()).expect_status(0);
    assert!(
        job.stdout.contains("sp_add_jobstep") && job.stdout.contains("N'BACKUP DATABASE [sales]"),
        "{}",
        job.stdout
    );
    let mut script = command(&workspace, 9, &["--as", "maintenance-script", "--compression", "on"]);
    let script = Ran::from(script.output().unwrap()).expect_status(0);
    assert!(
        script.stdout.contains(r"@Directory = N'E:\b,F:\b'") && script.stdout.contains("@NumberOfFiles = 2"),
        "{}",
        script.stdout
    );
}

/// The story: the second copy was made by a job that copied files while the next backup overwrote them.
#[test]
fn mirrors_and_parts_are_written_and_refused_by_their_rules() {
    let workspace = Workspace::new();
    let print = |more: &[&str]| {
        let mut dry = command(&workspace, 9, &[&["--dry-run"], more].concat());
        Ran::from(dry.output().unwrap())
    };
    let mirrors = ["--mirror-to", r"M:\1.bak", "--mirror-to", r"N:\2.bak"];
    let ran = print(&[&mirrors[..], &["--format"]].concat()).expect_status(0);
    assert!(
        ran.stdout.contains("MIRROR TO DISK = N'M:\\1.bak',\n   DISK = N'N:\\2.bak'\nWITH FORMAT;"),
        "{}",
        ran.stdout
    );
    let ran = print(&mirrors).expect_status(2);
    assert!(ran.stderr.contains("made with FORMAT") && ran.stderr.contains("--noinit"), "{}", ran.stderr);
    let ran = print(&["--mirror-to", r"M:\1.bak", "--format"]).expect_status(2);
    assert!(ran.stderr.contains("as many devices as the backup has stripes, 2"), "{}", ran.stderr);
    let ran = print(&["--read-write-filegroups", "--filegroup", "ARCHIVE"]).expect_status(0);
    assert!(
        ran.stdout.contains("[sales]\nREAD_WRITE_FILEGROUPS,\nFILEGROUP = N'ARCHIVE'\nTO DISK"),
        "{}",
        ran.stdout
    );
    let ran = print(&["--file", "sales_2", "--type", "log"]).expect_status(2);
    assert!(ran.stderr.contains("not for backups of the log"), "{}", ran.stderr);
    let (server, format) = (server(), [&mirrors[..], &["--format"]].concat());
    let standard = server_row(16, 1, "ONLINE", 0).replace("\t3\tEnterprise Edition", "\t2\tStandard Edition");
    server.answer_with("iostall:backup_server", &standard);
    let ran = run(&workspace, &server, &format).expect_status(2);
    assert!(ran.stderr.contains("Standard edition makes no mirrored backups"), "{}", ran.stderr);
}

/// The story: a test of the disks with NUL became the base of the differential backups.
#[test]
fn what_would_do_harm_or_is_no_statement_is_refused_with_what_to_do() {
    let workspace = Workspace::new();
    for (options, said, hint) in [
        (&["--to", "NUL"][..], "base of the next differential", "--copy-only"),
        (&["--to", "NUL", "--type", "log"], "chain of log backups", "--copy-only"),
        (&["--max-transfer-size", "100000"], "MAXTRANSFERSIZE = 100000", "multiple of 64K"),
        (&["--format", "--noinit"], "exclude each other", "leave one of them out"),
        (
            &["--compression", "zstd", "--for", "2022", "--dry-run"],
            "came with SQL Server 2025",
            "leave it out",
        ),
        (&["--to", "sales.bak", "--as", "maintenance-script"], "no directory", "whole path"),
    ] {
        let ran = Ran::from(command(&workspace, 9, options).output().unwrap()).expect_status(2);
        assert!(ran.stderr.contains(said) && ran.stderr.contains(hint), "{options:?}: {}", ran.stderr);
    }
    let url = ["backup", "run", "--sqlserver", "postgres://db1", "--database", "sales", "--to", "x"];
    let ran = workspace.run(&url).expect_status(2);
    assert!(ran.stderr.contains("postgres is no SQL Server"), "{}", ran.stderr);
}

#[test]
fn what_the_server_would_refuse_is_refused_before_it_begins() {
    let (workspace, server) = (Workspace::new(), server());
    for (row, options, said) in [
        (server_row(16, 3, "ONLINE", 0), &["--type", "log"][..], "recovery model SIMPLE"),
        (server_row(16, 1, "RESTORING", 0), &[], "is RESTORING, not ONLINE"),
        (server_row(15, 1, "ONLINE", 1), &["--compression", "on"], "MAXTRANSFERSIZE above 64K"),
        (server_row(10, 1, "ONLINE", 0), &["--compression", "zstd"], "this one is 2008 R2"),
        (server_row(9, 1, "ONLINE", 0), &[], "2008 R2 and later"),
    ] {
        server.answer_with("iostall:backup_server", &row);
        let ran = run(&workspace, &server, options).expect_status(2);
        assert!(ran.stderr.contains(said) && ran.stderr.contains("hint:"), "{said}: {}", ran.stderr);
    }
    assert_eq!(server.count("iostall:backup"), 0, "nothing was begun");
}

/// The story: the driver gives the server's messages to nobody, so a backup of an hour looked like one that hung.
#[test]
fn a_backup_is_followed_on_a_second_connection_and_kept_with_the_servers_own_figures() {
    let (workspace, server) = (Workspace::new(), server());
    server.first("iostall:backup_progress", rows(AT_43));
    server.first("iostall:backup_progress", rows(AT_97));
    server.answer("iostall:backup", after_looks(2, done()));
    server.answer_with("iostall:backup_history", HISTORY);
    let options = [
        "--stats",
        "10",
        "--checksum",
        "--compression",
        "on",
        "--require",
        "throughput>1MiB/s",
        "--json",
        "run.json",
    ];
    let ran = run(&workspace, &server, &options).expect_status(0);
    for percent in [40, 90, 100] {
        assert!(ran.stderr.contains(&format!("{percent} percent processed.")), "{}", ran.stderr);
    }
    assert!(server.was_asked("iostall:backup", "BACKUP DATABASE [sales]"));
    for option in ["INIT", "FORMAT", "SKIP"] {
        assert!(
            !server.was_asked("iostall:backup", option),
            "a file that is there is not overwritten: {option}"
        );
    }
    assert_eq!(server.logins().len(), 2, "{:?}", server.logins());
    // Reports show the name of a run beside those of other servers.
    assert!(workspace.json("run.json")["name"].to_string().contains("sales on sqlserver://"));
    let outcome = outcome(&workspace);
    assert_eq!((&outcome["end"], &outcome["version"]), (&"complete".into(), &"2022".into()), "{outcome}");
    assert_eq!(outcome["progress"][1]["percent_hundredths"], 9700, "{outcome}");
    let history = &outcome["history"];
    assert_eq!(
        (&history["bytes"], &history["stored_bytes"]),
        (&(1_u64 << 30).into(), &(1_u64 << 28).into()),
        "{history}"
    );
    let shown = workspace.run(&["runs", "show", "last"]).expect_status(0).stdout;
    assert!(
        shown.contains("processed 131072 pages (1 GiB)") && shown.contains("compressed 4.00 : 1"),
        "{shown}"
    );
    assert!(shown.contains(r"complete: E:\b\1.bak and 1 more"), "{shown}");
}

/// The story: the last message, 3013, said that BACKUP had ended abnormally; the cause stood before it and was not shown.
#[test]
fn the_cause_of_an_error_is_said_and_not_only_that_it_ended() {
    let (workspace, server) = (Workspace::new(), server());
    let errors = [
        (3201, r"Cannot open backup device 'E:\b\1.bak'. Operating system error 5(Access is denied.)."),
        (3013, "BACKUP DATABASE is terminating abnormally."),
    ];
    server.answer(
        "iostall:backup",
        Answer::Errors(errors.map(|(number, text)| (number, text.to_owned())).to_vec()),
    );
    let ran = run(&workspace, &server, &["--json", "run.json"]).expect_status(2);
    assert!(ran.stderr.contains("Access is denied") && ran.stderr.contains("error 3201"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("seen from the server") && !ran.stderr.contains("abnormally"),
        "{}",
        ran.stderr
    );
    let reason = outcome(&workspace)["end"]["failed"]["reason"].to_string();
    assert!(reason.contains("Access is denied"), "{reason}");
}

/// The story: a firewall cut the connection after an hour. The backup was reported as failed, was started again, and two ran at once.
#[test]
fn a_backup_whose_connection_breaks_is_followed_to_its_end_on_the_server() {
    let (workspace, server) = (Workspace::new(), server());
    for _ in 0..3 {
        server.first("iostall:backup_progress", rows(AT_43));
    }
    server.answer("iostall:backup", after_looks(1, Answer::Gone));
    server.answer_with("iostall:backup_history", HISTORY);
    let ran = run(&workspace, &server, &["--json", "run.json"]).expect_status(0);
    assert!(ran.stdout.contains("complete, although the connection broke"), "{}", ran.stdout);
    assert!(outcome(&workspace)["end"]["complete-alone"]["reason"].as_str().is_some());
    assert!(server.count("iostall:backup_progress") >= 4, "it was followed until it was gone");
}

#[test]
fn a_backup_whose_connection_breaks_and_that_the_server_gave_up_has_failed() {
    let (workspace, server) = (Workspace::new(), server());
    server.first("iostall:backup_progress", rows(AT_43));
    server.answer("iostall:backup", after_looks(1, Answer::Gone));
    let ran = run(&workspace, &server, &["--json", "run.json"]).expect_status(2);
    assert!(ran.stderr.contains("the server ended the backup"), "{}", ran.stderr);
}

#[test]
fn a_backup_that_nobody_can_look_at_any_more_may_still_be_running_and_the_error_says_so() {
    let (workspace, server) = (Workspace::new(), server());
    server.first("iostall:backup_progress", rows(AT_43));
    let denied = "VIEW SERVER STATE permission was denied on object 'server', database 'master'.";
    server.answer("iostall:backup_progress", Answer::Errors(vec![(300, denied.into())]));
    server.answer("iostall:backup", after_looks(1, Answer::Gone));
    let ran = run(&workspace, &server, &["--json", "run.json"]).expect_status(2);
    assert!(ran.stderr.contains("the server may still be writing"), "{}", ran.stderr);
    assert!(ran.stderr.contains("before you start it again"), "{}", ran.stderr);
    assert!(outcome(&workspace)["end"]["unknown"]["reason"].as_str().is_some());
}

/// The story: after Ctrl-C the server went on writing for an hour, since nobody had told it.
#[test]
fn a_signal_ends_the_backup_on_the_server_too() {
    let (workspace, server) = (Workspace::new(), server());
    server.first("iostall:backup_progress", rows(AT_43));
    let killed = Answer::After { tag: "iostall:backup_kill", times: 1, then: Box::new(Answer::Gone) };
    server.answer("iostall:backup", killed);
    let running = Running::new(&mut command(&workspace, server.port, &["--json", "run.json"]));
    server.wait_for("iostall:backup_progress", 1);
    running.signal("INT");
    let ran = running.ended().expect_status(130);
    assert!(server.was_asked("iostall:backup_kill", "KILL 57;"));
    assert!(
        ran.stderr.contains("session 57 was ended with KILL at 43.1 %; the server has ended it"),
        "{}",
        ran.stderr
    );
    assert_eq!(workspace.json("run.json")["interrupted"], true);
}

#[test]
fn a_login_that_may_not_kill_closes_the_connection_and_says_so() {
    let (workspace, server) = (Workspace::new(), server());
    server.first("iostall:backup_progress", rows(AT_43));
    server.answer(
        "iostall:backup_kill",
        Answer::Errors(vec![(6102, "User does not have permission to use the KILL statement.".into())]),
    );
    server.answer("iostall:backup", Answer::Nothing);
    let running = Running::new(&mut command(&workspace, server.port, &[]));
    server.wait_for("iostall:backup_progress", 1);
    running.signal("INT");
    let ran = running.ended().expect_status(130);
    assert!(ran.stderr.contains("the connection was closed at 43.1 %"), "{}", ran.stderr);
}

const HEADERS: &str = "\nPosition\tDatabaseName\n1\tsales\n2\tsales\n3\tSales";
const FILES: &str = "\nLogicalName\tPhysicalName\tSize\nsales\tE:\\data\\sales.mdf\t3221225472\nsales_log\tL:\\log\\sales.ldf\t536870912";

#[test]
fn a_backup_is_read_back_in_its_own_place() {
    let (workspace, server) = (Workspace::new(), server());
    server.answer("iostall:backup", done());
    server.answer_with("iostall:backup_history", HISTORY);
    server.answer("iostall:restore_verifyonly", done());
    server.answer_with("iostall:restore_headeronly", HEADERS);
    server.answer_with("iostall:restore_filelistonly", FILES);
    let ran = run(&workspace, &server, &["--verify", "--checksum", "--json", "run.json"]).expect_status(0);
    assert!(server.was_asked("iostall:restore_verifyonly", "FILE = 3"));
    assert!(server.was_asked("iostall:restore_verifyonly", "CHECKSUM"));
    let read_back = &outcome(&workspace)["read_back"];
    assert_eq!(
        (&read_back["backups"], &read_back["files"][1]["bytes"]),
        (&3.into(), &536_870_912.into()),
        "{read_back}"
    );
    assert!(ran.stderr.is_empty() || !ran.stderr.contains("error"), "{}", ran.stderr);
    let shown = workspace.run(&["runs", "show", "last"]).expect_status(0).stdout;
    assert!(shown.contains("read back without a fault") && shown.contains(r"L:\log\sales.ldf"), "{shown}");
}

/// The story: `--verify` read nothing back, because the login saw no history, or because the file had been named without its directory, and the
/// answer was "complete", with status 0.
#[test]
fn a_backup_is_read_back_also_where_the_history_does_not_say_its_place() {
    let (workspace, server) = (Workspace::new(), server());
    server.answer("iostall:backup", done());
    server.answer("iostall:restore_verifyonly", done());
    server.answer_with("iostall:restore_headeronly", HEADERS);
    server.answer_with("iostall:restore_filelistonly", FILES);
    run(&workspace, &server, &["--verify", "--json", "run.json"]).expect_status(0);
    assert!(server.was_asked("iostall:restore_verifyonly", "FILE = 3"), "the last in its files");
    assert_eq!(outcome(&workspace)["read_back"]["backups"], 3);
    let denied = (229, "The SELECT permission was denied on the object 'backupset'.".to_owned());
    server.answer("iostall:backup_newest", Answer::Errors(vec![denied]));
    run(&workspace, &server, &["--verify"]).expect_status(0);
    assert_eq!(server.count("iostall:restore_verifyonly"), 2);
    // Somebody else's log backup is the last one there: which is ours is not known.
    let other = "\nPosition\tDatabaseName\tBackupType\n1\tsales\t1\n2\tsales\t2";
    server.answer_with("iostall:restore_headeronly", other);
    let ran = run(&workspace, &server, &["--verify", "--json", "run.json"]).expect_status(1);
    assert!(ran.stdout.contains("NOT READ BACK"), "{}", ran.stdout);
    assert_eq!(server.count("iostall:restore_verifyonly"), 2, "nothing else is read in its place");
    assert!(outcome(&workspace)["not_read_back"].is_string());
    server.answer("iostall:restore_headeronly", Answer::Errors(vec![(3201, "Cannot open it.".into())]));
    let ran = run(&workspace, &server, &["--verify"]).expect_status(1);
    assert!(ran.stdout.contains("NOT READ BACK"), "{}", ran.stdout);
}

/// The story: the connection broke, the server completed the backup alone, and nobody read it back.
#[test]
fn a_backup_that_was_completed_alone_is_read_back_over_another_connection() {
    let (workspace, server) = (Workspace::new(), server());
    server.first("iostall:backup_progress", rows(AT_43));
    server.answer("iostall:backup", after_looks(1, Answer::Gone));
    server.answer_with("iostall:backup_history", HISTORY);
    server.answer("iostall:restore_verifyonly", done());
    server.answer_with("iostall:restore_headeronly", HEADERS);
    server.answer_with("iostall:restore_filelistonly", FILES);
    run(&workspace, &server, &["--verify", "--json", "run.json"]).expect_status(0);
    assert!(server.was_asked("iostall:restore_verifyonly", "FILE = 3"));
    assert!(outcome(&workspace)["read_back"]["failure"].is_null());
}

/// The story: a Managed Instance says of itself that it is of 2014, and every backup with a shared access signature was refused for that.
#[test]
fn what_a_service_takes_goes_by_its_edition_and_not_by_its_number() {
    let (workspace, server) = (Workspace::new(), server());
    let edition = |number: u32| {
        server_row(12, 1, "ONLINE", 0).replace("\t3\tEnterprise Edition", &format!("\t{number}\tSQL Azure"))
    };
    server.answer("iostall:backup", done());
    server.answer_with("iostall:backup_server", &edition(8));
    let blobs = [
        "--to",
        "https://a.blob.core.windows.net/c/1.bak",
        "--to",
        "https://a.blob.core.windows.net/c/2.bak",
    ];
    let with = |more: &[&'static str]| [&blobs[..], more].concat();
    run(&workspace, &server, &with(&["--copy-only"])).expect_status(0);
    for wrong in [&["--copy-only", "--format"][..], &[], &["--type", "log"]] {
        let ran = run(&workspace, &server, &with(wrong)).expect_status(2);
        assert!(ran.stderr.contains("Managed Instance"), "{}", ran.stderr);
    }
    for service in [5, 6, 11, 12] {
        server.answer_with("iostall:backup_server", &edition(service));
        let ran = run(&workspace, &server, &with(&["--copy-only"])).expect_status(2);
        assert!(ran.stderr.contains("no BACKUP statement"), "{service}: {}", ran.stderr);
    }
    assert_eq!(server.count("iostall:backup"), 1);
}

/// The story: `/dev/null` was typed where NUL was meant, and the chain of log backups was gone.
#[test]
fn every_spelling_of_nul_is_nul_and_other_devices_are_no_files() {
    let workspace = Workspace::new();
    let print = |more: &[&str]| {
        let mut dry = command(&workspace, 9, &[&["--dry-run"], more].concat());
        Ran::from(dry.output().unwrap())
    };
    for spelling in ["/dev/null", " NUL", "nul ", r"\\.\NUL", "//dev/./null", "NUL:"] {
        let ran = print(&["--type", "log", "--to", spelling]).expect_status(2);
        assert!(ran.stderr.contains("--copy-only"), "{spelling}: {}", ran.stderr);
    }
    for device in [r"\\.\Tape0", "/dev/sda", r"E:\b\con.bak", "COM1", r"\\.\pipe\x"] {
        let ran = print(&["--to", device]).expect_status(2);
        assert!(ran.stderr.contains("is a device"), "{device}: {}", ran.stderr);
    }
    let ran = print(&["--to", "NUL", "--copy-only", "--verify"]).expect_status(2);
    assert!(ran.stderr.contains("cannot be read back"), "{}", ran.stderr);
    print(&["--to", "/b/console.bak"]).expect_status(0);
}

#[test]
fn a_backup_that_cannot_be_read_back_is_no_success() {
    let (workspace, server) = (Workspace::new(), server());
    server.answer("iostall:backup", done());
    server.answer_with("iostall:backup_history", HISTORY);
    let errors = vec![
        (3203, r"Read on 'F:\b\2.bak' failed: 23(Data error (cyclic redundancy check).)".to_owned()),
        (3013, "VERIFY DATABASE is terminating abnormally.".to_owned()),
    ];
    server.answer("iostall:restore_verifyonly", Answer::Errors(errors));
    let ran = run(&workspace, &server, &["--verify"]).expect_status(1);
    assert!(
        ran.stdout.contains("COULD NOT BE READ BACK") && ran.stdout.contains("cyclic redundancy"),
        "{}",
        ran.stdout
    );
    server.answer("iostall:restore_verifyonly", done());
    server.answer_with("iostall:restore_headeronly", "\nPosition\tDatabaseName\n3\tother");
    let ran = run(&workspace, &server, &["--verify"]).expect_status(1);
    assert!(ran.stdout.contains("no backup of this database in place 3"), "{}", ran.stdout);
}

/// The story: the login could not read msdb, and the report showed a backup of nothing at 0 MiB/s.
#[test]
fn a_backup_without_an_entry_in_the_history_is_made_and_its_figures_are_unknown() {
    let (workspace, server) = (Workspace::new(), server());
    server.answer(
        "iostall:backup_newest",
        Answer::Errors(vec![(229, "The SELECT permission was denied on the object 'backupset'.".into())]),
    );
    server.answer("iostall:backup", done());
    let ran = run(&workspace, &server, &["--json", "run.json"]).expect_status(0);
    assert!(ran.stdout.contains("size and rate are not known"), "{}", ran.stdout);
    assert!(outcome(&workspace)["history"].is_null());
}
