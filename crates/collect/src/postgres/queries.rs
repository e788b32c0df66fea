//! The queries for a server, by version.

use std::pin::pin;

use futures_util::TryStreamExt as _;
use iostall_connect::SourceError;
use iostall_connect::postgres::{Login, explain};
use iostall_model::{Kind, Row};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, Type};

use crate::remote::{Columns, Plan, for_version};

/// A statement, tagged so that a DBA can see where it comes from, with its text by the first version it
/// applies to.
pub(super) struct Query {
    pub(super) tag: &'static str,
    pub(super) texts: &'static [(u32, &'static str)],
}

pub(super) const VERSION: Query =
    Query { tag: "iostall:version", texts: &[(0, include_str!("sql/version.sql"))] };

pub(super) const INSTANCE: Query = Query {
    tag: "iostall:instance",
    texts: &[
        (12, include_str!("sql/instance_12.sql")),
        (14, include_str!("sql/instance_14.sql")),
        (16, include_str!("sql/instance_16.sql")),
    ],
};

pub(super) const PLACE: Query =
    Query { tag: "iostall:place", texts: &[(12, include_str!("sql/place_12.sql"))] };

pub(super) const TIMING: Query =
    Query { tag: "iostall:timing", texts: &[(12, include_str!("sql/timing_12.sql"))] };

pub(super) const DIRECTORY: Query =
    Query { tag: "iostall:directory", texts: &[(12, include_str!("sql/directory_12.sql"))] };

pub(super) const CONNECTABLE: Query =
    Query { tag: "iostall:connectable", texts: &[(12, include_str!("sql/connectable_12.sql"))] };

pub(super) struct Counted {
    pub(super) query: Query,
    pub(super) kind: fn(u32) -> Kind,
}

pub(super) const SERVER: [Counted; 4] = [
    Counted {
        query: Query {
            tag: "iostall:io",
            texts: &[(16, include_str!("sql/io_16.sql")), (18, include_str!("sql/io_18.sql"))],
        },
        kind: |version| if version >= 18 { Kind::PostgresIo } else { Kind::PostgresIoBlocks },
    },
    Counted {
        query: Query { tag: "iostall:databases", texts: &[(12, include_str!("sql/databases_12.sql"))] },
        kind: |_| Kind::PostgresDatabase,
    },
    Counted {
        query: Query {
            tag: "iostall:wal",
            texts: &[(14, include_str!("sql/wal_14.sql")), (18, include_str!("sql/wal_18.sql"))],
        },
        kind: |_| Kind::PostgresWal,
    },
    Counted {
        query: Query {
            tag: "iostall:checkpointer",
            texts: &[
                (12, include_str!("sql/checkpointer_12.sql")),
                (17, include_str!("sql/checkpointer_17.sql")),
            ],
        },
        kind: |_| Kind::PostgresCheckpointer,
    },
];

pub(super) const RELATIONS: [Counted; 2] = [
    Counted {
        query: Query { tag: "iostall:tables", texts: &[(12, include_str!("sql/tables_12.sql"))] },
        kind: |_| Kind::PostgresTable,
    },
    Counted {
        query: Query { tag: "iostall:indexes", texts: &[(12, include_str!("sql/indexes_12.sql"))] },
        kind: |_| Kind::PostgresIndex,
    },
];

impl Query {
    /// The result on a server of this version; empty if the version has nothing of the kind.
    pub(super) async fn ask(
        &self,
        login: &Login,
        client: &Client,
        version: u32,
    ) -> Result<Vec<tokio_postgres::Row>, SourceError> {
        let mut rows = Vec::new();
        self.each(login, client, version, |row| rows.push(row)).await?;
        Ok(rows)
    }

    /// A column of one of its rows; an error if it is missing or of another type, which no PostgreSQL
    /// returns.
    pub(super) fn column<'a, T: FromSql<'a>>(
        &self,
        login: &Login,
        row: &'a tokio_postgres::Row,
        name: &str,
    ) -> Result<T, SourceError> {
        row.try_get(name).map_err(|error| self.failed(login, explain(&error)))
    }

    fn failed(&self, login: &Login, reason: String) -> SourceError {
        SourceError::Query { source_name: login.name.clone(), query: self.tag, reason }
    }

    /// A server that is stopped refuses no query: grants do not help.
    fn broke_off(&self, login: &Login, error: &tokio_postgres::Error) -> SourceError {
        let stopped = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
        let reason = explain(error);
        if error.code().is_some_and(|code| stopped.contains(code)) {
            return SourceError::Connect { source_name: login.name.clone(), reason };
        }
        self.failed(login, reason)
    }

    /// Passes each row to `take` as it arrives, so that the driver's large rows do not accumulate.
    async fn each(
        &self,
        login: &Login,
        client: &Client,
        version: u32,
        mut take: impl FnMut(tokio_postgres::Row),
    ) -> Result<(), SourceError> {
        let Some(text) = for_version(self.texts, version) else { return Ok(()) };
        let rows = client
            .query_raw(text, std::iter::empty::<i32>())
            .await
            .map_err(|error| self.broke_off(login, &error))?;
        let mut rows = pin!(rows);
        while let Some(row) = rows.try_next().await.map_err(|error| self.broke_off(login, &error))? {
            login.allowance.take_row().map_err(|error| self.failed(login, error.to_string()))?;
            take(row);
        }
        Ok(())
    }
}

/// The rows of `all` for the server or database that `client` is connected to.
pub(super) async fn rows(
    all: impl IntoIterator<Item = &Counted>,
    login: &Login,
    client: &Client,
    version: u32,
) -> Result<Vec<Row>, SourceError> {
    let mut rows = Vec::new();
    for one in all {
        let (mut plan, kind) = (None, (one.kind)(version));
        let take = |row: tokio_postgres::Row| {
            let names = || row.columns().iter().map(tokio_postgres::Column::name);
            rows.push(plan.get_or_insert_with(|| Plan::of(names())).row(kind, &row));
        };
        one.query.each(login, client, version, take).await?;
    }
    Ok(rows)
}

impl Columns for tokio_postgres::Row {
    fn text(&self, index: usize) -> Option<String> {
        if *self.columns().get(index)?.type_() == Type::BYTEA {
            return self.try_get::<_, Option<&[u8]>>(index).ok().flatten().map(readable);
        }
        self.try_get(index).ok().flatten()
    }

    fn number(&self, index: usize) -> Option<u64> {
        u64::try_from(self.try_get::<_, Option<i64>>(index).ok().flatten()?).ok()
    }
}

/// A readable name. It need not be unique, because object ids identify rows.
pub(super) fn readable(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_carries_its_tag_so_that_a_dba_knows_who_asks() {
        let counted = SERVER.iter().chain(&RELATIONS).map(|one| &one.query);
        for query in counted.chain([&VERSION, &INSTANCE, &TIMING, &PLACE, &DIRECTORY, &CONNECTABLE]) {
            for (since, text) in query.texts {
                assert!(text.starts_with(&format!("/* {} */", query.tag)), "{} {since}", query.tag);
            }
        }
    }

    #[test]
    fn the_meaning_of_reads_changes_with_18_and_so_does_the_kind() {
        let io = &SERVER[0];
        assert_eq!((io.kind)(17), Kind::PostgresIoBlocks);
        assert_eq!((io.kind)(18), Kind::PostgresIo);
        assert!(for_version(io.query.texts, 15).is_none());
    }
}
