//! `iostall backup tune --sqlserver` against the mock SQL Server of the collector's tests. Its times are made up: each statement gets
//! the milliseconds that a surface of the test has for it, and nobody waits for them. It is no SQL Server.

use std::process::Command;
use std::sync::{Arc, Mutex};

use super::sqlserver::{GONE, HISTORY, server};
use super::sqlserver_trace::{LINES, SINCE};
use crate::running::Running;
use crate::sqlserver::server::{Answer, Compute, PASSWORD, ResultSet, Server, USER};
use crate::support::{Ran, Workspace};

/// How long a backup without any options takes.
const USUAL_MS: f64 = 100_000.0;

fn command(workspace: &Workspace, port: u16, more: &[&str]) -> Command {
    let url = format!("sqlserver://{USER}@127.0.0.1:{port}?password-env=MOCK_PASSWORD");
    let fixed = ["backup", "tune", "--sqlserver", &url, "--database", "sales"];
    let mut command = workspace.command(&[&fixed, more].concat());
    command.env("MOCK_PASSWORD", PASSWORD);
    command
}

fn tune(workspace: &Workspace, server: &Server, more: &[&str]) -> Ran {
    command(workspace, server.port, more).output().expect("the binary runs").into()
}

fn tuned(workspace: &Workspace) -> serde_json::Value {
    workspace.json("t.json")["backup-tune"].clone()
}

fn words(tuned: &serde_json::Value) -> Vec<&str> {
    tuned["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

/// The number behind an option of the statement; 0 without it.
fn option(text: &str, name: &str) -> u64 {
    let Some((_, rest)) = text.split_once(&format!("{name} = ")) else { return 0 };
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// Four files, 64 buffers, transfers of 2 MiB and compression are best; BLOCKSIZE changes nothing.
fn surface(text: &str) -> f64 {
    let files = match text.matches("DISK = ").count() {
        1 => 1.0,
        2 => 1.2,
        4 => 1.35,
        _ => 1.1,
    };
    let buffers = match option(text, "BUFFERCOUNT") {
        16 => 0.9,
        32 => 1.15,
        64 => 1.3,
        128 => 1.2,
        _ => 1.0,
    };
    let transfer = match option(text, "MAXTRANSFERSIZE") {
        524_288 => 0.95,
        2_097_152 => 1.1,
        4_194_304 => 0.9,
        _ => 1.0,
    };
    let compression = if text.contains("NO_COMPRESSION") { 1.0 } else { 1.2 };
    USUAL_MS / (files * buffers * transfer * compression)
}

fn took(milliseconds: f64) -> Answer {
    Answer::Rows(ResultSet::from_tsv(&format!("\nelapsed_ms\n{milliseconds:.0}")))
}

/// Answers trials with the time that `surface` has for each, and with an error where a trial would do harm.
fn trials(server: &Server, surface: fn(&str) -> f64) {
    let answer = move |text: &str| {
        if text.contains("COPY_ONLY") {
            return took(surface(text));
        }
        Answer::Errors(vec![(50_000, "a trial without COPY_ONLY".into())])
    };
    server.answer("iostall:backup_trial", Answer::Computed(Compute(Arc::new(answer))));
}

/// A database of 1 GiB whose full backups took 100 s, on a server with 64 GiB free that does not compress unless it is asked to.
fn tunable() -> Server {
    let server = server();
    server.answer_with("iostall:tune_size", "\ndatabase_bytes\tcompresses\n1073741824\t0");
    server.answer_with("iostall:tune_past", "\nseconds\tsize_bytes\n100\t1073741824");
    server.answer_with("iostall:tune_memory", "\navailable_kb\n67108864");
    server.answer_with("iostall:backup_history", HISTORY);
    server.answer_with("iostall:backup_progress", GONE);
    server
}

/// The story: three nights of changing BUFFERCOUNT and the number of files by hand, each try noted on paper.
#[test]
fn a_search_through_backup_itself_finds_the_best_options_and_prints_them_three_ways() {
    let (workspace, server) = (Workspace::new(), tunable());
    trials(&server, surface);
    let ran = tune(&workspace, &server, &["--budget", "24h", "--json", "t.json"]).expect_status(0);
    assert!(ran.stderr.contains("takes 24h"), "the estimate comes first: {}", ran.stderr);
    assert!(
        ran.stderr.contains("whole backups with COPY_ONLY of 1 GiB, of which the newest took"),
        "{}",
        ran.stderr
    );
    let tuned = tuned(&workspace);
    let line = words(&tuned).join(" ");
    let to = "--to NUL --to NUL --to NUL --to NUL";
    assert!(line.starts_with("iostall backup run --sqlserver sqlserver://"), "{line}");
    assert!(line.contains(&format!("--database sales {to} --")), "{line}");
    assert!(
        line.ends_with("--buffer-count 64 --max-transfer-size 2M --compression on --copy-only"),
        "{line}"
    );
    let server_said = &tuned["server"];
    let statement = server_said["statement"].as_str().unwrap();
    for part in ["COPY_ONLY", "COMPRESSION", "BUFFERCOUNT = 64", "MAXTRANSFERSIZE = 2097152"] {
        assert!(statement.contains(part), "{part}: {statement}");
    }
    let script = server_said["script"].as_str().unwrap();
    for part in ["@NumberOfFiles = 4", "@BufferCount = 64", "@MaxTransferSize = 2097152", "@Compress = N'Y'"]
    {
        assert!(script.contains(part), "{part}: {script}");
    }
    assert!(ran.stdout.contains("4 files, BUFFERCOUNT 64, MAXTRANSFERSIZE 2 MiB"), "{}", ran.stdout);
    assert!(ran.stdout.contains("@BufferCount = 64") && ran.stdout.contains("T-SQL"), "{}", ran.stdout);
    let best = tuned["tried"].as_array().unwrap().iter().find(|one| one["is_best"] == true).unwrap();
    assert!(best["trials"].as_u64().unwrap() > 4, "it was compared with the defaults, turn by turn: {best}");
    let listed = workspace.run(&["runs"]).expect_status(0);
    assert!(listed.stdout.contains("backup-tune"), "{}", listed.stdout);
}

/// The story: a tuner said that BUFFERCOUNT 64 was better, and nobody could say than what: the server chooses its own.
#[test]
fn what_the_server_takes_by_itself_is_read_from_the_error_log_of_the_first_trial() {
    let (workspace, server) = (Workspace::new(), tunable());
    trials(&server, surface);
    server.answer_with("iostall:backup_trace_on", SINCE);
    server.answer("iostall:backup_trace_off", Answer::Messages(Vec::new()));
    server.answer_with("iostall:backup_trace_lines", LINES);
    let traced = ["--budget", "12h", "--trace-flags", "--json", "t.json"];
    let ran = tune(&workspace, &server, &traced).expect_status(0);
    let trace = &tuned(&workspace)["server"]["trace"];
    assert_eq!((&trace["buffer_count"], &trace["buffer_sets"]), (&7.into(), &3.into()), "{trace}");
    for part in
        ["3 sets of 7 buffers of 1 MiB", "Copying data files", "of the first trial, which had the defaults"]
    {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let counts = ["on", "off", "lines"].map(|what| server.count(&format!("iostall:backup_trace_{what}")));
    assert_eq!(counts, [1, 1, 1], "the other trials are without");

    // Who may not do that still gets an answer.
    let denied = "User 'backup' does not have permission to run DBCC TRACEON.";
    server.answer("iostall:backup_trace_on", Answer::Errors(vec![(2571, denied.to_owned())]));
    tune(&workspace, &server, &traced).expect_status(0);
    let run = workspace.json("t.json");
    assert!(run["warnings"].to_string().contains("sysadmin"), "{}", run["warnings"]);
    assert!(run["backup-tune"]["server"]["trace"].is_null());
    let ours = ["backup", "tune", "--trace-flags", "--to", "null:", "data"];
    assert!(workspace.run(&ours).expect_status(2).stderr.contains("--sqlserver"));
}

/// A tuner that names the luckiest setting sends people to change what works.
#[test]
fn where_no_option_changes_anything_the_defaults_stay() {
    let (workspace, server) = (Workspace::new(), tunable());
    trials(&server, |_| USUAL_MS);
    let ran = tune(&workspace, &server, &["--budget", "12h", "--json", "t.json"]).expect_status(0);
    assert!(ran.stdout.contains("no difference: keep the defaults"), "{}", ran.stdout);
    let tuned = tuned(&workspace);
    assert!(words(&tuned).ends_with(&["--database", "sales", "--to", "NUL", "--copy-only"]), "{tuned}");
    assert_eq!(tuned["limit"], "source", "{tuned}");
}

#[test]
fn what_was_given_is_kept_in_every_trial() {
    let (workspace, server) = (Workspace::new(), tunable());
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let theirs = Arc::clone(&seen);
    let answer = move |text: &str| {
        theirs.lock().unwrap().push(text.to_owned());
        took(surface(text))
    };
    server.answer("iostall:backup_trial", Answer::Computed(Compute(Arc::new(answer))));
    let given = ["--buffer-count", "32", "--compression", "off", "--checksum"];
    let ran = tune(&workspace, &server, &[&given[..], &["--budget", "3h", "--json", "t.json"]].concat());
    ran.expect_status(0);
    let seen = seen.lock().unwrap();
    assert!(seen.len() >= 24, "{}", seen.len());
    for text in seen.iter() {
        for part in ["COPY_ONLY", "CHECKSUM", "NO_COMPRESSION", "BUFFERCOUNT = 32"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let tuned = tuned(&workspace);
    assert!(words(&tuned).windows(2).any(|two| two == ["--buffer-count", "32"]), "{tuned}");
    assert!(words(&tuned).contains(&"--checksum"), "{tuned}");
}

/// The story: a search of two minutes began with a backup of an hour, and was killed during it.
#[test]
fn a_budget_that_holds_too_few_backups_is_refused_with_what_it_takes() {
    let (workspace, server) = (Workspace::new(), tunable());
    trials(&server, surface);
    let ran = tune(&workspace, &server, &["--budget", "10m"]).expect_status(2);
    for words in
        ["its newest full backup did", "24 of them", "--budget gives it more time", "smaller database"]
    {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    assert_eq!(server.count("iostall:backup_trial"), 0, "nothing was begun");
    // Nothing is known of it, so the first backup says.
    server.answer_with("iostall:tune_past", "\nseconds\tsize_bytes");
    let ran = tune(&workspace, &server, &["--budget", "10m"]).expect_status(2);
    assert!(ran.stderr.contains("the first one did"), "{}", ran.stderr);
    let memory = tune(&workspace, &server, &["--budget", "24h", "--memory", "1M"]).expect_status(2);
    assert!(memory.stderr.contains("--memory allows more"), "{}", memory.stderr);
}

const NO_FILE: &str = r"Cannot open backup device 'E:\t\1.bak'. Operating system error 2(The system cannot find the file specified.).";

/// The story: a tuning script wrote WITH FORMAT to a path that a nightly job used too, and the week's backups were gone.
#[test]
fn trials_write_only_over_files_that_they_made_themselves() {
    let (workspace, server) = (Workspace::new(), tunable());
    trials(&server, surface);
    let to = ["--to", r"E:\t\1.bak", "--to", r"F:\t\2.bak"];
    server.answer_with("iostall:backup_label", "\nMediaName\nnightly");
    let ran = tune(&workspace, &server, &[&to[..], &["--budget", "24h"]].concat()).expect_status(2);
    assert!(ran.stderr.contains(r"E:\t\1.bak is there already"), "{}", ran.stderr);
    assert!(ran.stderr.contains("never overwrites what it did not make"), "{}", ran.stderr);
    let denied = "Cannot open backup device. Operating system error 5(Access is denied.).";
    server.answer("iostall:backup_label", Answer::Errors(vec![(3201, denied.into())]));
    tune(&workspace, &server, &[&to[..], &["--budget", "24h"]].concat()).expect_status(2);
    assert_eq!(server.count("iostall:backup_trial"), 0, "nothing was written");

    // The server knows the media name that the first trial gave its files.
    let made: Arc<Mutex<Option<String>>> = Arc::default();
    let (theirs, labels) = (Arc::clone(&made), Arc::clone(&made));
    let answer = move |text: &str| {
        let media = text.split_once("MEDIANAME = N'").and_then(|(_, rest)| rest.split_once('\''));
        let mut made = theirs.lock().unwrap();
        let is_ours = media.is_some_and(|(name, _)| made.as_deref() == Some(name));
        match media {
            // Only the source alone is read to NUL.
            None => assert!(text.contains("N'NUL'"), "{text}"),
            Some(_) => assert_eq!(text.contains("FORMAT"), is_ours, "{text}"),
        }
        *made = media.map(|(name, _)| name.to_owned()).or(made.take());
        took(surface(text))
    };
    server.answer("iostall:backup_trial", Answer::Computed(Compute(Arc::new(answer))));
    let label = move |_: &str| match labels.lock().unwrap().as_ref() {
        None => Answer::Errors(vec![
            (3201, NO_FILE.into()),
            (3013, "RESTORE LABELONLY is terminating abnormally.".into()),
        ]),
        Some(name) => Answer::Rows(ResultSet::from_tsv(&format!("\nMediaName\n{name}"))),
    };
    server.answer("iostall:backup_label", Answer::Computed(Compute(Arc::new(label))));
    let ran = tune(&workspace, &server, &[&to[..], &["--budget", "6h", "--json", "t.json"]].concat());
    let ran = ran.expect_status(0);
    assert!(ran.stderr.contains("the files stay"), "{}", ran.stderr);
    let tuned = tuned(&workspace);
    assert_eq!(tuned["server"]["files_left"], serde_json::json!([r"E:\t\1.bak", r"F:\t\2.bak"]));
    assert!(
        !words(&tuned).contains(&"--copy-only"),
        "the real backup is what differential ones build on: {tuned}"
    );
    assert!(ran.stdout.contains("the last trial is in it"), "{}", ran.stdout);
}

#[test]
fn a_signal_ends_the_trial_on_the_server_and_the_answer_is_that_there_is_none() {
    let (workspace, server) = (Workspace::new(), tunable());
    let killed = Answer::After { tag: "iostall:backup_kill", times: 1, then: Box::new(Answer::Gone) };
    server.answer("iostall:backup_trial", killed);
    let mut command = command(&workspace, server.port, &["--budget", "24h", "--json", "t.json"]);
    let running = Running::new(&mut command);
    server.wait_for("iostall:backup_trial", 1);
    running.signal("INT");
    let ran = running.ended().expect_status(130);
    assert!(server.was_asked("iostall:backup_kill", "KILL 57;"));
    assert!(ran.stdout.contains("NOT DECIDED"), "{}", ran.stdout);
    assert_eq!(tuned(&workspace)["answer"], "undecided");
}

#[test]
fn options_of_the_two_tuners_do_not_mix() {
    let workspace = Workspace::new();
    for options in [
        &["--budget", "1h", "--frame", "1M"][..],
        &["--budget", "1h", "/var/lib/shop"],
        &["--to", "https://acc.blob.core.windows.net/b/1.bak"],
    ] {
        Ran::from(command(&workspace, 9, options).output().unwrap()).expect_status(2);
    }
    let own =
        workspace.run(&["backup", "tune", "--to", "null:", "--buffer-count", "9", "."]).expect_status(2);
    assert!(own.stderr.contains("--buffers 9"), "the option of the other tuner is named: {}", own.stderr);
}
