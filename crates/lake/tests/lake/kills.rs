//! kill -9 between every two steps of a move.

use std::process::Command;

use iostall_lake::{MoveRequest, move_days};
use jiff::SignedDuration;
use serde_json::json;

use crate::files_below;
use crate::postgres::{Postgres, day, fill};
use crate::reader::Reader;

const URL: &str = "IOSTALL_LAKE_TEST_URL";
const TO: &str = "IOSTALL_LAKE_TEST_TO";
const STEP: &str = "IOSTALL_LAKE_TEST_STEP";

/// Not a test but the program that the one below kills: it ends itself after a step.
#[test]
fn child() {
    let (Ok(url), Ok(to), Ok(last)) = (std::env::var(URL), std::env::var(TO), std::env::var(STEP)) else {
        return;
    };
    let last: u32 = last.parse().unwrap();
    let mut step = 0;
    let request = MoveRequest { url, to, older_than: SignedDuration::from_hours(24) };
    move_days(&request, &mut |_| {
        step += 1;
        if step == last {
            let _ = Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
        }
    })
    .unwrap();
}

#[test]
fn a_move_that_is_killed_after_any_step_loses_no_row_and_shows_none_twice() {
    let Some(server) = Postgres::start() else { return };
    let Some(mut reader) = Reader::start(&server.python_url(), &json!({})) else { return };
    let mut history = server.history();
    fill(&mut history, "sqlserver://db1", day(1), 200);
    fill(&mut history, "sqlserver://db2", day(1), 200);
    let all = 4 * 200;
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("lake");
    let mut killed = 0;
    for step in 1.. {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "kills::child"]).env(URL, server.url()).env(TO, &to);
        let ended = child.env(STEP, step.to_string()).output().unwrap();
        assert_eq!(reader.rows_of_both(), [all, all, 0, 2], "after step {step}");
        if ended.status.success() {
            break;
        }
        assert_eq!(ended.status.code(), None, "{}", String::from_utf8_lossy(&ended.stdout));
        killed += 1;
    }
    // Begun, written, verified, nine files of three snapshots, moved; and what is deleted when it is begun again.
    assert!(killed > 13, "{killed}");
    assert_eq!(reader.query(include_str!("sql/counts_there.sql"))[0][0], all.to_string());
    let mut named: Vec<String> = reader.files().iter().map(|name| name.replace("file://", "")).collect();
    named.sort();
    assert_eq!(files_below(&to, ".parquet"), named, "nothing is left");
    assert_eq!(files_below(&to, ".metadata.json").len(), 6);
}
