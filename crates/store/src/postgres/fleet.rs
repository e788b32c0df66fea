//! What all servers of a repository did.

use std::collections::BTreeMap;

use iostall_model::{StallHistogram, Tier};
use jiff::Timestamp;
use tokio_postgres::Row;

use super::columns::UtcMicros;
use super::database::Database;
use super::rollups::histogram;
use super::statements;
use crate::history::{ceiling, from_utc_ns};
use crate::repository_error::RepositoryError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetServer {
    pub id: String,
    pub hostname: Option<String>,
    pub version: Option<String>,
    pub last_contact: Option<Timestamp>,
    /// How far its clock was ahead of the repository's then, milliseconds.
    pub clock_ahead_ms: Option<i64>,
    /// When two machines were last noticed that send as this server.
    pub clone_noticed: Option<Timestamp>,
    pub sources: u64,
    pub newest_sample: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FleetUse {
    /// The name of its host, or the id of its store.
    pub server: String,
    pub source: String,
    /// Its kind; empty for a member of a device.
    pub kind: String,
    /// Its database or the like; may be empty.
    pub scope: String,
    pub name: String,
    pub volume: Option<String>,
    /// The time that was watched, nanoseconds; of a volume that of all its files together.
    pub covered_ns: f64,
    /// `None` where they are not counted.
    pub reads: Option<f64>,
    /// `None` where they are not counted.
    pub writes: Option<f64>,
    pub bytes: f64,
    /// Of reads, writes and syncs.
    pub stall_ns: f64,
    /// Of reads and writes.
    pub io_stall_ns: f64,
    /// Numbers of the series and of its source; 0 where it is a volume.
    key: (i32, i32),
}

#[derive(Clone, Debug, PartialEq)]
pub struct SharedDevice {
    /// What its identity is: `naa`, `nguid`, `nfs`, `tag` and so on.
    pub kind: String,
    pub identity: String,
    pub model: Option<String>,
    /// The volumes on it, the most waited for first.
    pub volumes: Vec<FleetUse>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FleetSizes {
    pub server: String,
    pub source: String,
    /// Beginning of the day, and bytes.
    pub days: Vec<(Timestamp, f64)>,
}

/// A day of a file, and its reads and writes by the mean stall of their interval.
pub type StallDay = (Timestamp, StallHistogram);

/// The window of a report: whole days, and hours before and after them.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: UtcMicros,
    days: (UtcMicros, UtcMicros),
    to: UtcMicros,
}

impl Window {
    fn of(from: Timestamp, to: Timestamp) -> Self {
        let (first, last) = (ceiling(Tier::Day, from), Tier::Day.floor(to));
        let days = if first < last { (first, last) } else { (to, to) };
        Self {
            from: UtcMicros::of(Tier::Hour.floor(from)),
            days: (UtcMicros::of(days.0), UtcMicros::of(days.1)),
            to: UtcMicros::of(to),
        }
    }
}

const DEVICE_COLUMNS: usize = 3;

impl Database {
    pub(super) fn servers(&self) -> Result<Vec<FleetServer>, RepositoryError> {
        let rows = self.session.rows(statements::FLEET_SERVERS, &[])?;
        rows.iter().map(|row| self.server(row)).collect()
    }

    /// What `sql` finds in a window: files or volumes.
    pub(super) fn uses(
        &self,
        sql: &str,
        window: (Timestamp, Timestamp),
        kinds: &[&str],
        most: u32,
    ) -> Result<Vec<FleetUse>, RepositoryError> {
        let used = |row: &Row| {
            let sums = self.sums(row, 6)?;
            Ok(FleetUse {
                server: self.column(row, 0)?,
                source: self.column(row, 1)?,
                kind: self.column(row, 2)?,
                scope: self.column(row, 3)?,
                name: self.column(row, 4)?,
                volume: self.column(row, 5)?,
                key: (self.column(row, 12)?, self.column(row, 13)?),
                ..sums
            })
        };
        self.window_rows(sql, window, kinds, most)?.iter().map(used).collect()
    }

    pub(super) fn shared_devices(
        &self,
        window: (Timestamp, Timestamp),
        kinds: &[&str],
        most: u32,
    ) -> Result<Vec<SharedDevice>, RepositoryError> {
        let rows = self.window_rows(statements::FLEET_NEIGHBOURS, window, kinds, most)?;
        let mut devices: Vec<SharedDevice> = Vec::new();
        for row in &rows {
            let (kind, identity) = (self.column(row, 0)?, self.column(row, 1)?);
            let on_it = self.member(row)?;
            let last = devices.last_mut().filter(|last| last.kind == kind && last.identity == identity);
            if let Some(last) = last {
                last.volumes.push(on_it);
            } else {
                let model = self.column(row, 2)?;
                devices.push(SharedDevice { kind, identity, model, volumes: vec![on_it] });
            }
        }
        Ok(devices)
    }

    /// The whole days of each of `files` between two times, in their order.
    pub(super) fn days_of(
        &self,
        (from, to): (Timestamp, Timestamp),
        files: &[FleetUse],
    ) -> Result<Vec<Vec<StallDay>>, RepositoryError> {
        let (series, sources): (Vec<i32>, Vec<i32>) = files.iter().map(|file| file.key).unzip();
        let (first, end) = (UtcMicros::of(ceiling(Tier::Day, from)), UtcMicros::of(Tier::Day.floor(to)));
        let mut days: BTreeMap<i32, Vec<StallDay>> = BTreeMap::new();
        for row in self.session.rows(statements::FLEET_DAYS, &[&sources, &series, &first, &end])? {
            let mut both = self.stalls(&row, 2)?;
            both.merge(&self.stalls(&row, 3)?);
            let beginning: UtcMicros = self.column(&row, 1)?;
            days.entry(self.column(&row, 0)?).or_default().push((beginning.timestamp(), both));
        }
        Ok(series.iter().map(|series| days.remove(series).unwrap_or_default()).collect())
    }

    /// What the series of `kinds` of each source held at the end of each day.
    pub(super) fn sizes_of(
        &self,
        (from, to): (Timestamp, Timestamp),
        kinds: &[&str],
    ) -> Result<Vec<FleetSizes>, RepositoryError> {
        let day = |at| UtcMicros::of(Tier::Day.floor(at));
        let mut sizes: Vec<(i32, FleetSizes)> = Vec::new();
        for row in self.session.rows(statements::FLEET_SIZES, &[&day(from), &day(to), &kinds])? {
            let number: i32 = self.column(&row, 4)?;
            let beginning: UtcMicros = self.column(&row, 2)?;
            let held = (beginning.timestamp(), self.column(&row, 3)?);
            if let Some((_, last)) = sizes.last_mut().filter(|(last, _)| *last == number) {
                last.days.push(held);
            } else {
                let (server, source) = (self.column(&row, 0)?, self.column(&row, 1)?);
                sizes.push((number, FleetSizes { server, source, days: vec![held] }));
            }
        }
        Ok(sizes.into_iter().map(|(_, sizes)| sizes).collect())
    }

    fn server(&self, row: &Row) -> Result<FleetServer, RepositoryError> {
        let time = |place| -> Result<Option<Timestamp>, RepositoryError> {
            Ok(self.column::<Option<UtcMicros>>(row, place)?.map(UtcMicros::timestamp))
        };
        Ok(FleetServer {
            id: self.column(row, 0)?,
            hostname: self.column(row, 1)?,
            version: self.column(row, 2)?,
            last_contact: time(3)?,
            clock_ahead_ms: self.column(row, 4)?,
            clone_noticed: time(5)?,
            sources: self.column::<i64>(row, 6)?.cast_unsigned(),
            newest_sample: self.column::<Option<i64>>(row, 7)?.map(from_utc_ns),
        })
    }

    fn window_rows(
        &self,
        sql: &str,
        (from, to): (Timestamp, Timestamp),
        kinds: &[&str],
        most: u32,
    ) -> Result<Vec<Row>, RepositoryError> {
        let Window { from, days, to } = Window::of(from, to);
        self.session.rows(sql, &[&from, &days.0, &days.1, &to, &kinds, &i64::from(most)])
    }

    fn member(&self, row: &Row) -> Result<FleetUse, RepositoryError> {
        Ok(FleetUse {
            server: self.column(row, DEVICE_COLUMNS)?,
            source: self.column(row, DEVICE_COLUMNS + 1)?,
            name: self.column(row, DEVICE_COLUMNS + 2)?,
            ..self.sums(row, DEVICE_COLUMNS + 3)?
        })
    }

    /// The sums in the columns from the one numbered `first`, of nothing named.
    fn sums(&self, row: &Row, first: usize) -> Result<FleetUse, RepositoryError> {
        Ok(FleetUse {
            server: String::new(),
            source: String::new(),
            kind: String::new(),
            scope: String::new(),
            name: String::new(),
            volume: None,
            covered_ns: self.column(row, first)?,
            reads: self.column(row, first + 1)?,
            writes: self.column(row, first + 2)?,
            bytes: self.column(row, first + 3)?,
            stall_ns: self.column(row, first + 4)?,
            io_stall_ns: self.column(row, first + 5)?,
            key: (0, 0),
        })
    }

    fn stalls(&self, row: &Row, place: usize) -> Result<StallHistogram, RepositoryError> {
        let numbers: Vec<i64> = self.column(row, place)?;
        histogram(&numbers).ok_or_else(|| self.session.damaged("a distribution of stall"))
    }
}
