//! Every database of a server, and the volumes of this host that files lie on.

use iostall_collect::Filter;
use iostall_model::{Counter, Kind, Row, Sample, WarningCode};

use crate::servers::disk::Disk;
use crate::servers::mariadb::Mariadb;
use crate::servers::postgres::{MAKE_TABLE, Postgres, SCAN, table_in};
use crate::servers::{change, directory, directory_in, read, skip, source, until};

fn only(databases: &[&str]) -> Filter {
    Filter { databases: databases.iter().map(ToString::to_string).collect(), ..Filter::default() }
}

/// A server with the databases `postgres`, `sales` and `stock`, each with a table.
fn three_databases(version: u32) -> Option<Postgres> {
    let server = Postgres::start(version, None)?;
    for database in ["sales", "stock"] {
        server.sql(&format!("CREATE DATABASE {database}"));
    }
    for database in ["postgres", "sales", "stock"] {
        server.sql_in(database, MAKE_TABLE);
        server.sql_in(database, SCAN);
    }
    Some(server)
}

#[test]
fn tables_of_every_database_are_read_and_shared_ones_once() {
    for version in [15, 18] {
        let Some(server) = three_databases(version) else {
            skip(&format!("PostgreSQL {version} could not be had: its databases were not watched"));
            continue;
        };
        let mut source = source(&format!("postgres://postgres@127.0.0.1:{}", server.port));
        let before = read(source.as_mut());
        server.sql_in("stock", SCAN);
        let counted =
            || server.number_in("stock", include_str!("../../testdata/sql/postgres_table_blocks.sql"));
        let now = until("the scan to be counted", || {
            let sample = read(source.as_mut());
            let blocks = change(&before, &sample, table_in("stock"));
            blocks.delta().is_some_and(|delta| !delta.amounts.is_zero()).then_some(sample)
        });
        let row = now.rows.iter().find(|row| table_in("stock")(row)).unwrap();
        assert_eq!(row.counters.or_zero(Counter::Reads) + row.counters.or_zero(Counter::Hits), counted());
        let idle = change(&before, &now, table_in("sales"));
        assert!(idle.delta().unwrap().amounts.is_zero(), "{idle:?}");
        let shared = |row: &&Row| row.subject.name == "pg_catalog.pg_database";
        assert_eq!(now.rows.iter().filter(shared).count(), 1, "one row, whichever database shows it");
        let in_template = |row: &Row| {
            row.subject.kind == Kind::PostgresTable && row.subject.scope.name().starts_with("template")
        };
        assert!(!now.rows.iter().any(in_template), "a session in a template stops CREATE DATABASE");
    }
}

#[test]
fn the_collector_keeps_no_database_from_being_dropped_and_its_successor_is_another() {
    let Some(server) = three_databases(18) else { return skip("PostgreSQL 18 could not be had") };
    let mut source = source(&format!("postgres://postgres@127.0.0.1:{}", server.port));
    let before = read(source.as_mut());
    server.sql("DROP DATABASE sales");
    server.sql("CREATE DATABASE sales");
    let now = read(source.as_mut());
    // The number of a system table is the same in every database: that alone must not join the two.
    let catalog = |row: &Row| {
        row.subject.scope.database() == Some("sales") && row.subject.name == "pg_catalog.pg_class"
    };
    assert!(before.rows.iter().any(catalog));
    assert_eq!(change(&before, &now, catalog).delta(), None);
}

#[test]
fn a_database_that_refuses_is_a_warning_with_its_name_and_the_rest_is_read() {
    let Some(server) = three_databases(18) else { return skip("PostgreSQL 18 could not be had") };
    server.sql("CREATE ROLE iostall LOGIN; REVOKE CONNECT ON DATABASE sales FROM PUBLIC");
    server.sql("ALTER DATABASE stock CONNECTION LIMIT 0");
    let mut source = source(&format!("postgres://iostall@127.0.0.1:{}/postgres", server.port));
    let sample = read(source.as_mut());
    let about = |sample: &Sample, name: &str| {
        let of = |message: &str| message.contains(&format!("database {name}"));
        let warnings = sample.warnings.iter().filter(|warning| of(&warning.message));
        warnings.map(|warning| (warning.code, warning.hint.is_some())).collect::<Vec<_>>()
    };
    assert_eq!(about(&sample, "sales"), [(WarningCode::MissingGrant, true)]);
    assert_eq!(about(&sample, "stock"), [(WarningCode::NotRead, true)]);
    assert!(sample.rows.iter().any(|row| table_in("postgres")(row)));
    let place = sample.warnings.iter().find(|warning| warning.message.contains("data directory")).unwrap();
    assert!(place.hint.as_deref().unwrap().contains("grants postgres"));

    source.narrow(&only(&["postgres"]));
    let sample = read(source.as_mut());
    assert_eq!((about(&sample, "sales"), about(&sample, "stock")), (vec![], vec![]), "not asked, not missed");
}

#[test]
fn a_database_that_was_not_chosen_is_not_connected_to() {
    let Some(server) = three_databases(15) else { return skip("PostgreSQL 15 is not installed") };
    let mut source = source(&format!("postgres://postgres@127.0.0.1:{}", server.port));
    source.narrow(&only(&["sales"]));
    let sample = read(source.as_mut());
    assert!(sample.rows.iter().any(|row| table_in("sales")(row)));
    assert!(!sample.rows.iter().any(|row| table_in("stock")(row) || table_in("postgres")(row)));
}

/// The label of the device under `disk` in the rows of `linux:`, as reports put it.
fn device_label(disk: &Disk) -> String {
    let host = read(source("linux:").as_mut());
    let is_device = |row: &&Row| row.subject.kind == Kind::LinuxDevice && row.subject.name == disk.name();
    let subject = host.rows.iter().find(is_device).unwrap().subject.clone();
    format!("{} ({})", subject.name, subject.volume.unwrap())
}

#[test]
fn relations_lie_on_the_device_of_their_tablespace() {
    let Some(disk) = Disk::mount() else { return skip("loop devices need root: no tablespace was placed") };
    let Some(server) = Postgres::start(18, None) else { return skip("PostgreSQL 18 could not be had") };
    let place = directory_in(disk.point());
    let tablespace = include_str!("../../testdata/sql/place_postgres_tablespace.sql");
    server.sql(&tablespace.replace(":place", &place.path().display().to_string()));
    server.sql(include_str!("../../testdata/sql/place_postgres_tables.sql"));
    let sample = read(source(&format!("postgres://postgres@127.0.0.1:{}", server.port)).as_mut());
    let volume = |name: &str| {
        let row = sample.rows.iter().find(|row| row.subject.name == name).unwrap();
        row.subject.volume.clone().unwrap()
    };
    let label = device_label(&disk);
    assert_eq!(volume("public.moved"), label);
    assert_eq!(volume("public.moved_pkey"), label);
    assert!(
        volume("public.kept") != label && volume("public.kept").ends_with(')'),
        "{}",
        volume("public.kept")
    );
}

#[test]
fn files_of_mariadb_lie_on_the_device_of_their_directory() {
    let Some(disk) = Disk::mount() else { return skip("loop devices need root: no file was placed") };
    let Some(server) = Mariadb::start_in(directory(), true, &[]) else {
        return skip("MariaDB is not installed");
    };
    server.let_iostall_in();
    let place = directory_in(disk.point());
    server.sql("CREATE DATABASE shop");
    server.sql(include_str!("../../testdata/sql/place_mariadb_kept.sql"));
    let moved = include_str!("../../testdata/sql/place_mariadb_moved.sql");
    server.sql(&moved.replace(":place", &place.path().display().to_string()));
    let sample = read(source(&format!("mysql://iostall@127.0.0.1:{}", server.port)).as_mut());
    let volume = |end: &str| {
        let row = sample.rows.iter().find(|row| row.subject.name.ends_with(end)).unwrap();
        row.subject.volume.clone().unwrap()
    };
    let label = device_label(&disk);
    assert_eq!(volume("shop/moved.ibd"), label);
    assert!(
        volume("shop/kept.ibd") != label && volume("shop/kept.ibd").ends_with(')'),
        "{}",
        volume("kept.ibd")
    );
}

/// The marks of the counters' beginnings were texts in the server's time zone: another zone was a restart.
#[test]
fn another_time_zone_of_the_server_is_no_restart() {
    let Some(server) = Postgres::start(15, None) else {
        return skip("PostgreSQL 15 is not installed: its time zone was not changed");
    };
    let url = format!("postgres://postgres@127.0.0.1:{}", server.port);
    let before = read(source(&url).as_mut());
    server.sql("ALTER SYSTEM SET timezone = 'Asia/Tokyo'");
    server.sql(include_str!("../../testdata/sql/zone_reload.sql"));
    until("the time zone", || {
        let offset = server.number(include_str!("../../testdata/sql/zone_offset.sql"));
        (offset == 9).then_some(())
    });
    let now = read(source(&url).as_mut());
    assert_eq!(before.epoch, now.epoch);
}

/// The owner of a watched database decided what the monitor read there, and what it ran: with a superuser's login a program on the
/// server's host.
#[test]
fn nothing_of_the_owner_of_a_database_is_read_or_run_and_a_superusers_login_is_a_warning() {
    let Some(server) = Postgres::start(15, None) else { return skip("PostgreSQL 15 is not installed") };
    for statement in ["CREATE ROLE mallory", "CREATE ROLE mon LOGIN", "CREATE DATABASE own OWNER mallory"] {
        server.sql(statement);
    }
    let file = server.data().join("pwned");
    let hostile = include_str!("../../testdata/sql/postgres_hostile_owner.sql");
    server.sql_in("own", &hostile.replace("{file}", &file.display().to_string()));
    // It is a trap.
    server.number_in("own", include_str!("../../testdata/sql/postgres_send_name.sql"));
    std::fs::remove_file(&file).unwrap();

    for (role, is_superuser) in [("postgres", true), ("mon", false)] {
        for first in ["postgres", "own"] {
            let mut source = source(&format!("postgres://{role}@127.0.0.1:{}/{first}", server.port));
            let sample = read(source.as_mut());
            let of_own = |row: &&Row| row.subject.scope.database() == Some("own");
            let of_other = |row: &&Row| row.subject.scope.database() == Some("postgres");
            // A table of mallory's own is in the one and not in the other.
            let is_shared = |row: &&Row| !row.subject.name.contains("indexed");
            let tables = |of: &dyn Fn(&&Row) -> bool| sample.rows.iter().filter(is_shared).filter(of).count();
            assert_eq!(tables(&of_own), tables(&of_other), "{role} {first}: {:?}", sample.warnings);
            assert!(!source.settings().unwrap().is_empty());
            assert!(!file.exists(), "{role} {first}");
            let is_said = sample.warnings.iter().any(|warning| warning.code == WarningCode::TooManyRights);
            assert_eq!(is_said, is_superuser, "{:?}", sample.warnings);
        }
    }
}
