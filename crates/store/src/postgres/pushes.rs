//! Releases in a repository, and what became of them on servers.

use tokio_postgres::Row;

use super::PostgresHistory;
use super::columns::{UtcMicros, storable};
use super::statements;
use crate::history::StoreId;
use crate::member::Member;
use crate::push::{
    AgentReport, NewPush, PushCounts, PushServer, PushedServer, StoredPush, UnreachedServer, WantedPush,
};
use crate::repository_error::RepositoryError;

fn column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn small(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

impl PostgresHistory {
    /// Runs `work` in one transaction, alone among those that change pushes.
    pub fn change_pushes<T, E: From<RepositoryError>>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let session = &self.database.session;
        let transaction = session.begin()?;
        session.execute(statements::LOCK_PUSHES, &[])?;
        let done = work(self)?;
        transaction.commit()?;
        Ok(done)
    }

    /// Stores a release whose file consists of `parts`. One that is there stays.
    pub fn add_release(
        &self,
        id: &str,
        version: u64,
        objects: &str,
        parts: &[&[u8]],
    ) -> Result<(), RepositoryError> {
        let session = &self.database.session;
        let count = small(u32::try_from(parts.len()).unwrap_or(u32::MAX));
        if session.execute(statements::ADD_RELEASE, &[&id, &column(version), &objects, &count])? == 0 {
            return Ok(());
        }
        for (number, part) in (0_i32..).zip(parts) {
            session.execute(statements::ADD_RELEASE_PART, &[&id, &number, part])?;
        }
        Ok(())
    }

    /// A part of the release that `push` wants of `member`; `None` if there is none.
    pub fn release_part(
        &self,
        member: &Member,
        push: u64,
        number: u32,
    ) -> Result<Option<Vec<u8>>, RepositoryError> {
        let values = (member.number, column(push), small(number));
        let session = &self.database.session;
        let rows = session.rows(statements::FIND_RELEASE_PART, &[&values.0, &values.1, &values.2])?;
        rows.first().map(|row| self.database.column(row, 0)).transpose()
    }

    pub fn put_push_agent(&self, member: &Member, report: &AgentReport<'_>) -> Result<(), RepositoryError> {
        let AgentReport { labels, objects } = report;
        let session = &self.database.session;
        let values = &[&member.number as _, labels as _, objects as _];
        session.execute(statements::PUT_PUSH_AGENT, values).map(drop)
    }

    /// Every server whose agent has asked and that has not been revoked since, by name.
    pub fn push_agents(&self) -> Result<Vec<PushServer>, RepositoryError> {
        let database = &self.database;
        let server = |row: &Row| {
            Ok(PushServer {
                store: database.parsed(row, 0)?,
                name: database.column(row, 1)?,
                labels: database.column(row, 2)?,
                objects: database.column(row, 3)?,
                last_contact: database.column::<UtcMicros>(row, 4)?.timestamp(),
            })
        };
        database.session.rows(statements::LIST_PUSH_AGENTS, &[])?.iter().map(server).collect()
    }

    /// The objects of every push that has reached a server, as documents, in order.
    pub fn wanted_objects(&self) -> Result<Vec<(StoreId, String)>, RepositoryError> {
        let database = &self.database;
        let wanted = |row: &Row| Ok((database.parsed(row, 0)?, database.column(row, 1)?));
        database.session.rows(statements::LIST_WANTED_OBJECTS, &[])?.iter().map(wanted).collect()
    }

    /// One of these servers of which another push wants something, if there is any.
    pub fn busy_server(&self, servers: &[(StoreId, u32)]) -> Result<Option<String>, RepositoryError> {
        let ids: Vec<String> = servers.iter().map(|(store, _)| store.to_string()).collect();
        let rows = self.database.session.rows(statements::BUSY_SERVERS, &[&ids])?;
        rows.first().map(|row| self.database.column(row, 0)).transpose()
    }

    /// Begins a push; the servers of its first ring are asked from now on. Its number.
    pub fn add_push(&self, push: &NewPush<'_>) -> Result<u64, RepositoryError> {
        let database = &self.database;
        let NewPush { release, failed_max, servers, rings } = push;
        let row = database.session.row(statements::ADD_PUSH, &[release, &small(*rings), failed_max])?;
        let number: i64 = database.column(&row, 0)?;
        let ids: Vec<String> = servers.iter().map(|(store, _)| store.to_string()).collect();
        let of: Vec<i32> = servers.iter().map(|(_, ring)| small(*ring)).collect();
        database.session.execute(statements::ADD_PUSH_SERVERS, &[&number, &ids, &of])?;
        Ok(number.unsigned_abs())
    }

    pub fn pushes(&self, only: Option<u64>) -> Result<Vec<StoredPush>, RepositoryError> {
        let database = &self.database;
        let count =
            |row: &Row, place| Ok::<_, RepositoryError>(database.column::<i64>(row, place)?.unsigned_abs());
        let push = |row: &Row| {
            Ok(StoredPush {
                number: count(row, 0)?,
                release: database.column(row, 1)?,
                version: count(row, 2)?,
                state: database.column(row, 3)?,
                ring: database.column::<i32>(row, 4)?.unsigned_abs(),
                rings: database.column::<i32>(row, 5)?.unsigned_abs(),
                failed_max: database.column(row, 6)?,
                begun: database.column::<UtcMicros>(row, 7)?.timestamp(),
                changed: database.column::<UtcMicros>(row, 8)?.timestamp(),
                counts: PushCounts {
                    waiting: count(row, 9)?,
                    asked: count(row, 10)?,
                    applied: count(row, 11)?,
                    failed: count(row, 12)?,
                    undo: count(row, 13)?,
                    undone: count(row, 14)?,
                    undo_failed: count(row, 15)?,
                    left: count(row, 16)?,
                    skipped: count(row, 17)?,
                },
            })
        };
        database.session.rows(statements::LIST_PUSHES, &[&only.map(column)])?.iter().map(push).collect()
    }

    pub fn pushed_servers(&self, push: u64) -> Result<Vec<PushedServer>, RepositoryError> {
        let database = &self.database;
        let server = |row: &Row| {
            let name: Option<String> = database.column(row, 0)?;
            Ok(PushedServer {
                name: name.map_or_else(|| database.column(row, 1), Ok)?,
                ring: database.column::<i32>(row, 2)?.unsigned_abs(),
                state: database.column(row, 3)?,
                reason: database.column(row, 4)?,
                reported: database.column::<Option<UtcMicros>>(row, 5)?.map(UtcMicros::timestamp),
            })
        };
        database.session.rows(statements::LIST_PUSHED_SERVERS, &[&column(push)])?.iter().map(server).collect()
    }

    pub fn wanted_push(&self, member: &Member) -> Result<Option<WantedPush>, RepositoryError> {
        let database = &self.database;
        let rows = database.session.rows(statements::FIND_WANTED, &[&member.number])?;
        let wanted = |row: &Row| {
            Ok(WantedPush {
                push: database.column::<i64>(row, 0)?.unsigned_abs(),
                release: database.column(row, 1)?,
                parts: database.column::<i32>(row, 2)?.unsigned_abs(),
                permit: database.column(row, 3)?,
            })
        };
        rows.first().map(wanted).transpose()
    }

    /// Takes note of what became of a push on `member`; whether that was still to be answered.
    pub fn put_pushed(
        &self,
        member: &Member,
        push: u64,
        is_undo: bool,
        state: &str,
        reason: Option<&str>,
    ) -> Result<bool, RepositoryError> {
        let (push, reason) = (column(push), reason.map(|reason| storable(reason).into_owned()));
        let session = &self.database.session;
        let changed =
            session.execute(statements::PUT_PUSHED, &[&push, &member.number, &state, &reason, &is_undo])?;
        Ok(changed > 0)
    }

    pub fn put_push_state(&self, push: u64, state: &str, ring: u32) -> Result<(), RepositoryError> {
        let values = (column(push), small(ring));
        self.database.session.execute(statements::PUT_PUSH_STATE, &[&values.0, &state, &values.1]).map(drop)
    }

    pub fn ask_ring(&self, push: u64, ring: u32) -> Result<(), RepositoryError> {
        let values = (column(push), small(ring));
        self.database.session.execute(statements::ASK_RING, &[&values.0, &values.1]).map(drop)
    }

    pub fn leave_servers(&self, push: u64) -> Result<(), RepositoryError> {
        self.database.session.execute(statements::LEAVE_SERVERS, &[&column(push)]).map(drop)
    }

    /// Waits no longer for the server of this name; whether something was wanted of it.
    pub fn skip_server(&self, push: u64, server: &str) -> Result<bool, RepositoryError> {
        let values = (column(push), storable(server).into_owned());
        let skipped = self.database.session.execute(statements::SKIP_SERVER, &[&values.0, &values.1])?;
        Ok(skipped > 0)
    }

    /// Waits no longer for servers that were to undo a push.
    pub fn skip_undo(&self, push: u64) -> Result<(), RepositoryError> {
        self.database.session.execute(statements::SKIP_UNDO, &[&column(push)]).map(drop)
    }

    pub fn unreached_servers(&self) -> Result<Vec<UnreachedServer>, RepositoryError> {
        let database = &self.database;
        let server = |row: &Row| Ok(UnreachedServer { name: database.column(row, 0)? });
        database.session.rows(statements::LIST_UNREACHED, &[])?.iter().map(server).collect()
    }

    /// Has every server that a push may have reached undo it.
    pub fn begin_undo(&self, push: &StoredPush, permit: &str) -> Result<(), RepositoryError> {
        let (number, ring) = (column(push.number), small(push.ring));
        let session = &self.database.session;
        session.execute(statements::BEGIN_UNDO, &[&number, &permit])?;
        session.execute(statements::UNDO_SERVERS, &[&number, &ring]).map(drop)
    }
}
