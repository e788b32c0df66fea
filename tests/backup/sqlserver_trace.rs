//! `iostall backup run --trace-flags` against the mock SQL Server: what the server says of its own work is read from its error log.

use super::sqlserver::{AT_43, HISTORY, command, done, outcome, rows, run, server};
use crate::running::Running;
use crate::sqlserver::server::{Answer, Server};
use crate::support::{Ran, Workspace};

pub(super) const SINCE: &str = "\nsince\n2026-05-28T03:00:00.123";
pub(super) const LINES: &str = "\nlogged\tsaid\n\
    2026-05-28T03:00:00.130\tDBCC TRACEON 3605, server process ID (SPID) 57. This is an informational message only.\n\
    2026-05-28T03:00:00.200\tBackup(sales): BACKUP DATABASE started\n\
    2026-05-28T03:00:00.210\tBackup/Restore buffer configuration parameters\n\
    2026-05-28T03:00:00.210\tMemory limit: 3325MB\n\
    2026-05-28T03:00:00.210\tBufferCount:                7\n\
    2026-05-28T03:00:00.210\tSets Of Buffers:            3\n\
    2026-05-28T03:00:00.210\tMaxTransferSize:            1024 KB\n\
    2026-05-28T03:00:00.210\tTotal buffer space:         21 MB\n\
    2026-05-28T03:00:00.300\tBackup(sales): Copying data files\n\
    2026-05-28T03:00:01.950\tBackup(sales): Writing history records\n\
    2026-05-28T03:00:02.200\tBackup(sales): BACKUP DATABASE finished";

fn traced() -> Server {
    let server = server();
    server.answer_with("iostall:backup_trace_on", SINCE);
    server.answer("iostall:backup_trace_off", Answer::Messages(Vec::new()));
    server.answer_with("iostall:backup_trace_lines", LINES);
    server.answer("iostall:backup", done());
    server.answer_with("iostall:backup_history", HISTORY);
    server
}

/// The story: nobody could say which BUFFERCOUNT a backup without one had taken, and what the seconds went into.
#[test]
fn buffers_and_steps_are_read_from_the_error_log_shown_and_kept() {
    let (workspace, server) = (Workspace::new(), traced());
    let ran = run(&workspace, &server, &["--trace-flags", "--json", "run.json"]).expect_status(0);
    assert!(server.was_asked("iostall:backup_trace_on", "TRACEON (3605, 3004, 3014, 3212, 3213)"));
    assert!(!server.was_asked("iostall:backup_trace_on", "-1"), "other sessions are as they were");
    assert_eq!(server.count("iostall:backup_trace_off"), 1);
    let trace = &outcome(&workspace)["trace"];
    assert_eq!((&trace["buffer_count"], &trace["buffer_sets"]), (&7.into(), &3.into()), "{trace}");
    assert_eq!(trace["memory_limit_bytes"], 3325_u64 << 20, "{trace}");
    let copying = &trace["steps"][1];
    assert_eq!((&copying["name"], &copying["elapsed_ms"]), (&"Copying data files".into(), &1650.into()));
    let shown = workspace.run(&["runs", "show", "last"]).expect_status(0).stdout;
    for stdout in [&ran.stdout, &shown] {
        assert!(stdout.contains("3 sets of 7 buffers of 1 MiB, 21 MiB in all"), "{stdout}");
        assert!(stdout.contains("Copying data files") && stdout.contains("3325MB"), "{stdout}");
    }
    // Nobody who does not ask for it gets it.
    run(&workspace, &server, &[]).expect_status(0);
    assert_eq!(server.count("iostall:backup_trace_on"), 1);
}

/// The story: the login of the nightly job lost a right, and there was no backup because there was no table.
#[test]
fn without_the_rights_the_backup_is_made_and_a_warning_says_what_is_missing() {
    let (workspace, server) = (Workspace::new(), traced());
    let denied = "User 'backup' does not have permission to run DBCC TRACEON.";
    server.answer("iostall:backup_trace_on", Answer::Errors(vec![(2571, denied.to_owned())]));
    let ran = run(&workspace, &server, &["--trace-flags", "--json", "run.json"]).expect_status(0);
    let said = workspace.json("run.json")["warnings"].to_string();
    assert!(said.contains("does not have permission") && said.contains("sysadmin"), "{said}{}", ran.stdout);
    assert_eq!(server.count("iostall:backup_trace_lines"), 0);
    server.answer_with("iostall:backup_trace_on", SINCE);
    server.answer_with("iostall:backup_trace_lines", "\nlogged\tsaid");
    run(&workspace, &server, &["--trace-flags", "--json", "run.json"]).expect_status(0);
    let said = workspace.json("run.json")["warnings"].to_string();
    assert!(said.contains("it has no line of this session"), "{said}");
    assert!(outcome(&workspace)["trace"].is_null());
}

#[test]
fn the_flags_end_with_the_session_of_a_backup_that_fails_or_is_stopped() {
    let (workspace, server) = (Workspace::new(), traced());
    let errors = [(3202, "Write on \"E:\\b\\1.bak\" failed: 112(There is not enough space on the disk.)")];
    let errors = errors.map(|(number, text)| (number, text.to_owned())).to_vec();
    server.answer("iostall:backup", Answer::Errors(errors));
    let ran = run(&workspace, &server, &["--trace-flags", "--json", "run.json"]).expect_status(2);
    assert!(ran.stderr.contains("not enough space"), "{}", ran.stderr);
    // Its connection is gone, and the log is read on another.
    assert_eq!(outcome(&workspace)["trace"]["buffer_count"], 7);
    assert_eq!(server.logins().len(), 3, "{:?}", server.logins());
    assert_eq!(server.count("iostall:backup_trace_off"), 0);

    server.first("iostall:backup_progress", rows(AT_43));
    let looks = server.count("iostall:backup_progress");
    let killed = Answer::After { tag: "iostall:backup_kill", times: 1, then: Box::new(Answer::Gone) };
    server.answer("iostall:backup", killed);
    let read = server.count("iostall:backup_trace_lines");
    let running = Running::new(&mut command(&workspace, server.port, &["--trace-flags"]));
    server.wait_for("iostall:backup_progress", looks + 1);
    running.signal("INT");
    running.ended().expect_status(130);
    assert!(server.was_asked("iostall:backup_kill", "KILL 57;"));
    assert_eq!(server.count("iostall:backup_trace_lines"), read, "who stops it does not wait");
}

#[test]
fn a_dry_run_prints_the_flags_and_the_forms_of_others_have_none() {
    let workspace = Workspace::new();
    let dry = command(&workspace, 9, &["--dry-run", "--trace-flags"]).output().unwrap();
    let ran = Ran::from(dry).expect_status(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[1], "DBCC TRACEON (3605, 3004, 3014, 3212, 3213) WITH NO_INFOMSGS;");
    assert!(lines.last().unwrap().starts_with("DBCC TRACEOFF (3605"), "{}", ran.stdout);
    let job = command(&workspace, 9, &["--as", "agent-job", "--trace-flags"]).output().unwrap();
    Ran::from(job).expect_status(2);
}
