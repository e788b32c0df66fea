//! pyiceberg and DuckDB, which read what was written.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::skip;

const PACKAGES: [&str; 4] = ["pyiceberg[sql-postgres]==0.12.0", "pyarrow==26.0.1", "s3fs", "duckdb==2.0.0"];

/// A Python that has them; `None` where it cannot be had.
fn python() -> Option<PathBuf> {
    Some(iostall_test_programs::python("pyiceberg-0.12.0", &PACKAGES)?.join("python"))
}

/// A process that answers queries.
pub(crate) struct Reader {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Reader {
    /// On the catalogue at `url`, with properties of pyiceberg; `None`, with a word about it, where it cannot be had.
    pub(crate) fn start(url: &str, properties: &Value) -> Option<Self> {
        let Some(python) = python() else {
            skip("the lake", "pyiceberg and duckdb cannot be installed");
            return None;
        };
        let mut process = Command::new(python)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lake/reader.py"))
            .args([url, &properties.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let questions = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Some(Self { process, questions, answers })
    }

    fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.questions, "{question}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{question}: {error}: {line}"))
    }

    /// What DuckDB answers to a query on the tables `samples`, `hours` and `stalls` as they are now: rows of texts.
    pub(crate) fn query(&mut self, sql: &str) -> Vec<Vec<String>> {
        serde_json::from_value(self.ask(&json!({ "sql": sql }))).unwrap()
    }

    /// The addresses of all data files of the tables.
    pub(crate) fn files(&mut self) -> Vec<String> {
        serde_json::from_value(self.ask(&json!({ "files": true }))).unwrap()
    }

    /// For every row of samples its key, from the repository and from the lake, read in one snapshot of the database: (all, different,
    /// days in both, days).
    pub(crate) fn rows_of_both(&mut self) -> [u64; 4] {
        serde_json::from_value(self.ask(&json!({ "both": true }))).unwrap()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
