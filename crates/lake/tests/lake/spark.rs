//! The queries of `lake/` on a cluster of Spark with two workers, unchanged. At length only: its parts are 450 MB.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use iostall_store::History as _;
use iostall_test_programs::{maven, python};
use serde_json::Value;

use crate::postgres::{Postgres, day, fill};
use crate::queries::{figures, picked, queries};
use crate::{lake, printed, skip};

const PYSPARK: &str = "pyspark==4.0.1";
const JARS: [&str; 2] =
    ["org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.1", "org.postgresql:postgresql:42.7.8"];

/// A Python with Spark, and its jars; `None` where they cannot be had.
fn spark() -> Option<(PathBuf, PathBuf)> {
    Some((python("pyspark-4.0.1", &[PYSPARK])?.join("python"), maven("lake-jars-1.10.1", &JARS)?))
}

#[test]
fn spark_gives_the_figures_of_the_repository() {
    if std::env::var_os("IOSTALL_TEST_LONG").is_none() {
        return;
    }
    let Some(server) = Postgres::start() else { return };
    let Some((python, jars)) = spark() else {
        skip("the lake on Spark", "pyspark or its jars cannot be had");
        return;
    };
    let mut history = server.history();
    // The queries ask about all there is: two whole days.
    fill(&mut history, "sqlserver://db1", day(1), 288);
    fill(&mut history, "sqlserver://db2", day(1), 200);
    history.finish().unwrap();
    let here = figures(&history);
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("lake");
    printed(&lake(&["move", &server.url(), "--to", to.to_str().unwrap()]));
    let sql = directory.path().join("queries.json");
    fs::write(&sql, serde_json::to_string(&queries()).unwrap()).unwrap();
    let output = Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lake/spark.py"))
        .args([&jars, &sql, &to, directory.path()])
        .arg(server.jdbc_url())
        .stdin(Stdio::null())
        .stderr(fs::File::create(directory.path().join("log")).unwrap())
        .output()
        .unwrap();
    let log = fs::read_to_string(directory.path().join("log")).unwrap();
    assert!(output.status.success(), "{}", &log[log.len().saturating_sub(4000)..]);
    let answers: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answers["workers"], 2);
    for name in queries().keys() {
        let rows: Vec<Vec<String>> = serde_json::from_value(answers[name].clone()).unwrap();
        assert!(!rows.is_empty(), "{name}");
        if let Some(expected) = here.get(name.as_str()) {
            assert_eq!(&picked(name, &rows), expected, "{name}");
        }
    }
}
