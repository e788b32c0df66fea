//! `iostall collect` against the crate's mock SQL Server.

use crate::support::{Ran, Workspace};

#[path = "../crates/collect/tests/sqlserver/http.rs"]
pub(crate) mod http;
#[path = "../crates/collect/tests/sqlserver/server.rs"]
#[expect(dead_code, reason = "the crate's own tests use the rest of it")]
pub(crate) mod server;
#[path = "../crates/collect/tests/sqlserver/tls.rs"]
#[expect(dead_code, reason = "the crate's own tests use the rest of it")]
pub(crate) mod tls;
#[path = "../crates/collect/tests/sqlserver/tokens.rs"]
mod tokens;

use server::{Answer, PASSWORD, Server, USER};

const SAMPLES: &str = include_str!("../crates/collect/testdata/sqlserver/history_samples.tsv");
const FILES: &str = include_str!("../crates/collect/testdata/sqlserver/history_files.tsv");
const GAPS: &str = include_str!("../crates/collect/testdata/sqlserver/history_gaps.tsv");

/// Runs iostall with the password in its environment and a long timeout.
fn run(workspace: &Workspace, arguments: &[&str]) -> Ran {
    let patience: &[&str] = if arguments[0] == "collect" { &["--timeout", "10m"] } else { &[] };
    let mut command = workspace.command(&[arguments, patience].concat());
    command.env("MOCK_PASSWORD", PASSWORD).output().expect("the binary runs").into()
}

fn url(server: &Server, rest: &str) -> String {
    format!("sqlserver://{USER}@127.0.0.1:{}{rest}password-env=MOCK_PASSWORD", server.port)
}

#[test]
fn two_samples_of_a_sql_server_are_kept_and_reported_by_file_and_volume() {
    let (workspace, server) = (Workspace::new(), Server::start(None));
    let source = url(&server, "?");
    for (instance, files) in [
        (
            include_str!("../crates/collect/testdata/sqlserver/2019_instance_1.tsv"),
            include_str!("../crates/collect/testdata/sqlserver/2019_files_1.tsv"),
        ),
        (
            include_str!("../crates/collect/testdata/sqlserver/2019_instance_2.tsv"),
            include_str!("../crates/collect/testdata/sqlserver/2019_files_2.tsv"),
        ),
    ] {
        server.answer_with("iostall:instance", instance);
        server.answer_with("iostall:files", files);
        run(&workspace, &["collect", "once", &source]).expect_status(0);
    }
    let report = run(&workspace, &["report", "files", "--json", "-"]).expect_status(0);
    let json: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    let log = json["groups"].as_array().unwrap().iter().find(|group| group["name"] == r"L:\log\sales.ldf");
    let log = log.expect("the log is in the report");
    assert_eq!((&log["covered_s"], &log["stall_ms_per_write"]), (&60.0.into(), &1.5.into()), "{log}");
    assert!(log["stall_ms_per_read"].is_null(), "nothing was read of it: {log}");
    let report = run(&workspace, &["report", "volumes"]).expect_status(0);
    assert!(report.stdout.contains(r"L:\"), "{}", report.stdout);
}

#[test]
fn a_refused_login_ends_with_status_2_and_says_who_and_why() {
    let (workspace, server) = (Workspace::new(), Server::start(None));
    let wrong = format!("sqlserver://somebody@127.0.0.1:{}?password-env=MOCK_PASSWORD", server.port);
    let ran = run(&workspace, &["collect", "once", &wrong]).expect_status(2);
    assert!(ran.stderr.contains("refused the login \"somebody\""), "{}", ran.stderr);
}

#[test]
fn a_management_database_is_imported_once_and_what_came_since_the_next_time() {
    let (workspace, server) = (Workspace::new(), Server::start(None));
    let filters = "written by a test\nfilter\n\\N\ndatabase LIKE sales\n";
    server.answer_with("iostall:history_filters", filters);
    let none = include_str!("../crates/collect/testdata/sqlserver/history_samples_none.tsv");
    server.answer_once("iostall:history_samples", SAMPLES);
    server.answer_with("iostall:history_samples", none);
    server.answer_with("iostall:history_files", FILES);
    server.answer_with("iostall:history_gaps", GAPS);
    let source = url(&server, "/iostall?");
    let ran = run(&workspace, &["collect", "import", &source]).expect_status(0);
    let name = format!("sqlserver://127.0.0.1:{}/iostall?from=management-database", server.port);
    assert!(ran.stdout.contains(&format!("{name}: 3 samples\n")), "{}", ran.stdout);
    assert!(ran.stdout.contains(&format!("{name} (database LIKE sales): 0 samples\n")), "{}", ran.stdout);

    let report = ["report", "files", "--since", "2026-05-28", "--until", "2026-05-29", "--json", "-"];
    let before = run(&workspace, &report).expect_status(0);
    let json: serde_json::Value = serde_json::from_str(&before.stdout).unwrap();
    let data = json["groups"].as_array().unwrap().iter().find(|group| group["name"] == r"E:\data\sales.mdf");
    let data = data.expect("the data file is in the report");
    assert_eq!((&data["covered_s"], &data["stall_ms_per_read"]), (&30.0.into(), &2.5.into()), "{data}");
    assert!(before.stderr.contains("missed sample"), "the gap is told: {}", before.stderr);

    // The query asks only for samples later than the newest one imported.
    let ran = run(&workspace, &["collect", "import", &source]).expect_status(0);
    assert!(ran.stdout.contains(&format!("{name}: 0 samples\n")), "{}", ran.stdout);
    assert!(server.asked_with(1_780_000_030_123), "the time of the newest sample");
    assert_eq!(run(&workspace, &report).expect_status(0).stdout, before.stdout, "nothing twice");
}

#[test]
fn only_a_sql_server_with_its_database_can_be_imported() {
    let workspace = Workspace::new();
    for source in ["linux:", "sqlserver://iostall@127.0.0.1:9"] {
        let ran = run(&workspace, &["collect", "import", source]).expect_status(2);
        assert!(ran.stderr.contains("sqlserver://USER@HOST/DATABASE"), "{}", ran.stderr);
    }
    let (workspace, server) = (Workspace::new(), Server::start(None));
    let missing = "Invalid object name 'iostall.sample'.";
    server.answer("iostall:history_filters", Answer::Errors(vec![(208, missing.into())]));
    let ran = run(&workspace, &["collect", "import", &url(&server, "/shop?")]).expect_status(2);
    assert!(ran.stderr.contains("schema iostall"), "{}", ran.stderr);
}

/// Two samples of one server under two names, so that there are two sources.
fn two_sources(workspace: &Workspace, server: &Server) {
    for (instance, files) in [
        (
            include_str!("../crates/collect/testdata/sqlserver/2019_instance_1.tsv"),
            include_str!("../crates/collect/testdata/sqlserver/2019_files_1.tsv"),
        ),
        (
            include_str!("../crates/collect/testdata/sqlserver/2019_instance_2.tsv"),
            include_str!("../crates/collect/testdata/sqlserver/2019_files_2.tsv"),
        ),
    ] {
        server.answer_with("iostall:instance", instance);
        server.answer_with("iostall:files", files);
        for host in ["127.0.0.1", "localhost"] {
            let source = format!("sqlserver://{USER}@{host}:{}?password-env=MOCK_PASSWORD", server.port);
            run(workspace, &["collect", "once", &source]).expect_status(0);
        }
    }
}

/// `--top` was one limit over all sources: whole servers were in no table, no CSV and no JSON, and nothing said so.
#[test]
fn the_worst_of_each_source_are_shown_and_how_many_more_there_are() {
    let (workspace, server) = (Workspace::new(), Server::start(None));
    two_sources(&workspace, &server);
    let text = run(&workspace, &["report", "files", "--top", "1"]).expect_status(0).stdout;
    for source in ["sqlserver://127.0.0.1:", "sqlserver://localhost:"] {
        assert!(text.contains(source), "{source}: {text}");
    }
    // 2,000 writes of the log waited 3 s, 600 reads of the data 1.2 s.
    assert_eq!(text.matches(r"L:\log\sales.ldf").count(), 2, "{text}");
    assert_eq!(text.matches("more: --top").count(), 2, "{text}");
    let report = run(&workspace, &["report", "files", "--json", "-"]).expect_status(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&report).unwrap();
    let groups = json["groups"].as_array().unwrap();
    assert!(groups.len() >= 6 && json["groups_left_out"].as_object().unwrap().is_empty(), "{json}");
    let log = groups.iter().find(|group| group["name"] == r"L:\log\sales.ldf").unwrap();
    assert_eq!((&log["size_mib"], &log["stall_ms_per_s"]), (&512.0.into(), &50.0.into()), "{log}");
    let csv = run(&workspace, &["report", "files", "--csv", "-"]).expect_status(0).stdout;
    assert_eq!(csv.lines().count(), groups.len() + 1, "{csv}");
}

/// `--database SALES` kept nothing of a server that calls it `sales`, and said nothing; so did a name that is not there.
#[test]
fn a_database_is_found_in_any_case_and_one_that_is_not_there_is_a_warning() {
    let (workspace, server) = (Workspace::new(), Server::start(None));
    let instance = include_str!("../crates/collect/testdata/sqlserver/2019_instance_1.tsv");
    server.answer_with("iostall:instance", instance);
    let files = include_str!("../crates/collect/testdata/sqlserver/2019_files_1.tsv");
    server.answer_with("iostall:files", files);
    let source = url(&server, "?");
    let ran = run(&workspace, &["collect", "once", "--database", "SALES", &source]).expect_status(0);
    assert!(ran.stdout.contains(": 3 rows"), "{}", ran.stdout);
    let ran = run(&workspace, &["collect", "once", "--database", "salse", &source]).expect_status(0);
    assert!(ran.stderr.contains("there is no database of that name"), "{}", ran.stderr);
}
