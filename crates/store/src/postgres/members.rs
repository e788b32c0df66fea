//! The servers that have joined the fleet of a repository: codes, keys, and what each may write.

mod batches;
#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;
use tokio_postgres::Row;

use super::PostgresHistory;
use super::columns::{UtcMicros, storable};
use super::database::Database;
use super::session::{OwnValues, Values};
use super::statements;
use crate::fleet_secret::SecretHash;
use crate::history::{SourceId, from_utc_ns};
use crate::member::{Contact, Joined, Joining, KnownServer, Member, MemberState, Membership};
use crate::repository_error::RepositoryError;

/// Sources of one server. Nobody has so many; without a limit, one server could fill the table.
pub(super) const SOURCES_MAX: i64 = 1_000;
/// Series of one server: with ten times as many as a large server has, reports on all servers would be slow.
pub(super) const SERIES_MAX: i64 = 250_000;
const INSTANCES_MAX: usize = 16;
/// So many returns to an earlier instance, each within an hour of the one before, are those of two machines. One may be that of a
/// container that was moved and came back.
const RETURNS_MAX: i32 = 2;

impl PostgresHistory {
    /// Adds a code with which one server may join, called `server_name` or else as its host, for so long.
    pub fn add_join_code(
        &self,
        code: &SecretHash,
        server_name: Option<&str>,
        valid: Duration,
    ) -> Result<(), RepositoryError> {
        let session = &self.database.session;
        session.execute(statements::DELETE_OLD_CODES, &[])?;
        let name = server_name.map(|name| storable(name).into_owned());
        session.execute(statements::ADD_CODE, &[&&code.0[..], &name, &valid.as_secs_f64()]).map(drop)
    }

    /// Makes a member of a server with a code. With the same key it may ask again.
    pub fn join(&self, joining: &Joining<'_>) -> Result<Joined, RepositoryError> {
        let database = &self.database;
        let session = &database.session;
        let transaction = session.begin()?;
        let rows = session.rows(statements::LOCK_CODE, &[&&joining.code.0[..]])?;
        let Some(row) = rows.first() else { return Ok(Joined::NoSuchCode) };
        let for_name: Option<String> = database.column(row, 0)?;
        let used_for: Option<&[u8]> = database.column(row, 2)?;
        if used_for.is_some_and(|hash| hash != joining.key.0) {
            return Ok(Joined::CodeUsed);
        }
        if used_for.is_none() && !database.column::<bool>(row, 1)? {
            return Ok(Joined::CodeExpired);
        }
        let server = database.put_server(&joining.store.to_string())?;
        let known = session.rows(statements::FIND_MEMBER_NAME, &[&server])?;
        let known_as = known.first().map(|row| database.column::<String>(row, 0)).transpose()?;
        if used_for.is_some() {
            return Ok(known_as.map_or(Joined::CodeUsed, |name| Joined::As { name }));
        }
        // A code for any server is none for taking the place of one.
        if let Some(name) = known_as.filter(|name| for_name.as_ref() != Some(name)) {
            return Ok(Joined::KnownAs { name });
        }
        let (host, version) = (storable(joining.host), storable(joining.version));
        let name = match for_name {
            Some(name) => name,
            None => match self.free_name(&host, server)? {
                Ok(name) => name,
                Err(taken) => return Ok(taken),
            },
        };
        let values: Values<'_> = &[&server, &name, &&joining.key.0[..], &host.as_ref(), &version.as_ref()];
        session.execute(statements::PUT_MEMBER, values)?;
        session.execute(statements::USE_CODE, &[&&joining.code.0[..], &&joining.key.0[..]])?;
        transaction.commit()?;
        Ok(Joined::As { name })
    }

    /// The name of a host, for a server that joins with a code for any: who has one neither takes the place of a server nor its name.
    fn free_name(&self, host: &str, server: i32) -> Result<Result<String, Joined>, RepositoryError> {
        let database = &self.database;
        let row = database.session.row(statements::COUNT_SOURCES_OF, &[&server])?;
        if database.column::<i64>(&row, 0)? > 0 {
            return Ok(Err(Joined::KnownStore));
        }
        let of_name = self.members_called(host)?;
        let is_taken = of_name.iter().any(|member| member.state != MemberState::Revoked);
        Ok(if is_taken { Err(Joined::NameTaken { name: host.to_owned() }) } else { Ok(host.to_owned()) })
    }

    /// The server with this key. A new key takes the place of the old one when it is used for the first time.
    pub fn member(&self, key: &SecretHash) -> Result<Option<Member>, RepositoryError> {
        let database = &self.database;
        let rows = database.session.rows(statements::FIND_MEMBER, &[&&key.0[..]])?;
        let Some(row) = rows.first() else { return Ok(None) };
        let member = database.member_in(row)?;
        if !database.column::<bool>(row, 5)? {
            database.session.execute(statements::TAKE_NEXT_KEY, &[&member.number, &&key.0[..]])?;
        }
        Ok(Some(member))
    }

    pub fn put_next_key(&self, member: &Member, next: &SecretHash) -> Result<(), RepositoryError> {
        let values: Values<'_> = &[&member.number, &&next.0[..]];
        self.database.session.execute(statements::PUT_NEXT_KEY, values).map(drop)
    }

    /// Takes note of a contact. The state of the server after it: it may be that of one of two copies.
    pub fn put_contact(
        &self,
        member: &Member,
        contact: &Contact<'_>,
    ) -> Result<MemberState, RepositoryError> {
        let session = &self.database.session;
        let transaction = session.begin()?;
        let (host, version) = (storable(contact.host), storable(contact.version));
        let values: OwnValues = vec![
            Box::new(member.number),
            Box::new(host.into_owned()),
            Box::new(version.into_owned()),
            Box::new(contact.clock_ahead_ms),
        ];
        session.execute_later(statements::PUT_CONTACT, values)?;
        let is_copied = self.database.is_of_two_machines(member, contact.instance)?;
        let state = if is_copied { MemberState::Copied } else { member.state };
        if state != member.state {
            session.execute(statements::PUT_MEMBER_STATE, &[&member.number, &state.name()])?;
        }
        transaction.commit()?;
        Ok(state)
    }

    /// Remembers what is not taken of `member`, for who lists servers.
    pub fn put_refused(&self, member: &Member, reason: &str) -> Result<(), RepositoryError> {
        let reason = storable(reason);
        let values: Values<'_> = &[&member.number, &reason.as_ref()];
        self.database.session.execute(statements::PUT_REFUSED, values).map(drop)
    }

    pub fn servers(&self) -> Result<Vec<KnownServer>, RepositoryError> {
        let rows = self.database.session.rows(statements::LIST_SERVERS, &[])?;
        rows.iter().map(|row| self.database.known_server(row)).collect()
    }

    pub fn members_called(&self, name: &str) -> Result<Vec<Member>, RepositoryError> {
        let rows = self.database.session.rows(statements::FIND_SERVERS, &[&name])?;
        rows.iter().map(|row| self.database.member_in(row)).collect()
    }

    /// It may not send any more. Its history stays.
    pub fn revoke(&self, member: &Member) -> Result<(), RepositoryError> {
        let state = MemberState::Revoked.name();
        self.database.session.execute(statements::PUT_MEMBER_STATE, &[&member.number, &state]).map(drop)
    }

    pub fn is_of(&self, member: &Member, source: SourceId) -> Result<bool, RepositoryError> {
        let rows = self.database.session.rows(statements::FIND_OWNER, &[&source.to_string()])?;
        let owner: Option<i32> = rows.first().map(|row| self.database.column(row, 0)).transpose()?;
        Ok(owner == Some(member.number))
    }
}

impl Database {
    pub(super) fn member_in(&self, row: &Row) -> Result<Member, RepositoryError> {
        Ok(Member {
            number: self.column(row, 0)?,
            store: self.parsed(row, 1)?,
            name: self.column(row, 2)?,
            state: self.state_in(row, 3)?,
            joined: self
                .time_in(row, 4)?
                .ok_or_else(|| self.session.damaged("a server has joined at no time"))?,
        })
    }

    fn state_in(&self, row: &Row, place: usize) -> Result<MemberState, RepositoryError> {
        let name: &str = self.column(row, place)?;
        MemberState::named(name).ok_or_else(|| self.session.damaged("the state of a server is none"))
    }

    fn time_in(&self, row: &Row, place: usize) -> Result<Option<Timestamp>, RepositoryError> {
        Ok(self.column::<Option<UtcMicros>>(row, place)?.map(UtcMicros::timestamp))
    }

    fn known_server(&self, row: &Row) -> Result<KnownServer, RepositoryError> {
        let name: Option<String> = self.column(row, 1)?;
        let membership = |name| -> Result<Membership, RepositoryError> {
            let missing = || self.session.damaged("a time of a server is missing");
            Ok(Membership {
                name,
                state: self.state_in(row, 2)?,
                host: self.column(row, 3)?,
                version: self.column(row, 4)?,
                joined: self.time_in(row, 5)?.ok_or_else(missing)?,
                state_since: self.time_in(row, 6)?.ok_or_else(missing)?,
                refused: self.time_in(row, 17)?.zip(self.column(row, 16)?),
                key_made: self.time_in(row, 7)?.ok_or_else(missing)?,
                last_contact: self.time_in(row, 8)?,
                clock_ahead_ms: self.column(row, 9)?,
            })
        };
        Ok(KnownServer {
            store: self.parsed(row, 0)?,
            membership: name.map(membership).transpose()?,
            host: self.column(row, 12)?,
            version: self.column(row, 13)?,
            last_contact: self.time_in(row, 14)?,
            clock_ahead_ms: self.column(row, 15)?,
            sources: self.column(row, 10)?,
            newest_sample: self.column::<Option<i64>>(row, 11)?.map(from_utc_ns),
        })
    }

    /// Whether a server came back to an earlier instance too often. What is stored of its instances is brought up to date.
    fn is_of_two_machines(&self, member: &Member, instance: &str) -> Result<bool, RepositoryError> {
        let row = self.session.row(statements::LOCK_INSTANCE, &[&member.number])?;
        let current: Option<String> = self.column(&row, 0)?;
        if current.as_deref() == Some(instance) {
            return Ok(false);
        }
        let mut before: Vec<String> = self.column(&row, 1)?;
        let is_return = before.iter().any(|known| known == instance);
        let earlier_returns: i32 = if self.column(&row, 3)? { self.column(&row, 2)? } else { 0 };
        let returns = if is_return { earlier_returns + 1 } else { earlier_returns };
        before.retain(|known| known != instance);
        before.extend(current);
        let surplus = before.len().saturating_sub(INSTANCES_MAX);
        before.drain(..surplus);
        let instance = storable(instance);
        let values: Values<'_> = &[&member.number, &instance.as_ref(), &before, &returns, &is_return];
        self.session.execute(statements::PUT_INSTANCE, values)?;
        Ok(returns >= RETURNS_MAX)
    }
}
