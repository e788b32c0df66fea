//! PostgreSQL 12 to 18: `pg_stat_io`, relations, the log, checkpoints and databases, over one connection.
//!
//! There is no per-file latency in PostgreSQL: blocks per relation, time per backend, and the device's own
//! time from the host's side. What a version counts is in its `*.sql`, named after the first version it is for.

use std::time::Duration;

use iostall_model::{Epoch, Kind, Sample, Warning, WarningCode};
use tokio::runtime::Runtime;
use tokio_postgres::config::SslMode;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::{Address, Tls};
use crate::moment;
use crate::remote::{self, Value, for_version};
use crate::secret::Secret;
use crate::source::{Source, SourceError};
use crate::tls;

/// First version whose counters are read.
const OLDEST: u32 = 12;

const VERSION: &str = include_str!("sql/version.sql");
const INSTANCE: [(u32, &str); 3] = [
    (12, include_str!("sql/instance_12.sql")),
    (14, include_str!("sql/instance_14.sql")),
    (16, include_str!("sql/instance_16.sql")),
];

/// A query and what its rows are, by the first version it is for.
struct Query {
    tag: &'static str,
    kind: fn(u32) -> Kind,
    texts: &'static [(u32, &'static str)],
}

const QUERIES: [Query; 6] = [
    Query {
        tag: "iostall:io",
        kind: |version| if version >= 18 { Kind::PostgresIo } else { Kind::PostgresIoBlocks },
        texts: &[(16, include_str!("sql/io_16.sql")), (18, include_str!("sql/io_18.sql"))],
    },
    Query {
        tag: "iostall:databases",
        kind: |_| Kind::PostgresDatabase,
        texts: &[(12, include_str!("sql/databases_12.sql"))],
    },
    Query {
        tag: "iostall:tables",
        kind: |_| Kind::PostgresTable,
        texts: &[(12, include_str!("sql/tables_12.sql"))],
    },
    Query {
        tag: "iostall:indexes",
        kind: |_| Kind::PostgresIndex,
        texts: &[(12, include_str!("sql/indexes_12.sql"))],
    },
    Query {
        tag: "iostall:wal",
        kind: |_| Kind::PostgresWal,
        texts: &[(14, include_str!("sql/wal_14.sql")), (18, include_str!("sql/wal_18.sql"))],
    },
    Query {
        tag: "iostall:checkpointer",
        kind: |_| Kind::PostgresCheckpointer,
        texts: &[
            (12, include_str!("sql/checkpointer_12.sql")),
            (17, include_str!("sql/checkpointer_17.sql")),
        ],
    },
];

/// A PostgreSQL server, seen from one of its databases.
pub(crate) struct PostgresSource {
    address: Address,
    password: Secret,
    limit: Duration,
    runtime: Runtime,
    client: Option<Client>,
}

impl PostgresSource {
    pub(crate) fn new(address: Address, password: Secret, limit: Duration) -> Result<Self, SourceError> {
        let runtime = remote::runtime(&address)?;
        Ok(Self { address, password, limit, runtime, client: None })
    }

    fn config(&self) -> Config {
        let mut config = Config::new();
        config
            .host(&self.address.host)
            .port(self.address.port)
            .user(&self.address.user)
            .application_name("iostall")
            .connect_timeout(self.limit)
            .ssl_mode(if self.address.tls == Tls::Off { SslMode::Disable } else { SslMode::Require })
            .options(format!(
                "-c statement_timeout={} -c default_transaction_read_only=on",
                self.limit.as_millis()
            ));
        let database = if self.address.database.is_empty() { "postgres" } else { &self.address.database };
        config.dbname(database);
        if !self.password.is_empty() {
            config.password(self.password.reveal());
        }
        config
    }
}

impl Source for PostgresSource {
    fn read(&mut self) -> Result<Sample, SourceError> {
        let client = self.client.take().filter(|client| !client.is_closed());
        let work = async {
            let client = match client {
                Some(client) => client,
                None => connect(&self.address, &self.config()).await?,
            };
            let sample = read(&self.address, &client).await?;
            Ok((client, sample))
        };
        let (client, sample) = remote::bounded(&self.runtime, &self.address, self.limit, work)?;
        self.client = Some(client);
        Ok(sample)
    }
}

async fn connect(address: &Address, config: &Config) -> Result<Client, SourceError> {
    let refused = |error: tokio_postgres::Error| SourceError::Connect {
        source_name: address.to_string(),
        reason: explain(&error),
    };
    // The connection's task lives on this source's own runtime and moves whenever a reading waits.
    match tls::client(address)? {
        None => {
            let (client, connection) = config.connect(NoTls).await.map_err(refused)?;
            tokio::spawn(connection);
            Ok(client)
        }
        Some(tls) => {
            let (client, connection) = config.connect(MakeRustlsConnect::new(tls)).await.map_err(refused)?;
            tokio::spawn(connection);
            Ok(client)
        }
    }
}

/// The driver says "db error"; what happened is in the cause.
fn explain(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db_error) => db_error.message().to_owned(),
        None => std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string),
    }
}

async fn read(address: &Address, client: &Client) -> Result<Sample, SourceError> {
    let version = version(address, client).await?;
    let taken = moment::now();
    let instance = query(address, client, "iostall:instance", for_version(&INSTANCE, version)).await?;
    let mut warnings = Vec::new();
    let mut epoch = Epoch { version, ..Epoch::default() };
    if let Some(row) = instance.first() {
        epoch.instance = row.get("instance");
        epoch.process_start = row.get("process_start");
        epoch.counters_since = row.get::<_, Vec<Option<String>>>("marks").into_iter().flatten().collect();
        warnings = setting_warnings(version, row.get("io_timing"), row.get("wal_timing"));
    }
    let mut rows = Vec::new();
    for one in &QUERIES {
        let Some(text) = for_version(one.texts, version) else { continue };
        let kind = (one.kind)(version);
        let found = query(address, client, one.tag, Some(text)).await?;
        rows.extend(found.iter().map(|row| remote::row(kind, columns(row))));
    }
    Ok(Sample { taken, epoch, rows, warnings })
}

/// The major version, which chooses every other query.
async fn version(address: &Address, client: &Client) -> Result<u32, SourceError> {
    let rows = query(address, client, "iostall:version", Some(VERSION)).await?;
    let version = rows.first().map_or(0, |row| row.get::<_, i32>(0));
    match u32::try_from(version) {
        Ok(version) if version >= OLDEST => Ok(version),
        _ => Err(SourceError::TooOld {
            source_name: address.to_string(),
            version: version.to_string(),
            oldest: "PostgreSQL 12",
        }),
    }
}

async fn query(
    address: &Address,
    client: &Client,
    tag: &'static str,
    text: Option<&str>,
) -> Result<Vec<tokio_postgres::Row>, SourceError> {
    let Some(text) = text else { return Ok(Vec::new()) };
    client.query(text, &[]).await.map_err(|error| SourceError::Query {
        source_name: address.to_string(),
        query: tag,
        reason: explain(&error),
    })
}

/// The columns of a row by name. Counters are never negative; one that is would be damage, and is left out.
fn columns(row: &tokio_postgres::Row) -> impl Iterator<Item = (String, Value)> + '_ {
    row.columns().iter().enumerate().map(|(index, column)| {
        let value = if *column.type_() == Type::INT8 {
            row.get::<_, Option<i64>>(index)
                .and_then(|number| u64::try_from(number).ok())
                .map_or(Value::Missing, Value::Number)
        } else {
            row.try_get::<_, Option<String>>(index).ok().flatten().map_or(Value::Missing, Value::Text)
        };
        (column.name().to_owned(), value)
    })
}

/// What the server's settings keep from us.
fn setting_warnings(version: u32, io_timing: bool, wal_timing: bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if !io_timing {
        warnings.push(
            Warning::new(
                WarningCode::SettingOff,
                "track_io_timing is off: there is no stall for reads, writes and syncs of data files",
            )
            .hint("ALTER SYSTEM SET track_io_timing = on; SELECT pg_reload_conf(); pg_test_timing tells what it costs"),
        );
    }
    if !wal_timing {
        warnings.push(
            Warning::new(
                WarningCode::SettingOff,
                "track_wal_io_timing is off: there is no stall for the write-ahead log",
            )
            .hint("ALTER SYSTEM SET track_wal_io_timing = on; SELECT pg_reload_conf()"),
        );
    }
    if version < 16 {
        warnings.push(Warning::new(
            WarningCode::NotCounted,
            "before PostgreSQL 16 there is no pg_stat_io: I/O by kind of backend is not counted",
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_carries_its_tag_so_that_a_dba_knows_who_asks() {
        for query in &QUERIES {
            for (since, text) in query.texts {
                assert!(text.starts_with(&format!("/* {} */", query.tag)), "{} {since}", query.tag);
            }
        }
    }

    #[test]
    fn the_meaning_of_reads_changes_with_18_and_so_does_the_kind() {
        assert_eq!((QUERIES[0].kind)(17), Kind::PostgresIoBlocks);
        assert_eq!((QUERIES[0].kind)(18), Kind::PostgresIo);
        assert!(for_version(QUERIES[0].texts, 15).is_none());
    }

    #[test]
    fn what_is_switched_off_is_said() {
        assert!(setting_warnings(18, true, true).is_empty());
        let warnings = setting_warnings(15, false, false);
        assert_eq!(warnings.len(), 3);
        assert!(warnings[0].message.contains("track_io_timing"));
    }
}
