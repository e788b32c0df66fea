//! Whoever sends history to a repository: one at a time for each server, and each batch after the one that is there.

use super::PostgresHistory;
use super::statements;
use crate::error::StoreError;
use crate::history::{Appended, Batch, StoreId};
use crate::repository_error::{LOCKED, RepositoryError};

impl PostgresHistory {
    /// Takes the right to send what `store` has, until this is dropped: two who send at once would read it twice. Who has it is waited
    /// for shortly.
    pub fn lock_sender(&self, store: StoreId) -> Result<(), RepositoryError> {
        let database = &self.database;
        let server = database.put_server(&store.to_string())?;
        database.session.run("write to", statements::NOTICE_END)?;
        let transaction = database.session.begin()?;
        database.session.run("write to", statements::WAIT_SHORTLY)?;
        match database.session.rows(statements::LOCK_SENDER, &[&server]) {
            Err(RepositoryError::Refused { name, state, .. }) if state == LOCKED => {
                Err(RepositoryError::Sending { name })
            }
            locked => {
                locked?;
                transaction.commit()
            }
        }
    }

    /// Stores `batch`, which follows the one numbered `after`, as [`History::append`](crate::History::append) does. Another last batch than that is
    /// [`Appended::NotNext`], and nothing changes: with other numbers than was thought, a batch may have samples that are there.
    pub fn append_after(&mut self, after: u64, batch: &Batch) -> Result<Appended, StoreError> {
        self.append_if(batch, |appended| appended.cast_unsigned() == after)
    }

    /// Stores a batch unless it is there, if the number of the last one is right.
    pub(super) fn append_if(
        &mut self,
        batch: &Batch,
        is_next: impl FnOnce(i64) -> bool,
    ) -> Result<Appended, StoreError> {
        let number = batch.number().map_err(|source| StoreError::Batch { source })?;
        self.in_one_transaction(
            |database| database.lock_or_add(&batch.source),
            |database, locked, chain| {
                if locked.appended >= number {
                    return Ok(Appended::AlreadyThere);
                }
                if !is_next(locked.appended) {
                    return Ok(Appended::NotNext);
                }
                database.write(chain, batch, None)?;
                Ok(Appended::Added)
            },
        )
    }
}
