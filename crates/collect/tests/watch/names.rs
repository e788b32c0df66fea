//! Names that are no text to us.

use iostall_model::Kind;

use crate::servers::postgres::Postgres;
use crate::servers::{read, skip, source};

/// Whoever may create a database chooses its name, and an administrator pastes the hint.
#[test]
fn a_hint_quotes_whatever_name_a_database_has() {
    let Some(server) = Postgres::start(15, None) else {
        return skip("PostgreSQL 15 is not installed: hints about hostile names were not tested");
    };
    server.sql("CREATE ROLE iostall LOGIN");
    for name in ["\"x\"\" TO evil; --\"", "\"y\u{1b}[2J\""] {
        server.sql(&format!("CREATE DATABASE {name}"));
        server.sql(&format!("REVOKE CONNECT ON DATABASE {name} FROM PUBLIC"));
    }
    let sample = read(source(&format!("postgres://iostall@127.0.0.1:{}", server.port)).as_mut());
    let hint = |part: &str| {
        let about = sample.warnings.iter().find(|warning| warning.message.contains(part)).unwrap();
        about.hint.clone().unwrap()
    };
    assert!(
        hint("TO evil").starts_with("GRANT CONNECT ON DATABASE \"x\"\" TO evil; --\" TO \"iostall\";"),
        "{}",
        hint("TO evil")
    );
    assert!(hint("[2J").contains("characters that cannot be shown") && !hint("[2J").contains('\u{1b}'));
}

/// One table with such a name in a database without an encoding took all of it out of sight, and one database with such
/// a name made the collector's thread panic.
#[test]
fn names_that_are_not_utf8_are_shown_as_well_as_can_be_and_cost_nothing_else() {
    let Some(server) = Postgres::start(15, None) else {
        return skip("PostgreSQL 15 is not installed: names that are not UTF-8 were not tested");
    };
    server.sql(include_str!("../../testdata/sql/names_without_encoding.sql"));
    server.sql(include_str!("../../testdata/sql/names_make_database.sql"));
    server.sql_in("old", include_str!("../../testdata/sql/names_not_utf8.sql"));
    for database in ["", "/old"] {
        let url = format!("postgres://postgres@127.0.0.1:{}{database}", server.port);
        let sample = read(source(&url).as_mut());
        let names = |kind: Kind| {
            let rows = sample.rows.iter().filter(move |row| row.subject.kind == kind);
            rows.map(|row| row.subject.name.as_str()).collect::<Vec<_>>()
        };
        assert!(names(Kind::PostgresTable).contains(&"public.k\u{fffd}se@"), "{url}");
        assert!(names(Kind::PostgresDatabase).contains(&"k\u{fffd}se"), "{url}");
        assert!(names(Kind::PostgresDatabase).contains(&"old"), "{url}");
        let warnings: Vec<&str> = sample.warnings.iter().map(|warning| warning.message.as_str()).collect();
        assert!(
            warnings.iter().any(|said| said.contains("k\u{fffd}se: the name is not UTF-8")),
            "{warnings:?}"
        );
        assert!(!warnings.iter().any(|said| said.contains("refused")), "{warnings:?}");
    }
}

/// Two tables of a report were one line.
#[test]
fn names_with_a_full_stop_are_two() {
    let Some(server) = Postgres::start(15, None) else {
        return skip("PostgreSQL 15 is not installed: names with a full stop were not tested");
    };
    server.sql(include_str!("../../testdata/sql/names_with_full_stop.sql"));
    let sample = read(source(&format!("postgres://postgres@127.0.0.1:{}", server.port)).as_mut());
    let names: Vec<&str> = sample.rows.iter().map(|row| row.subject.name.as_str()).collect();
    assert!(names.contains(&"\"a.b\".c") && names.contains(&"a.\"b.c\""), "{names:?}");
}
