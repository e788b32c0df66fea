//! Where days, hours and raw samples of a source meet.

use jiff::Timestamp;
use rusqlite::named_params;

use super::{SourceNumber, SqliteHistory, from_utc_ns, statements};
use crate::error::StoreError;
use crate::history::Seams;
use crate::sqlite::fault;

impl SqliteHistory {
    pub(super) fn seams_of(&self, source: SourceNumber) -> Result<Option<Seams>, StoreError> {
        let (forgot, first, rolled_up, forgot_hours): (bool, Option<i64>, Option<i64>, Option<i64>) = self
            .connection
            .query_row(statements::FIND_SEAM, named_params! {":source": source.0}, |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
            .map_err(fault(&self.path, "read"))?;
        if !forgot {
            return Ok(None);
        }
        let first = first.map_or(Timestamp::MAX, from_utc_ns);
        let end = rolled_up.map_or(Timestamp::MAX, from_utc_ns);
        let days_until = forgot_hours.and_then(|second| Timestamp::from_second(second).ok());
        Ok(Some(Seams::between(days_until.unwrap_or(Timestamp::MIN), first, end)))
    }
}
