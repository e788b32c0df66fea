//! Reads what a management database (`tsql/`) sampled on the server itself, as if it had been sampled by
//! iostall.

use std::collections::HashMap;
use std::time::Duration;

use iostall_connect::sqlserver::{Access, Columns, Connection, query, query_with, with_connection};
use iostall_connect::{Address, Secret, SourceError, Value, runtime};
use iostall_model::{Epoch, Gap, Kind, Row, Sample, SampleTime};
use jiff::Timestamp;
use tokio::runtime::Runtime;

use crate::remote;

const FILTERS: &str = include_str!("sql/history_filters.sql");
const SAMPLES: &str = include_str!("sql/history_samples.sql");
const FILES: &str = include_str!("sql/history_files.sql");
const GAPS: &str = include_str!("sql/history_gaps.sql");

/// Rows read at once: a few megabytes.
const ROWS_AT_ONCE: u64 = 50_000;

pub struct History {
    address: Address,
    access: Access,
    limit: Duration,
    runtime: Runtime,
    connection: Option<Connection>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub number: i64,
    /// The latest time among the samples read.
    pub taken: Timestamp,
    /// Gaps up to here have been read.
    gaps_to: Timestamp,
}

impl Position {
    pub fn after(time: Timestamp) -> Self {
        Self { number: i64::MAX, taken: time, gaps_to: time }
    }

    pub fn following(number: i64, taken: Timestamp) -> Self {
        Self { number, taken, gaps_to: taken }
    }
}

#[derive(Debug)]
pub struct Batch {
    /// In the order they were taken; empty at the end of the history.
    pub samples: Vec<Sample>,
    /// Missed samples up to the last of these samples.
    pub gaps: Vec<Gap>,
    pub next: Position,
}

impl History {
    /// The history at `address`, whose database is the management database. `limit` is the timeout of every
    /// reading.
    pub fn open(address: Address, password: &Secret, limit: Duration) -> Result<Self, SourceError> {
        let (runtime, access) = (runtime(&address)?, Access::new(&address, password, limit)?);
        Ok(Self { address, access, limit, runtime, connection: None })
    }

    /// The filters that samples were taken with, as the server wrote them; an empty one means all files.
    /// Samples with different filters contain different files, so each filter has its own history.
    pub fn filters(&mut self) -> Result<Vec<String>, SourceError> {
        self.bounded(async |address, connection| {
            let rows = query(address, connection, "iostall:history_filters", FILTERS).await?;
            let mut filters: Vec<String> = rows.iter().map(|row| text(row, "filter")).collect();
            filters.sort_unstable();
            Ok(filters)
        })
    }

    /// The samples of `filter` from `position` on, as many as are read at once.
    pub fn read(&mut self, filter: &str, position: &Position) -> Result<Batch, SourceError> {
        let after_ms = position.taken.as_millisecond().max(0);
        let gaps_to_ms = position.gaps_to.as_millisecond().max(0);
        self.bounded(async |address, connection| {
            let of_samples = [&position.number as &dyn tiberius::ToSql, &after_ms, &filter];
            let heads =
                query_with(address, connection, "iostall:history_samples", SAMPLES, &of_samples).await?;
            let heads = at_once(&heads);
            let (Some(first), Some(last)) = (heads.first(), heads.last()) else {
                return Ok(Batch { samples: Vec::new(), gaps: Vec::new(), next: *position });
            };
            let of_files = [&first.number as &dyn tiberius::ToSql, &last.number, &filter];
            let files = query_with(address, connection, "iostall:history_files", FILES, &of_files).await?;
            let of_gaps = [&gaps_to_ms as &dyn tiberius::ToSql, &last.taken_ms, &filter];
            let gaps = query_with(address, connection, "iostall:history_gaps", GAPS, &of_gaps).await?;
            let taken =
                heads.iter().map(|head| timestamp(head.taken_ms)).fold(position.taken, Timestamp::max);
            let next = Position { number: last.number, taken, gaps_to: timestamp(last.taken_ms) };
            Ok(Batch { samples: samples(heads, files), gaps: gaps.iter().map(gap).collect(), next })
        })
    }

    /// Runs `work` with the connection, which is opened if necessary and dropped after an error.
    fn bounded<T>(
        &mut self,
        work: impl AsyncFnMut(&Address, &mut Connection) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        let kept = self.connection.take();
        let all = with_connection(&self.address, &self.access, kept, work);
        let (connection, answer) = iostall_connect::bounded(&self.runtime, &self.address, self.limit, all)?;
        self.connection = Some(connection);
        Ok(answer)
    }
}

#[derive(Clone, Debug)]
struct Head {
    number: i64,
    taken_ms: i64,
    ticks_ms: u64,
    files: u64,
    instance: String,
    version: u64,
    start_ms: u64,
}

fn number(row: &Columns, name: &str) -> u64 {
    row.iter()
        .find_map(|(column, value)| match value {
            Value::Number(number) if column == name => Some(*number),
            _ => None,
        })
        .unwrap_or(0)
}

fn text(row: &Columns, name: &str) -> String {
    row.iter()
        .find_map(|(column, value)| match value {
            Value::Text(text) if column == name => Some(text.clone()),
            _ => None,
        })
        .unwrap_or_default()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn timestamp(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
}

/// As many samples as are read at once, but at least one.
fn at_once(rows: &[Columns]) -> Vec<Head> {
    let mut files = 0;
    rows.iter()
        .map(|row| Head {
            number: signed(number(row, "sample_id")),
            taken_ms: signed(number(row, "taken_ms")),
            ticks_ms: number(row, "ticks_ms"),
            files: number(row, "files"),
            instance: text(row, "instance"),
            version: number(row, "version"),
            start_ms: number(row, "start_ms"),
        })
        .enumerate()
        .take_while(|(index, head)| {
            files += head.files;
            *index == 0 || files <= ROWS_AT_ONCE
        })
        .map(|(_, head)| head)
        .collect()
}

fn gap(row: &Columns) -> Gap {
    let at = timestamp(signed(number(row, "at_ms")));
    Gap { at, missed: number(row, "beats"), reason: text(row, "message") }
}

fn samples(heads: Vec<Head>, files: Vec<Columns>) -> Vec<Sample> {
    let mut rows: HashMap<i64, Vec<Row>> = HashMap::new();
    for file in files {
        let sample = signed(number(&file, "sample_id"));
        rows.entry(sample).or_default().push(remote::row(Kind::SqlServerFile, file.into_iter()));
    }
    heads.into_iter().map(|head| sample(&head, rows.remove(&head.number).unwrap_or_default())).collect()
}

/// With the same marks as a sample taken by iostall, so that the same rules decide what can be subtracted.
fn sample(head: &Head, rows: Vec<Row>) -> Sample {
    let start = head.start_ms.to_string();
    Sample {
        taken: SampleTime {
            utc: timestamp(head.taken_ms),
            clock: format!("ticks of {}", head.instance),
            clock_ns: head.ticks_ms.saturating_mul(1_000_000),
        },
        epoch: Epoch {
            instance: head.instance.clone(),
            version: u32::try_from(head.version).unwrap_or(0),
            process_start: start.clone(),
            counters_since: vec![start],
            uptime_s: None,
        },
        rows,
        warnings: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(id: u64, files: u64) -> Columns {
        vec![("sample_id".to_owned(), Value::Number(id)), ("files".to_owned(), Value::Number(files))]
    }

    #[test]
    fn no_more_rows_are_read_at_once_than_fit_but_one_sample_always_is() {
        let numbers = |rows: &[Columns]| at_once(rows).iter().map(|head| head.number).collect::<Vec<_>>();
        assert_eq!(numbers(&[head(7, 90_000), head(8, 10)]), [7]);
        assert_eq!(numbers(&[head(7, 30_000), head(9, 20_000), head(10, 1)]), [7, 9]);
        assert!(numbers(&[]).is_empty());
    }
}
