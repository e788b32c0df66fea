//! Days that are moved: the same figures afterwards, in the other place.

use std::fs;

use serde_json::json;

use crate::postgres::{Postgres, day, fill};
use crate::reader::Reader;
use crate::{files_below, lake, printed};

macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!("sql/", $name, ".sql"))
    };
}

/// Rows as psql prints them.
fn rows(text: &str) -> Vec<Vec<String>> {
    text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
}

/// The history of a fleet outgrew its repository, and was deleted by age.
#[test]
fn moved_days_have_the_figures_that_they_had_in_the_repository() {
    let Some(server) = Postgres::start() else { return };
    let Some(mut reader) = Reader::start(&server.python_url(), &json!({})) else { return };
    let mut history = server.history();
    // Two days and a half.
    fill(&mut history, "sqlserver://db1", day(1), 360);
    fill(&mut history, "sqlserver://db2", day(1), 200);
    history.finish_all();
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("a lake");
    let to = to.to_str().unwrap();
    let url = server.url();
    let (rows_here, hours_here) =
        (rows(&server.sql(sql!("rows_here"))), rows(&server.sql(sql!("hours_here"))));
    let stalls_here = rows(&server.sql(sql!("stalls_here")));
    let all_days = server.sql(sql!("days_here"));
    let asked = printed(&lake(&["move", &url, "--to", to, "--dry-run"]));
    assert_eq!(asked.lines().count(), 3, "{asked}");
    assert!(asked.contains("2026-03-01 would be moved: 576 rows of samples"), "{asked}");
    assert_eq!(server.sql(sql!("moves")), "0");

    // As if the third day were not old enough yet.
    let age = format!("{}h", (iostall_measure::clock::utc_now().duration_since(day(3))).as_hours());
    let moved = printed(&lake(&["move", &url, "--to", to, "--older-than", &age]));
    assert!(moved.lines().count() == 2 && moved.contains("2026-03-02 moved: "), "{moved}");
    let sorted = |mut rows: Vec<Vec<String>>| {
        rows.sort();
        rows
    };
    assert_eq!(sorted(reader.query(sql!("rows_there"))), sorted(rows_here));
    let floats = |rows: Vec<Vec<String>>| -> Vec<Vec<String>> {
        let number = |text: String| text.parse::<f64>().map_or(text, |value| value.to_string());
        sorted(rows.into_iter().map(|row| row.into_iter().map(number).collect()).collect())
    };
    let missing_alike = |rows: Vec<Vec<String>>| -> Vec<Vec<String>> {
        rows.into_iter().map(|row| row.into_iter().map(|text| text.replace("None", "")).collect()).collect()
    };
    assert_eq!(floats(missing_alike(reader.query(sql!("hours_there")))), floats(hours_here));
    assert_eq!(sorted(reader.query(sql!("stalls_there"))), sorted(stalls_here));
    // Only the third day is still here, and days as a whole.
    assert_eq!(server.sql(sql!("left_here")), "t|t|t");
    assert_eq!(server.sql(sql!("days_here")), all_days);
    let again = printed(&lake(&["move", &url, "--to", to, "--older-than", &age]));
    assert_eq!(again, "no day is old enough\n");
    let mut named: Vec<String> = reader.files().iter().map(|name| name.replace("file://", "")).collect();
    named.sort();
    assert_eq!(files_below(to.as_ref(), ".parquet"), named);

    // A server that was away sends what it has of a day that was moved: more of it, none of it twice.
    let before: u64 = reader.query(sql!("counts_there"))[0][0].parse().unwrap();
    let files: Vec<(String, Vec<u8>)> = files_below(to.as_ref(), "")
        .into_iter()
        .map(|name| (name.clone(), fs::read(name).unwrap()))
        .collect();
    let mut history = server.history();
    fill(&mut history, "sqlserver://db3", day(2), 30);
    history.finish_all();
    let late = printed(&lake(&["move", &url, "--to", to, "--older-than", &age]));
    assert!(late.starts_with("2026-03-02 moved: 60 rows of samples, 10 of hours"), "{late}");
    let after: u64 = reader.query(sql!("counts_there"))[0][0].parse().unwrap();
    assert_eq!(after, before + 60);
    let counts = reader.query(sql!("counts_there"));
    assert_eq!(counts[0][1], counts[0][2], "an hour is there once");
    for (name, bytes) in files {
        assert!(fs::read(&name).unwrap() == bytes, "{name} was written twice");
    }
}

trait FinishAll {
    fn finish_all(&mut self);
}

impl FinishAll for iostall_store::PostgresHistory {
    /// Writes the hours of everything so far.
    fn finish_all(&mut self) {
        iostall_store::History::finish(self).unwrap();
    }
}
