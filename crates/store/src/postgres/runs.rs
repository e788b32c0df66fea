//! Runs of servers in a repository.

use std::borrow::Cow;

use iostall_model::{Entry, RunId, Summary};
use jiff::Timestamp;
use tokio_postgres::Row;

use super::PostgresHistory;
use super::columns::{UtcMicros, storable};
use super::database::Database;
use super::session::Values;
use super::statements;
use crate::document;
use crate::entry::RunNumber;
use crate::error::StoreError;
use crate::fleet_run::{FleetRun, FleetRunFilter, RunPut};
use crate::history::{StoreId, from_utc_ns, utc_ns};
use crate::member::Member;
use crate::repository_error::RepositoryError;
use crate::selector::Selector;
use crate::sent_run::{RunMark, SentRun};
use crate::store::Stored;

/// Runs of one server that has joined. Nobody has so many; without a limit, one server could fill the table.
const RUNS_MAX: i64 = 100_000;
/// The server's codes for values that it cannot store: data that are none, and more than its own limits.
const UNFIT: [&str; 2] = ["22", "54"];
/// So many runs are looked at where one is meant.
const CANDIDATES_MAX: i64 = 10;

impl PostgresHistory {
    /// Which of these runs of the server of `store` are not there as they are now.
    pub fn lacking_runs(&self, store: StoreId, marks: &[RunMark]) -> Result<Vec<RunId>, RepositoryError> {
        let server = self.database.put_server(&store.to_string())?;
        let ids: Vec<String> = marks.iter().map(|mark| mark.id.to_string()).collect();
        let ended: Vec<i64> = marks.iter().map(|mark| utc_ns(mark.ended_utc)).collect();
        let interrupted: Vec<bool> = marks.iter().map(|mark| mark.interrupted).collect();
        let values: Values<'_> = &[&server, &ids, &ended, &interrupted];
        let rows = self.database.session.rows(statements::FIND_LACKING_RUNS, values)?;
        rows.iter().map(|row| self.database.parsed(row, 0)).collect()
    }

    /// Stores a run of the server of `store`. Twice is once, and one that was complete stays as it is.
    pub fn put_run(&self, store: StoreId, run: &SentRun) -> Result<RunPut, RepositoryError> {
        let server = self.database.put_server(&store.to_string())?;
        match self.database.put_run(server, run) {
            Ok(0) => Ok(RunPut::AlreadyThere),
            Ok(_) => Ok(RunPut::Added),
            Err(RepositoryError::Refused { state, reason, .. })
                if run.document.is_some() && UNFIT.iter().any(|class| state.starts_with(class)) =>
            {
                Ok(RunPut::Unfit { reason })
            }
            Err(error) => Err(error),
        }
    }

    pub fn takes_runs_of(&self, member: &Member) -> Result<bool, RepositoryError> {
        let row = self.database.session.row(statements::COUNT_RUNS, &[&member.number])?;
        Ok(self.database.column::<i64>(&row, 0)? < RUNS_MAX)
    }

    /// Deletes the runs that ended before `limit`. Servers that still have them do not send them again.
    pub fn forget_runs(&self, limit: Timestamp) -> Result<u64, RepositoryError> {
        self.database.session.execute(statements::FORGET_RUNS, &[&utc_ns(limit)])
    }

    pub fn fleet_runs(&self, filter: &FleetRunFilter) -> Result<Vec<FleetRun>, RepositoryError> {
        let (since, limit) = (filter.since.map(UtcMicros::of), i64::from(filter.limit));
        let values: Values<'_> = &[&filter.server, &filter.kind, &since, &limit];
        let rows = self.database.session.rows(statements::FLEET_RUNS, values)?;
        rows.iter().map(|row| self.database.fleet_run(row)).collect()
    }

    pub fn fleet_run(&self, server: &str, selector: &Selector) -> Result<Stored, StoreError> {
        let (found, text) = self.database.found_run(server, selector)?;
        let name = || format!("{} of {}", found.entry.number, found.server);
        let text = text.ok_or_else(|| RepositoryError::NoDocument {
            name: self.name().to_owned(),
            server: found.server.clone(),
            run: found.entry.number,
        })?;
        let run = document::read(&text).map_err(|source| StoreError::Document { run: name(), source })?;
        Ok(Stored { number: found.entry.number, run })
    }
}

impl Database {
    fn put_run(&self, server: i32, run: &SentRun) -> Result<u64, RepositoryError> {
        let SentRun { entry, document } = run;
        let Summary { measured_ns, block_size, iops, mib_per_s, latency_ns_p99 } = &entry.summary;
        let text = |text: &str| storable(text).into_owned();
        let count = |count: &Option<u64>| count.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        let targets: Vec<String> = entry.targets.iter().map(|target| text(target)).collect();
        let values: Values<'_> = &[
            &server,
            &entry.id.to_string(),
            &i64::from(entry.number.0),
            &text(&entry.kind),
            &text(&entry.name),
            &UtcMicros::of(entry.started_utc),
            &UtcMicros::of(entry.ended_utc),
            &utc_ns(entry.ended_utc),
            &text(&entry.host),
            &text(&entry.tool_version),
            &entry.interrupted,
            &i64::from(entry.warning_count),
            &targets,
            &count(measured_ns),
            &block_size.as_deref().map(text),
            iops,
            mib_per_s,
            &count(latency_ns_p99),
            &document.as_deref().map(|document| json_storable(document).into_owned()),
        ];
        self.session.execute(statements::PUT_RUN, values)
    }

    fn found_run(
        &self,
        server: &str,
        selector: &Selector,
    ) -> Result<(FleetRun, Option<String>), RepositoryError> {
        let (number, digits, age) = match selector {
            Selector::Number(number) => (Some(i64::from(*number)), None, None),
            Selector::Id(id) => (None, Some(id.to_string().replace('-', "")), None),
            Selector::Fragment(digits) => (None, Some(digits.clone()), None),
            Selector::Last(age) => (None, None, Some(i64::from(*age))),
        };
        let most = if age.is_some() { 1 } else { CANDIDATES_MAX };
        let values: Values<'_> = &[&server, &number, &digits, &age.unwrap_or(0), &most];
        let rows = self.session.rows(statements::FIND_RUNS, values)?;
        let name = self.session.name().to_owned();
        let (server, selector) = (server.to_owned(), selector.clone());
        match rows.as_slice() {
            [] => Err(RepositoryError::NoRun { name, server, selector }),
            [row] => Ok((self.fleet_run(row)?, self.column(row, DOCUMENT_COLUMN)?)),
            several => {
                let found = several.iter().map(|row| self.fleet_run(row)).collect::<Result<Vec<_>, _>>()?;
                let of = |run: FleetRun| format!("{} of {}", run.entry.id, run.server_id);
                let runs = found.into_iter().map(of).collect();
                Err(RepositoryError::SeveralRuns { name, server, selector, runs })
            }
        }
    }

    fn fleet_run(&self, row: &Row) -> Result<FleetRun, RepositoryError> {
        let number: i64 = self.column(row, 2)?;
        let count = |place| -> Result<Option<u64>, RepositoryError> {
            Ok(self.column::<Option<i64>>(row, place)?.and_then(|count| u64::try_from(count).ok()))
        };
        let entry = Entry {
            number: RunNumber(u32::try_from(number).unwrap_or(u32::MAX)),
            id: self.parsed(row, 3)?,
            kind: self.column(row, 4)?,
            name: self.column(row, 5)?,
            started_utc: self.column::<UtcMicros>(row, 6)?.timestamp(),
            ended_utc: from_utc_ns(self.column(row, 7)?),
            host: self.column(row, 8)?,
            tool_version: self.column(row, 9)?,
            interrupted: self.column(row, 10)?,
            warning_count: u32::try_from(self.column::<i64>(row, 11)?).unwrap_or(u32::MAX),
            targets: self.column(row, 12)?,
            summary: Summary {
                measured_ns: count(13)?,
                block_size: self.column(row, 14)?,
                iops: self.column(row, 15)?,
                mib_per_s: self.column(row, 16)?,
                latency_ns_p99: count(17)?,
            },
        };
        Ok(FleetRun { server: self.column(row, 0)?, server_id: self.column(row, 1)?, entry })
    }
}

/// The place of the document in a row of a run that was looked for.
const DOCUMENT_COLUMN: usize = 18;

/// JSON as PostgreSQL can keep it: without the character 0, which is written as an escape.
fn json_storable(text: &str) -> Cow<'_, str> {
    const NUL: &str = "\\u0000";
    if !text.contains(NUL) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    // After a backslash comes what it escapes, which may be another backslash.
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        kept.push_str(before);
        if let Some(after) = escape.strip_prefix(NUL) {
            kept.push('\u{fffd}');
            rest = after;
        } else {
            let length = escape.char_indices().nth(2).map_or(escape.len(), |(at, _)| at);
            kept.push_str(&escape[..length]);
            rest = &escape[length..];
        }
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_character_zero_is_replaced_and_what_looks_like_it_is_not() {
        for (text, kept) in [
            ("{}", "{}"),
            (r#"["a\u0000b"]"#, "[\"a\u{fffd}b\"]"),
            (r#"["\\u0000"]"#, r#"["\\u0000"]"#),
            (r#"["\\\u0000é\n"]"#, "[\"\\\\\u{fffd}é\\n\"]"),
            (r"\u0000\", "\u{fffd}\\"),
        ] {
            assert_eq!(json_storable(text), kept, "{text}");
        }
    }
}
