//! What members ask and send, thousands of them at a time: each in as few statements as can be.

use jiff::Timestamp;

use super::{SERIES_MAX, SOURCES_MAX};
use crate::error::StoreError;
use crate::history::{Batch, Source, SourceId, from_utc_ns, utc_ns};
use crate::member::{Member, MemberAppended, MemberState};
use crate::postgres::columns::{SourceNumber, storable};
use crate::postgres::database::Database;
use crate::postgres::session::Values;
use crate::postgres::sources::Locked;
use crate::postgres::{PostgresHistory, statements};
use crate::repository_error::RepositoryError;

impl PostgresHistory {
    /// The number of the last batch of `source`, and when the newest sample was taken, if any was appended; `None` if the source is
    /// another server's.
    pub fn known_of(
        &self,
        member: &Member,
        source: SourceId,
    ) -> Result<Option<(u64, Option<Timestamp>)>, RepositoryError> {
        let database = &self.database;
        let rows = database.session.rows(statements::FIND_KNOWN, &[&source.to_string()])?;
        let Some(row) = rows.first() else { return Ok(Some((0, None))) };
        if database.column::<i32>(row, 1)? != member.number {
            return Ok(None);
        }
        let (number, appended) = (SourceNumber(database.column(row, 0)?), database.column::<i64>(row, 2)?);
        // Only what was appended has a number to compare with.
        let newest = if appended > 0 { self.taken(number, database.column(row, 3)?)? } else { None };
        Ok(Some((appended.cast_unsigned(), newest)))
    }

    fn taken(&self, source: SourceNumber, last: i64) -> Result<Option<Timestamp>, RepositoryError> {
        let remembered = self.chains.get(&source).filter(|chain| chain.last == last);
        if let Some(sample) = remembered.and_then(|chain| chain.before.as_ref()) {
            return Ok(Some(from_utc_ns(utc_ns(sample.taken.utc))));
        }
        let rows = self.database.session.rows(statements::FIND_TAKEN, &[&source.0, &last])?;
        rows.first().map(|row| self.database.column(row, 0).map(from_utc_ns)).transpose()
    }

    /// Stores a batch of a source of this member that follows the one numbered `after`, as [`History::append`](crate::History::append) does.
    /// A source that is not there yet becomes its own.
    pub fn append_of(
        &mut self,
        member: &Member,
        after: u64,
        batch: &Batch,
    ) -> Result<MemberAppended, StoreError> {
        let number = batch.number().map_err(|source| StoreError::Batch { source })?;
        if batch.source.store != member.store {
            return Ok(MemberAppended::OtherServer);
        }
        let Self { database, chains } = self;
        let transaction = database.session.begin()?;
        let locked = match database.lock_of_member(member, &batch.source)? {
            Ok(locked) => locked,
            Err(refused) => return Ok(refused),
        };
        if locked.appended >= number {
            return Ok(MemberAppended::AlreadyThere);
        }
        if locked.appended.cast_unsigned() != after {
            return Ok(MemberAppended::NotNext);
        }
        Self::completed(database, chains, transaction, Ok(locked), |database, _, chain| {
            let new = batch.series.iter().filter(|subject| chain.series.number(subject).is_none()).count();
            if new > 0 {
                database.check_series(member, new)?;
            }
            database.write(chain, batch, None)
        })
        .map(|()| MemberAppended::Added)
        .or_else(|error| match error {
            StoreError::Quota { reason } => Ok(MemberAppended::Quota { reason }),
            error => Err(error),
        })
    }
}

impl Database {
    /// Whether `member` may have so many more series.
    fn check_series(&self, member: &Member, more: usize) -> Result<(), StoreError> {
        let row = self.session.row(statements::COUNT_SERIES_OF, &[&member.number])?;
        let series = self.column::<i64>(&row, 0)?.saturating_add(i64::try_from(more).unwrap_or(i64::MAX));
        if series <= SERIES_MAX {
            return Ok(());
        }
        let reason = format!(
            "with this batch the server would have {series} files and other things that are counted at the centre, and {SERIES_MAX} \
             are the most"
        );
        Err(StoreError::Quota { reason })
    }

    /// Locks a source of a member under its current name, which becomes its own if it is not there; or why not.
    fn lock_of_member(
        &self,
        member: &Member,
        source: &Source,
    ) -> Result<Result<Locked, MemberAppended>, RepositoryError> {
        let (id, name) = (source.id.to_string(), storable(&source.name));
        let lock = || self.session.rows(statements::LOCK_SOURCE_OF_MEMBER, &[&id, &member.number]);
        let mut rows = lock()?;
        if rows.is_empty() {
            let values: Values<'_> = &[&id, &member.number, &name.as_ref(), &SOURCES_MAX];
            self.session.execute(statements::CLAIM_SOURCE, values)?;
            rows = lock()?;
        }
        let Some(row) = rows.first() else {
            let reason = format!("this server has {SOURCES_MAX} sources at the centre, which is the most");
            return Ok(Err(MemberAppended::Quota { reason }));
        };
        let state = self.state_in(row, 7)?;
        if state != MemberState::Joined {
            return Ok(Err(MemberAppended::MayNot(state)));
        }
        if self.column::<i32>(row, 6)? != member.number {
            return Ok(Err(MemberAppended::OtherServer));
        }
        let locked = self.locked_in(row, source.id)?;
        if self.column::<&str>(row, 1)? != name {
            self.session.execute(statements::RENAME_SOURCE, &[&locked.number.0, &name.as_ref()])?;
        }
        Ok(Ok(locked))
    }
}
