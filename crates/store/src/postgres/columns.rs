//! Columns of the repository's tables, and how values are kept in them.

use std::borrow::Cow;
use std::error::Error;

use bytes::BytesMut;
use iostall_model::{Counter, Counters};
use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

const EPOCH_US: i64 = 946_684_800_000_000;
/// The beginning of the year 1, microseconds since 1970.
const YEAR_ONE_US: i64 = -62_135_596_800_000_000;

/// The largest rates of a roll-up, in the order of [`Peak::ALL`](iostall_model::Peak::ALL).
pub(super) const PEAKS: &str = "reads_per_s_max, writes_per_s_max, read_bytes_per_s_max, write_bytes_per_s_max, \
                                read_stall_ns_max, write_stall_ns_max, queue_depth_max";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SourceNumber(pub(super) i32);

/// A `timestamptz`: microseconds since 2000, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UtcMicros(pub(super) i64);

impl UtcMicros {
    /// The microsecond that holds the time stored as `utc_ns`.
    pub(super) fn of_utc_ns(utc_ns: i64) -> Self {
        Self(utc_ns.div_euclid(1_000) - EPOCH_US)
    }

    /// The microsecond of any time, from the year 1 on: PostgreSQL knows fewer years before it than we do.
    pub(super) fn of(at: Timestamp) -> Self {
        Self(at.as_microsecond().max(YEAR_ONE_US) - EPOCH_US)
    }

    pub(super) fn timestamp(self) -> Timestamp {
        Timestamp::from_microsecond(self.0.saturating_add(EPOCH_US)).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

impl ToSql for UtcMicros {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.0.to_sql(&Type::INT8, out)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TIMESTAMPTZ
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for UtcMicros {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        i64::from_sql(&Type::INT8, raw).map(Self)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TIMESTAMPTZ
    }
}

pub(super) fn counter_columns(present: u64) -> String {
    let mut text = String::new();
    for counter in in_set(present) {
        text.push_str(", ");
        text.push_str(counter.name());
    }
    text
}

pub(super) fn in_set(present: u64) -> impl Iterator<Item = Counter> {
    Counter::ALL.into_iter().filter(move |counter| present >> (*counter as u8) & 1 == 1)
}

pub(super) fn with_all_counters(sql: &str) -> String {
    sql.replace("{counters}", &counter_columns(u64::MAX))
}

/// The counters in the columns of `row` from the one numbered `first`, all of them in the order of their numbers.
pub(super) fn counters_from(row: &Row, first: usize) -> Result<Counters, tokio_postgres::Error> {
    let mut counters = Counters::new();
    for (place, counter) in Counter::ALL.into_iter().enumerate() {
        // The bits are kept: a mark may be any number of 64 bits.
        if let Some(value) = row.try_get::<_, Option<i64>>(first + place)? {
            counters.set(counter, value.cast_unsigned());
        }
    }
    Ok(counters)
}

/// `text` as PostgreSQL can keep it: without the character 0.
pub(super) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}
