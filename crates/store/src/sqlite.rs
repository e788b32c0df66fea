//! The local store in one SQLite file.

mod fault;
mod history;
mod migrations;
mod open;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use iostall_model::{CapacityRecord, Run, RunId, Summary};
use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
use rusqlite::{Connection, OptionalExtension, Row, named_params};

use self::fault::{begin, fault, not_readable, not_writable, parsed, unsigned};
use crate::document;
use crate::entry::{Entry, Filter, RunNumber};
use crate::error::StoreError;
use crate::selector::Selector;
use crate::store::{Store, Stored, StoredCapacity};

pub use history::SqliteHistory;
#[cfg(feature = "fuzzing")]
pub(crate) use history::fuzzing;

/// A store at `path` as of `version`, for tests of later migrations.
#[cfg(test)]
fn store_of_version(path: &Path, version: usize) -> Connection {
    let mut connection = Connection::open(path).unwrap();
    migrations::migrate_to(&mut connection, version).unwrap();
    connection
}

/// Runs in an SQLite file. Any number of processes may have it open: readers never wait, writers wait for
/// each other.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    connection: Connection,
}

impl SqliteStore {
    /// Opens the store at `path`. Creates it, with its directories (mode 0700, the file 0600), if it does not
    /// exist, and migrates an older one. Refuses, and does not change, a file that is not a complete iostall
    /// store of this version or older.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        let connection = open::open(&path)?;
        Ok(Self { path, connection })
    }

    /// Opens the store at `path` only to read it; `None` if there is none, or one of another version. For answers that must
    /// come at once and leave no trace, such as a shell's completions.
    pub fn glance(path: impl Into<PathBuf>) -> Result<Option<Self>, StoreError> {
        let path = path.into();
        Ok(open::glance(&path)?.map(|connection| Self { path, connection }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds the path to an error of SQLite, and names it if the cause is a common one.
    fn fault(&self, action: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError {
        fault(&self.path, action)
    }

    fn entries(
        &self,
        sql: &str,
        parameters: &[(&str, &dyn rusqlite::ToSql)],
    ) -> rusqlite::Result<Vec<Entry>> {
        self.connection.prepare_cached(sql)?.query_map(parameters, entry_from)?.collect()
    }

    fn resolve(&self, selector: &Selector) -> Result<Entry, StoreError> {
        let found = match selector {
            Selector::Number(number) => {
                self.entries(migrations::FIND_BY_NUMBER, named_params! {":number": number})
            }
            Selector::Id(id) => self.entries(migrations::FIND_BY_ID, named_params! {":id": id.to_string()}),
            Selector::Fragment(digits) => {
                self.entries(migrations::FIND_BY_FRAGMENT, named_params! {":fragment": digits})
            }
            Selector::Last(age) => self.entries(migrations::FIND_BY_AGE, named_params! {":age": age}),
        };
        let mut found = found.map_err(self.fault("read"))?;
        match (found.pop(), found.is_empty()) {
            (None, _) => Err(StoreError::NotFound { selector: selector.clone() }),
            (Some(entry), true) => Ok(entry),
            (Some(entry), false) => {
                found.push(entry);
                Err(StoreError::Ambiguous { selector: selector.clone(), candidates: found })
            }
        }
    }

    /// The entry that `selector` refers to, with its document, from one snapshot.
    fn read(&self, selector: &Selector) -> Result<(Entry, String), StoreError> {
        let snapshot = self.connection.unchecked_transaction().map_err(self.fault("read"))?;
        let entry = self.resolve(selector)?;
        let (encoding, bytes): (String, Vec<u8>) = snapshot
            .prepare_cached(migrations::READ_DOCUMENT)
            .and_then(|mut statement| {
                statement.query_row(named_params! {":run_number": entry.number.0}, |row| {
                    Ok((row.get("encoding")?, row.get("document")?))
                })
            })
            .map_err(self.fault("read"))?;
        let text = document::text(&encoding, &bytes)
            .map_err(|source| StoreError::Document { run: entry.number.to_string(), source })?;
        Ok((entry, text))
    }
}

impl Store for SqliteStore {
    fn add(&mut self, run: &Run) -> Result<RunNumber, StoreError> {
        let bytes = document::encode(run)
            .map_err(|source| StoreError::Document { run: run.id.to_string(), source })?;
        let added =
            insert(&self.connection, &self.path, run, &bytes).map_err(fault(&self.path, "write to"))?;
        added.map_err(|number| StoreError::Exists { id: run.id, number })
    }

    fn keep(&mut self, run: &Run) -> Result<RunNumber, StoreError> {
        let number = match self.add(run) {
            Err(StoreError::Exists { number, .. }) => number,
            added => return added,
        };
        let bytes = document::encode(run)
            .map_err(|source| StoreError::Document { run: run.id.to_string(), source })?;
        let updated = update(&self.connection, &self.path, number, run, &bytes);
        if updated.map_err(fault(&self.path, "write to"))? {
            Ok(number)
        } else {
            Err(StoreError::Exists { id: run.id, number })
        }
    }

    fn find(&self, selector: &Selector) -> Result<Entry, StoreError> {
        self.resolve(selector)
    }

    fn get(&self, selector: &Selector) -> Result<Stored, StoreError> {
        let (entry, text) = self.read(selector)?;
        let run = document::read(&text)
            .map_err(|source| StoreError::Document { run: entry.number.to_string(), source })?;
        Ok(Stored { number: entry.number, run })
    }

    fn list(&self, filter: &Filter) -> Result<Vec<Entry>, StoreError> {
        let parameters = named_params! {
            ":kind": filter.kind,
            ":name": filter.name,
            ":since": filter.since.map(sortable),
            ":until": filter.until.map(sortable),
            ":target": filter.target_contains,
            ":limit": filter.limit.map_or(-1, i64::from),
        };
        self.entries(migrations::LIST_RUNS, parameters).map_err(self.fault("read"))
    }

    fn export(&self, selector: &Selector) -> Result<String, StoreError> {
        self.read(selector).map(|(_, text)| text)
    }

    fn capacities(
        &self,
        device: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Vec<StoredCapacity>, StoreError> {
        let read = || -> rusqlite::Result<Vec<StoredCapacity>> {
            self.connection
                .prepare_cached(migrations::LIST_CAPACITIES)?
                .query_map(named_params! {":device": device}, |row| {
                    Ok(StoredCapacity {
                        number: RunNumber(row.get("run_number")?),
                        record: parsed(row, "record", |text| serde_json::from_str(text))?,
                    })
                })?
                .collect()
        };
        let all = read().map_err(self.fault("read"))?.into_iter();
        let holds =
            |StoredCapacity { number, record }| Some(StoredCapacity { number, record: record.of_device()? });
        Ok(all.filter_map(holds).take(limit.map_or(usize::MAX, |limit| limit as usize)).collect())
    }

    fn delete(&mut self, selector: &Selector) -> Result<Entry, StoreError> {
        // Takes the write lock before it looks, so that the run that `last` refers to is the one deleted.
        let transaction = begin(&self.connection, &self.path, 0).map_err(self.fault("write to"))?;
        let entry = self.resolve(selector)?;
        transaction
            .execute(migrations::DELETE_RUN, named_params! {":number": entry.number.0})
            .map_err(self.fault("write to"))?;
        transaction.commit().map_err(self.fault("write to"))?;
        Ok(entry)
    }
}

/// Inserts `run`; returns `Err` inside with its number if it exists.
fn insert(
    connection: &Connection,
    path: &Path,
    run: &Run,
    document: &[u8],
) -> rusqlite::Result<Result<RunNumber, RunNumber>> {
    let transaction = begin(connection, path, document.len() as u64)?;
    let id = run.id.to_string();
    let there: Option<u32> = transaction
        .query_row(migrations::FIND_BY_ID, named_params! {":id": id}, |row| row.get("number"))
        .optional()?;
    if let Some(number) = there {
        return Ok(Err(RunNumber(number)));
    }
    let summary = run.body.outcome().summary();
    transaction.execute(
        migrations::INSERT_RUN,
        named_params! {
            ":id": id,
            ":kind": run.body.kind(),
            ":name": run.name,
            ":started_utc": sortable(run.started_utc),
            ":ended_utc": sortable(run.ended_utc),
            ":host": run.host.hostname,
            ":tool_version": run.tool_version,
            ":interrupted": run.interrupted,
            ":warning_count": i64::try_from(run.warnings.len()).unwrap_or(i64::MAX),
            ":measured_ns": summary.measured_ns.and_then(|ns| i64::try_from(ns).ok()),
            ":block_size": summary.block_size,
            ":iops": summary.iops,
            ":mib_per_s": summary.mib_per_s,
            ":latency_ns_p99": summary.latency_ns_p99.and_then(|ns| i64::try_from(ns).ok()),
        },
    )?;
    let number: u32 =
        transaction.query_row(migrations::FIND_BY_ID, named_params! {":id": id}, |row| row.get("number"))?;
    for (position, target) in (0_u32..).zip(&run.targets) {
        let device = target.device.as_ref();
        transaction.execute(
            migrations::INSERT_TARGET,
            named_params! {
                ":run_number": number,
                ":position": position,
                ":path": target.path.to_string_lossy(),
                ":device": device.map(|device| &device.name),
                ":device_model": device.and_then(|device| device.model.as_ref()),
            },
        )?;
    }
    insert_capacities(&transaction, number, run)?;
    transaction.execute(
        migrations::INSERT_DOCUMENT,
        named_params! {":run_number": number, ":encoding": document::ENCODING, ":document": document},
    )?;
    transaction.commit()?;
    Ok(Ok(RunNumber(number)))
}

/// Replaces run `number` if it was not complete; whether it was.
fn update(
    connection: &Connection,
    path: &Path,
    number: RunNumber,
    run: &Run,
    document: &[u8],
) -> rusqlite::Result<bool> {
    let transaction = begin(connection, path, document.len() as u64)?;
    let summary = run.body.outcome().summary();
    let updated = transaction.execute(
        migrations::UPDATE_RUN,
        named_params! {
            ":number": number.0,
            ":ended_utc": sortable(run.ended_utc),
            ":interrupted": run.interrupted,
            ":warning_count": i64::try_from(run.warnings.len()).unwrap_or(i64::MAX),
            ":measured_ns": summary.measured_ns.and_then(|ns| i64::try_from(ns).ok()),
            ":block_size": summary.block_size,
            ":iops": summary.iops,
            ":mib_per_s": summary.mib_per_s,
            ":latency_ns_p99": summary.latency_ns_p99.and_then(|ns| i64::try_from(ns).ok()),
        },
    )?;
    if updated == 0 {
        return Ok(false);
    }
    transaction.execute(
        migrations::UPDATE_DOCUMENT,
        named_params! {":run_number": number.0, ":encoding": document::ENCODING, ":document": document},
    )?;
    transaction.execute(migrations::DELETE_CAPACITIES, named_params! {":run_number": number.0})?;
    insert_capacities(&transaction, number.0, run)?;
    transaction.commit()?;
    Ok(true)
}

fn insert_capacities(transaction: &Connection, number: u32, run: &Run) -> rusqlite::Result<()> {
    for (position, record) in (0_u32..).zip(CapacityRecord::of_run(run)) {
        let Some(best) = record.best() else { continue };
        transaction.execute(
            migrations::INSERT_CAPACITY,
            named_params! {
                ":run_number": number,
                ":position": position,
                ":device_key": record.device_key,
                ":device": record.device,
                ":block_size": record.shape.block_size.to_string(),
                ":iops": best.iops,
                ":mib_per_s": best.mib_per_s,
                ":latency_ns_p99": i64::try_from(best.latency_ns_p99).unwrap_or(i64::MAX),
                ":record": serde_json::to_string(&record).map_err(not_writable)?,
            },
        )?;
    }
    Ok(())
}

fn entry_of_id(connection: &Connection, id: RunId) -> rusqlite::Result<Option<(Entry, String, Vec<u8>)>> {
    let found = connection
        .prepare_cached(migrations::FIND_BY_ID)?
        .query_row(named_params! {":id": id.to_string()}, entry_from)
        .optional()?;
    let Some(entry) = found else { return Ok(None) };
    let (encoding, bytes) = connection
        .prepare_cached(migrations::READ_DOCUMENT)?
        .query_row(named_params! {":run_number": entry.number.0}, |row| {
            Ok((row.get("encoding")?, row.get("document")?))
        })?;
    Ok(Some((entry, encoding, bytes)))
}

/// A timestamp as text that sorts by time: with a varying number of decimals, `00.5Z` would sort before
/// `00Z`.
fn sortable(timestamp: Timestamp) -> String {
    DateTimePrinter::new().precision(Some(9)).timestamp_to_string(&timestamp)
}

fn entry_from(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let targets: String = row.get("targets")?;
    Ok(Entry {
        number: RunNumber(row.get("number")?),
        id: parsed(row, "id", str::parse)?,
        kind: row.get("kind")?,
        name: row.get("name")?,
        started_utc: parsed(row, "started_utc", str::parse)?,
        ended_utc: parsed(row, "ended_utc", str::parse)?,
        host: row.get("host")?,
        tool_version: row.get("tool_version")?,
        interrupted: row.get("interrupted")?,
        warning_count: row.get("warning_count")?,
        targets: serde_json::from_str(&targets).map_err(not_readable)?,
        summary: Summary {
            measured_ns: unsigned(row, "measured_ns")?,
            block_size: row.get("block_size")?,
            iops: row.get("iops")?,
            mib_per_s: row.get("mib_per_s")?,
            latency_ns_p99: unsigned(row, "latency_ns_p99")?,
        },
    })
}
