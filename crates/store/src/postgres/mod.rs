//! The central repository of a fleet, in a database of PostgreSQL.
//!
//! A sample is one row of `sample` and one row of `sample_row` for each of its rows, in partitions by day. Whoever writes the
//! history of a source holds a lock on its row in `source`; one transaction takes a batch and the roll-ups that it closes.

mod chain;
mod columns;
mod copy_format;
mod database;
mod fleet;
mod hypertables;
mod lake;
mod lake_rows;
mod members;
mod partitions;
mod placements;
mod pulled;
mod pushes;
mod reader;
mod retention;
mod rollups;
mod runs;
mod schema;
mod session;
mod sheets;
mod sources;
mod statements;
mod writer;

#[cfg(test)]
mod fleet_tests;
#[cfg(test)]
mod hypertables_tests;
#[cfg(test)]
mod open_hour_tests;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use iostall_connect::{Address, Secret};
use iostall_measure::clock::utc_now;
use iostall_model::device::{Greeting, Placement};
use iostall_model::{Gap, Note, Sample, SettingVersion, Step, Tier, Warning, notes_of_changes};
use jiff::Timestamp;

use crate::collector_state::SettingsRead;
use crate::error::StoreError;
use crate::history::{
    Appended, Batch, History, ImportMark, Retention, RollupRow, Seams, Source, SourceId, StoreId, Watched,
};
use crate::repository_error::RepositoryError;

pub use fleet::{FleetServer, FleetSizes, FleetUse, SharedDevice, StallDay};
pub use pulled::{Holder, Holding, PulledAppend};
pub use schema::{Initialised, InitialisedRepository};

use chain::Chain;
use columns::SourceNumber;
use database::Database;
use partitions::Partitions;
use session::{Session, Transaction};
use sources::Locked;

/// The history of a fleet in a database of PostgreSQL. A lost connection is replaced at the next call.
pub struct PostgresHistory {
    database: Database,
    chains: HashMap<SourceNumber, Chain>,
}

impl PostgresHistory {
    /// Creates the repository in the database at `address`, or upgrades its tables, in one transaction; an up-to-date one stays
    /// as it is.
    pub fn initialise(
        address: &Address,
        password: &Secret,
    ) -> Result<InitialisedRepository, RepositoryError> {
        let session = Session::new(address, password)?;
        let repository = schema::initialise(&session)?;
        let database = Database { session, partitions: Partitions::default(), id: repository.id };
        let transaction = database.session.begin()?;
        database.partitions.make_ahead(&database.session, utc_now())?;
        transaction.commit()?;
        Ok(repository)
    }

    pub fn open(address: &Address, password: &Secret) -> Result<Self, RepositoryError> {
        let session = Session::new(address, password)?;
        let id = schema::opened(&session)?;
        let database = Database { session, partitions: Partitions::default(), id };
        Ok(Self { database, chains: HashMap::new() })
    }

    pub fn name(&self) -> &str {
        self.database.session.name()
    }

    /// Runs `work` on the source that `lock` returns and its chain, and commits. If that fails the chain may be ahead of the
    /// database: it is dropped, and the next call reloads it.
    fn in_one_transaction<T>(
        &mut self,
        lock: impl FnOnce(&Database) -> Result<Locked, StoreError>,
        work: impl FnOnce(&Database, &Locked, &mut Chain) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Self { database, chains } = self;
        let transaction = database.session.begin()?;
        let locked = lock(database);
        Self::completed(database, chains, transaction, locked, work)
    }

    /// [`Self::in_one_transaction`] within a transaction that has locked the source.
    fn completed<T>(
        database: &Database,
        chains: &mut HashMap<SourceNumber, Chain>,
        transaction: Transaction<'_>,
        locked: Result<Locked, StoreError>,
        work: impl FnOnce(&Database, &Locked, &mut Chain) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let done = locked.and_then(|locked| {
            let chain = chains.remove(&locked.number);
            let mut chain = database.caught_up(&locked, chain)?;
            Ok((work(database, &locked, &mut chain)?, chain))
        });
        let done = done.and_then(|done| Ok(transaction.commit().map(|()| done)?));
        match done {
            Ok((done, chain)) => {
                chains.insert(chain.source, chain);
                Ok(done)
            }
            Err(error) => {
                database.partitions.forget();
                Err(error)
            }
        }
    }

    /// The sources whose newest sample is of an hour that was over at `at`, with roll-ups that are not written yet.
    pub fn unfinished_at(&self, at: Timestamp) -> Vec<SourceId> {
        let hour = Tier::Hour.floor(at);
        let is_over = |chain: &&Chain| {
            chain.rolled_up.to < chain.last && chain.pending.open_hour.is_some_and(|open| open < hour)
        };
        self.chains.values().filter(is_over).map(|chain| chain.id).collect()
    }

    /// Writes the roll-ups of `source`, and forgets what is remembered of it until there is more to write. One that was removed has
    /// none.
    pub fn finish_one(&mut self, source: SourceId) -> Result<(), StoreError> {
        let done = self.finish_source(source);
        self.chains.retain(|_, chain| chain.id != source);
        match done {
            Err(StoreError::NoSource { .. }) => Ok(()),
            done => done,
        }
    }

    fn finish_source(&mut self, source: SourceId) -> Result<(), StoreError> {
        self.in_one_transaction(
            |database| database.lock(source),
            |database, _, chain| Ok(database.finish(chain)?),
        )
    }
}

/// What only a repository has: servers, volumes and devices, and reports on all of them. Everything fails if the repository cannot be
/// used.
impl PostgresHistory {
    pub fn greet(&mut self, store: StoreId, greeting: &Greeting) -> Result<(), StoreError> {
        Ok(self.database.greet(store, greeting)?)
    }

    /// Notes which volumes the series of `source` lie on, and the devices under those in `placements`. What is not there any more
    /// ends now. Fails if there is no such source.
    pub fn place(&mut self, source: SourceId, placements: &[Placement]) -> Result<(), StoreError> {
        let transaction = self.database.session.begin()?;
        self.database.place(source, placements)?;
        Ok(transaction.commit()?)
    }

    /// Puts the volume of the source named `source` on a device that is known by the name `tag` alone, in place of an earlier one of
    /// that kind. `server` is the name of its host or its id, where several have such a source. Fails if there is no such volume, or
    /// several.
    pub fn tag(
        &mut self,
        source: &str,
        volume: &str,
        server: Option<&str>,
        tag: &str,
    ) -> Result<(), StoreError> {
        let transaction = self.database.session.begin()?;
        self.database.tag(source, volume, server, tag)?;
        Ok(transaction.commit()?)
    }

    pub fn fleet_servers(&self) -> Result<Vec<FleetServer>, StoreError> {
        Ok(self.database.servers()?)
    }

    /// The `most` series of `kinds` that were waited for longest between two times.
    pub fn fleet_files(
        &self,
        window: (Timestamp, Timestamp),
        kinds: &[&str],
        most: u32,
    ) -> Result<Vec<FleetUse>, StoreError> {
        Ok(self.database.uses(statements::FLEET_FILES, window, kinds, most)?)
    }

    /// The same of volumes, each with all its series of `kinds`.
    pub fn fleet_volumes(
        &self,
        window: (Timestamp, Timestamp),
        kinds: &[&str],
        most: u32,
    ) -> Result<Vec<FleetUse>, StoreError> {
        Ok(self.database.uses(statements::FLEET_VOLUMES, window, kinds, most)?)
    }

    /// At most `most` devices with volumes of several sources, the most waited for first.
    pub fn fleet_neighbours(
        &self,
        window: (Timestamp, Timestamp),
        kinds: &[&str],
        most: u32,
    ) -> Result<Vec<SharedDevice>, StoreError> {
        Ok(self.database.shared_devices(window, kinds, most)?)
    }

    pub fn fleet_days(
        &self,
        window: (Timestamp, Timestamp),
        files: &[FleetUse],
    ) -> Result<Vec<Vec<StallDay>>, StoreError> {
        Ok(self.database.days_of(window, files)?)
    }

    /// What the series of `kinds` of each source held at the end of each day between two times, as far as samples are there.
    pub fn fleet_sizes(
        &self,
        window: (Timestamp, Timestamp),
        kinds: &[&str],
    ) -> Result<Vec<FleetSizes>, StoreError> {
        Ok(self.database.sizes_of(window, kinds)?)
    }
}

/// Sources that are sampled from the centre: their servers have no store of their own. Everything fails if the repository cannot be used.
impl PostgresHistory {
    /// The source `name` of the server called `server`; both are added if they are not there.
    pub fn pulled_source(&mut self, server: &str, name: &str) -> Result<Source, StoreError> {
        let transaction = self.database.session.begin()?;
        let source = self.database.put_pulled(server, name)?;
        transaction.commit()?;
        Ok(source)
    }

    /// Who holds `source`, and how far it is. A free one is taken if it `takes`: then it is held until this connection ends.
    pub fn hold(&mut self, source: SourceId, takes: bool) -> Result<Holding, StoreError> {
        self.database.hold(source, takes)
    }

    pub fn release(&mut self, source: SourceId) -> Result<(), StoreError> {
        Ok(self.database.release(source)?)
    }

    /// Stores `batch`, which follows the one numbered `after`, completely or not at all. Nothing of a source that another one holds.
    pub fn append_pulled(&mut self, batch: &Batch, after: u64) -> Result<PulledAppend, StoreError> {
        let number = batch.number().map_err(|source| StoreError::Batch { source })?;
        self.in_one_transaction(
            |database| database.lock_or_add(&batch.source),
            |database, locked, chain| {
                if !database.is_ours_to_write(batch.source.id)? {
                    return Ok(PulledAppend::NotHeld);
                }
                if locked.appended == number {
                    return Ok(PulledAppend::AlreadyThere);
                }
                if locked.appended.cast_unsigned() != after {
                    return Ok(PulledAppend::NotNext);
                }
                database.write(chain, batch, None)?;
                Ok(PulledAppend::Added)
            },
        )
    }
}

impl History for PostgresHistory {
    fn id(&self) -> StoreId {
        self.database.id
    }

    fn source(&mut self, name: &str) -> Result<Source, StoreError> {
        self.database.own_source(name)
    }

    fn sources(&self) -> Result<Vec<Watched>, StoreError> {
        Ok(self.database.list()?)
    }

    fn add_step(&mut self, source: SourceId, step: &Step) -> Result<(), StoreError> {
        self.in_one_transaction(
            |database| database.lock(source),
            |database, _, chain| database.write_step(chain, step),
        )
    }

    fn add_gap(&mut self, source: SourceId, gap: &Gap) -> Result<(), StoreError> {
        Ok(self.database.put_gap(self.database.number(source)?, gap)?)
    }

    fn append(&mut self, batch: &Batch) -> Result<Appended, StoreError> {
        let number = batch.number().map_err(|source| StoreError::Batch { source })?;
        self.in_one_transaction(
            |database| database.lock_or_add(&batch.source),
            |database, locked, chain| {
                if locked.appended >= number {
                    return Ok(Appended::AlreadyThere);
                }
                database.write(chain, batch, None)?;
                Ok(Appended::Added)
            },
        )
    }

    fn last_appended(&self, source: SourceId) -> Result<u64, StoreError> {
        let number = self.database.number(source)?;
        Ok(self.database.last_appended(number)?.cast_unsigned())
    }

    fn batch_after(
        &self,
        source: SourceId,
        sequence: u64,
        samples_max: u32,
    ) -> Result<Option<Batch>, StoreError> {
        self.database.batch_of(self.database.number(source)?, sequence, samples_max)
    }

    fn sample_before(&self, source: SourceId, at: Timestamp) -> Result<u64, StoreError> {
        Ok(self.database.sample_number_before(self.database.number(source)?, at)?.cast_unsigned())
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        let sources: Vec<SourceId> = self.chains.values().map(|chain| chain.id).collect();
        for source in sources {
            match self.finish_source(source) {
                // Another process has removed it.
                Err(StoreError::NoSource { .. }) => self.chains.retain(|_, chain| chain.id != source),
                done => done?,
            }
        }
        Ok(())
    }

    fn intervals(
        &self,
        source: SourceId,
        from: Timestamp,
        to: Timestamp,
        each: &mut dyn FnMut(Step),
    ) -> Result<(), StoreError> {
        self.database.intervals_of(self.database.number(source)?, from, to, each)
    }

    fn rollups(
        &self,
        source: SourceId,
        tier: Tier,
        from: Timestamp,
        to: Timestamp,
        each: &mut dyn FnMut(RollupRow),
    ) -> Result<(), StoreError> {
        let _snapshot = self.database.session.snapshot()?;
        let number = self.database.number(source)?;
        let subjects = self.database.subjects(number)?;
        for (beginning, series, rollup) in self.database.rollups_between(number, tier, from, to)? {
            if let Some(subject) = subjects.get(&series).cloned() {
                each(RollupRow { beginning, subject, rollup });
            }
        }
        Ok(())
    }

    fn last_sample(&self, source: SourceId) -> Result<Option<Sample>, StoreError> {
        self.database.last_sample_of(self.database.number(source)?)
    }

    fn gaps(&self, source: SourceId, from: Timestamp, to: Timestamp) -> Result<Vec<Gap>, StoreError> {
        Ok(self.database.gaps_of(self.database.number(source)?, from, to)?)
    }

    fn warnings(&self, source: SourceId, from: Timestamp, to: Timestamp) -> Result<Vec<Warning>, StoreError> {
        let seen = self.database.warnings_of(self.database.number(source)?, from, to)?;
        Ok(seen.into_iter().map(|seen| seen.warning).collect())
    }

    fn notes(&self, source: SourceId, from: Timestamp, to: Timestamp) -> Result<Vec<Note>, StoreError> {
        let number = self.database.number(source)?;
        let mut notes = self.database.notes_between(number, from, to)?;
        notes.extend(notes_of_changes(&self.database.settings_between(number, from, to)?, from, to));
        notes.sort_by_key(|note| note.at);
        Ok(notes)
    }

    fn settings(
        &self,
        source: SourceId,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<SettingVersion>, StoreError> {
        Ok(self.database.settings_between(self.database.number(source)?, from, to)?)
    }

    fn settings_read(&self, source: SourceId) -> Result<Option<SettingsRead>, StoreError> {
        Ok(self.database.settings_read(self.database.number(source)?)?)
    }

    fn seams(&self, source: SourceId) -> Result<Option<Seams>, StoreError> {
        Ok(self.database.seams_of(self.database.number(source)?)?)
    }

    fn import_mark(&self, source: SourceId) -> Result<Option<ImportMark>, StoreError> {
        Ok(self.database.import_mark_of(self.database.number(source)?)?)
    }

    fn forget(&mut self, retention: &Retention, now: Timestamp) -> Result<(), StoreError> {
        for source in self.database.unfinished(retention, now)? {
            self.finish_source(source)?;
        }
        self.database.forget_old(retention, now)
    }

    fn remove(&mut self, source: SourceId) -> Result<(), StoreError> {
        let transaction = self.database.session.begin()?;
        let locked = self.database.lock(source)?;
        self.database.remove_source(locked.number)?;
        transaction.commit()?;
        self.chains.remove(&locked.number);
        Ok(())
    }

    fn rebuild(&mut self, source: SourceId) -> Result<(), StoreError> {
        let transaction = self.database.session.begin()?;
        let locked = self.database.lock(source)?;
        // The pending roll-ups of the writer are stored now.
        self.chains.remove(&locked.number);
        self.database.rebuild_of(&locked)?;
        transaction.commit()?;
        Ok(())
    }

    fn frozen<T>(&self, read: impl FnOnce() -> T) -> Result<T, StoreError> {
        let _snapshot = self.database.session.snapshot()?;
        Ok(read())
    }
}
