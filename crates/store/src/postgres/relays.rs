//! Servers that send through a relay: their keys, and what they are told to be there.

use jiff::Timestamp;

use super::PostgresHistory;
use super::statements;
use crate::fleet_secret::SecretHash;
use crate::history::{SourceId, StoreId, from_utc_ns};
use crate::member::{Member, RelayMember};
use crate::repository_error::RepositoryError;
use crate::sent_run::RunMark;

/// The number of a file as a column has it.
fn column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl PostgresHistory {
    /// The hashes of codes with which a server may join now or has joined lately.
    pub fn open_codes(&self) -> Result<Vec<SecretHash>, RepositoryError> {
        let database = &self.database;
        let rows = database.session.rows(statements::OPEN_CODES, &[])?;
        let hash = |row| {
            let bytes: &[u8] = database.column(row, 0)?;
            SecretHash::from_bytes(bytes)
                .ok_or_else(|| database.session.damaged("the hash of a code is none"))
        };
        rows.iter().map(hash).collect()
    }

    /// Puts the keys of the server of `store`, which has joined, in the place of earlier ones.
    pub fn put_relay_key(
        &self,
        store: StoreId,
        public_key: &[u8],
        confirm_key: &[u8],
    ) -> Result<(), RepositoryError> {
        let values = &self.database.session;
        values.execute(statements::PUT_RELAY_KEY, &[&store.to_string(), &public_key, &confirm_key]).map(drop)
    }

    /// The server of `store`, if it has joined through a relay.
    pub fn relay_member(&self, store: StoreId) -> Result<Option<RelayMember>, RepositoryError> {
        let database = &self.database;
        let rows = database.session.rows(statements::FIND_RELAY_MEMBER, &[&store.to_string()])?;
        let Some(row) = rows.first() else { return Ok(None) };
        let received: i64 = database.column(row, 6)?;
        Ok(Some(RelayMember {
            member: database.member_in(row)?,
            public_key: database.column(row, 4)?,
            confirm_key: database.column(row, 5)?,
            received: received.unsigned_abs(),
        }))
    }

    /// Notes the number of the last file of a server that was taken.
    pub fn put_received(&self, member: &Member, number: u64) -> Result<(), RepositoryError> {
        let values = (member.number, column(number));
        self.database.session.execute(statements::PUT_RECEIVED, &[&values.0, &values.1]).map(drop)
    }

    /// The sources of a server: the number of the last batch of each, and when its newest sample was taken.
    pub fn known_sources(
        &self,
        member: &Member,
    ) -> Result<Vec<(SourceId, u64, Option<Timestamp>)>, RepositoryError> {
        let database = &self.database;
        let rows = database.session.rows(statements::KNOWN_SOURCES, &[&member.number])?;
        let known = |row| {
            let (appended, newest): (i64, Option<i64>) = (database.column(row, 1)?, database.column(row, 2)?);
            Ok((database.parsed(row, 0)?, appended.cast_unsigned(), newest.map(from_utc_ns)))
        };
        rows.iter().map(known).collect()
    }

    /// The runs of a server, as they are there.
    pub fn run_marks(&self, member: &Member) -> Result<Vec<RunMark>, RepositoryError> {
        let database = &self.database;
        let rows = database.session.rows(statements::RUN_MARKS, &[&member.number])?;
        let mark = |row| {
            Ok(RunMark {
                id: database.parsed(row, 0)?,
                ended_utc: from_utc_ns(database.column(row, 1)?),
                interrupted: database.column(row, 2)?,
            })
        };
        rows.iter().map(mark).collect()
    }
}
