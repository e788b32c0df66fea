//! What of a repository goes to the lake: whole days, UTC.

use std::fmt;

use iostall_model::{Counters, Epoch, Rollup, Subject};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::error::StoreError;
use crate::history::{SourceId, StoreId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LakeDay(pub Date);

impl LakeDay {
    pub fn begins(self) -> Timestamp {
        midnight(self.0)
    }

    pub fn ends(self) -> Timestamp {
        self.0.tomorrow().map_or(Timestamp::MAX, midnight)
    }

    /// Days since 1970.
    pub fn number(self) -> i32 {
        let days = self.begins().as_second().div_euclid(86_400);
        i32::try_from(days).unwrap_or(i32::MAX)
    }
}

impl fmt::Display for LakeDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn midnight(day: Date) -> Timestamp {
    day.to_zoned(TimeZone::UTC).map_or(Timestamp::MAX, |day| day.timestamp())
}

/// What a day held at one time. Two are equal if no sample, row or part of an hour came or went in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeSeal {
    pub sample_rows: u64,
    pub hour_rows: u64,
    pub(crate) words: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeMove {
    pub number: i64,
    pub day: LakeDay,
    pub place: String,
    /// The files that it was about to make, complete addresses.
    pub paths: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeTable {
    pub name: String,
    /// Where its metadata is; `None` if there is no such table yet.
    pub before: Option<String>,
    pub now: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LakeSwitch {
    Done,
    DayChanged,
    TableChanged,
    /// Others use the tables, for longer than was waited.
    Busy,
    /// Another one took this move for a dead one and gave it up.
    GivenUp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeSource {
    pub(crate) number: i32,
    pub id: SourceId,
    pub store: StoreId,
    pub name: String,
    /// The name of its host, or the id of its store.
    pub server: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeSeries {
    pub id: String,
    pub subject: Subject,
    /// The volume, or what a device is called.
    pub lies_on: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeEpoch {
    pub id: String,
    pub epoch: Epoch,
    pub clock: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeRow {
    pub number: u64,
    pub age_ms: Option<u64>,
    pub taken: Timestamp,
    pub clock_ns: u64,
    pub uptime_s: Option<u64>,
    pub counters: Counters,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LakeHour {
    pub beginning: Timestamp,
    pub rollup: Rollup,
}

pub trait LakeReader {
    /// Why it stops.
    type Error: From<StoreError>;

    /// The next row, in order of series and time.
    fn row(
        &mut self,
        source: &LakeSource,
        series: &LakeSeries,
        epoch: &LakeEpoch,
        row: &LakeRow,
    ) -> Result<(), Self::Error>;

    fn hour(&mut self, source: &LakeSource, series: &LakeSeries, hour: &LakeHour) -> Result<(), Self::Error>;
}
