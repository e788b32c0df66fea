//! MySQL 8 itself, and not only MariaDB.

use iostall_collect::{Secret, SourceError, open};
use iostall_model::{Counter, Kind, Row, delta};

use crate::servers::mysql::Mysql;
use crate::servers::{change, read, skip, source, until};

const FILE_WRITES: &str = include_str!("../../testdata/sql/mysql_file_writes.sql");

fn file(end: &'static str) -> impl Fn(&Row) -> bool {
    move |row| row.subject.kind == Kind::MysqlFile && row.subject.name.ends_with(end)
}

#[test]
fn mysql_8_is_read_with_the_printed_grants_and_its_counters_are_the_servers_own() {
    let Some(server) = Mysql::start() else { return skip("MySQL 8 could not be had") };
    server.let_iostall_in();
    server.sql("CREATE DATABASE shop");
    server.sql(include_str!("../../testdata/sql/mysql_make_table.sql"));
    let over_tcp = || source(&format!("mysql://iostall@127.0.0.1:{}", server.port));
    // It wants the whole password, which whoever took its port could ask for, too; through the socket it gets it, and remembers.
    assert!(matches!(over_tcp().read(), Err(SourceError::Login { .. })));
    read(source(&format!("mysql://iostall@localhost?socket={}", server.socket().display())).as_mut());
    let mut source = over_tcp();
    // The server writes pages when it likes: both are read when it does not.
    let mut quiet = || {
        until("a quiet moment", || {
            let counted = server.number(FILE_WRITES);
            let sample = read(source.as_mut());
            (server.number(FILE_WRITES) == counted).then_some((counted, sample))
        })
    };
    let (counted_before, before) = quiet();
    server.sql(include_str!("../../testdata/sql/mysql_fill_table.sql"));
    server.sql("FLUSH TABLES shop.t FOR EXPORT");
    let (counted, now) = quiet();
    let table = *change(&before, &now, file("/shop/t.ibd")).delta().unwrap();
    assert_eq!(table.amounts.get(Counter::Writes), Some(counted - counted_before));
    assert!(counted > counted_before && table.write_stall_ns_mean().unwrap() > 0.0, "{table:?}");
    let redo = *change(&before, &now, |row| row.subject.kind == Kind::MysqlRedo).delta().unwrap();
    assert!(redo.amounts.or_zero(Counter::Syncs) > 0, "{redo:?}");
    // The story: commits waited for the log's syncs, and the log was shown as one that waits for nothing.
    let log = now.rows.iter().zip(delta::compare(&before, &now)).filter(|(row, _)| {
        row.subject.kind == Kind::MysqlFile
            && ["/ib_logfile", "/#ib_redo"].iter().any(|part| row.subject.name.contains(part))
    });
    let waited: u64 =
        log.filter_map(|(_, change)| Some(change.delta()?.amounts.or_zero(Counter::SyncStall))).sum();
    assert!(waited > 0, "{now:?}");
    assert!(now.warnings.iter().all(|warning| !warning.message.contains("performance_schema")), "{now:?}");
}

/// MySQL 8.0.15 has no cipher that today's libraries have. That was "Input/output error: Input/output error: received fatal
/// alert", and the server was asked again at every tick until it shut the host out.
#[test]
fn a_server_without_a_cipher_in_common_is_said_to_have_none() {
    let Some(server) = Mysql::start() else { return skip("MySQL 8 could not be had") };
    let url = format!("mysql://root@127.0.0.1:{}?tls=unverified", server.port);
    let mut source =
        open(url.parse().unwrap(), Secret::default(), std::time::Duration::from_secs(600)).unwrap();
    let error = source.read().unwrap_err();
    assert!(matches!(error, SourceError::Tls { .. }), "{error:?}");
    assert!(error.to_string().contains("TLS 1.2 with ECDHE"), "{error}");
    assert!(error.longest_pause().is_some(), "each try counts against this host");
}
