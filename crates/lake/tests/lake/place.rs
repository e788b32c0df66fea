//! Places that are none, and repositories that cannot be used.

use serde_json::json;

use crate::lake;
use crate::postgres::{Postgres, day, fill};
use crate::reader::Reader;

fn refused(arguments: &[&str], words: &str) {
    let output = lake(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(words) && said.contains("hint: "), "{said}");
}

#[test]
fn a_move_that_cannot_be_leaves_the_day_where_it_is_and_says_why() {
    let Some(server) = Postgres::start() else { return };
    fill(&mut server.history(), "sqlserver://db1", day(1), 20);
    let directory = tempfile::tempdir().unwrap();
    let url = server.url();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    for odd in [path("a?b"), path("a#b"), path("a%41"), path("a\nb"), "gs://bucket/lake".into()] {
        refused(&["move", &url, "--to", &odd], "no place for a lake");
    }
    std::fs::write(path("file"), "mine").unwrap();
    refused(&["move", &url, "--to", &path("file")], "cannot use");
    refused(&["move", &url, "--to", &path("file/below")], "cannot use");
    refused(&["move", "mysql://root@127.0.0.1/x", "--to", &path("lake")], "not a PostgreSQL database");
    assert_eq!(std::fs::read(path("file")).unwrap(), b"mine");
    assert_eq!(server.sql(include_str!("sql/counts_here.sql")), "40");
    let output = lake(&["move", &url, "--to", &path("lake"), "--older-than", "1h"]);
    assert_eq!(output.status.code(), Some(2));
    // One that is there already is used, and what lies beside the tables stays.
    std::fs::create_dir(path("lake")).unwrap();
    std::fs::write(path("lake/notes"), "mine").unwrap();
    crate::printed(&lake(&["move", &url, "--to", &path("lake")]));
    assert_eq!(std::fs::read(path("lake/notes")).unwrap(), b"mine");
    fill(&mut server.history(), "sqlserver://db1", day(2), 20);
    refused(&["move", &url, "--to", &path("other")], "lies in file://");
    let Some(mut reader) = Reader::start(&server.python_url(), &json!({})) else { return };
    assert_eq!(reader.rows_of_both(), [80, 80, 0, 2]);
}
