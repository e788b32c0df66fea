//! Batches of history to send to another store.

use jiff::Timestamp;
use rusqlite::named_params;

use super::{SourceNumber, SqliteHistory, from_utc_ns, statements};
use crate::error::StoreError;
use crate::history::{Batch, Builder, SourceId};
use crate::sqlite::fault;

struct Ends {
    numbers: (i64, i64),
    /// Time of the sample before the first; the minimum timestamp if there is none.
    since: Timestamp,
    taken: (Timestamp, Timestamp),
}

impl SqliteHistory {
    /// See [`History::batch_after`](crate::History::batch_after). Samples are numbered in order, and numbers
    /// are never reused; the number of a batch is that of its last sample.
    pub(super) fn batch_of(
        &self,
        id: SourceId,
        sequence: u64,
        samples_max: u32,
    ) -> Result<Option<Batch>, StoreError> {
        let source = self.number(id)?;
        let Some(ends) = self.ends_after(source, sequence, samples_max)? else { return Ok(None) };
        let (first, last) = ends.numbers;
        let mut builder = Builder::new(self.described(id)?, last.cast_unsigned());
        self.each_sample(source, first, last, &mut |number, sample| {
            if number >= first {
                builder.add(&sample);
            }
        })?;
        let mut batch = builder.finish();
        // A gap is stored before the sample that ends it, so later samples bring no earlier gaps.
        batch.gaps = self.gaps_of(source, ends.since, ends.taken.1)?;
        let (first, last) = ends.taken;
        let seen = self.warnings_of(source, first, last)?;
        batch.warnings = seen.into_iter().map(|seen| seen.between(first, last)).collect();
        Ok(Some(batch))
    }

    fn ends_after(
        &self,
        source: SourceNumber,
        sequence: u64,
        samples_max: u32,
    ) -> Result<Option<Ends>, StoreError> {
        let parameters = named_params! {
            ":source": source.0,
            ":after": i64::try_from(sequence).unwrap_or(i64::MAX),
            ":samples": samples_max,
        };
        let ends = |row: &rusqlite::Row<'_>| {
            let Some(first) = row.get::<_, Option<i64>>(0)? else { return Ok(None) };
            let since = row.get::<_, Option<i64>>(2)?.map_or(Timestamp::MIN, from_utc_ns);
            let taken = (from_utc_ns(row.get(3)?), from_utc_ns(row.get(4)?));
            Ok(Some(Ends { numbers: (first, row.get(1)?), since, taken }))
        };
        self.connection
            .prepare_cached(statements::FIND_BATCH)
            .and_then(|mut statement| statement.query_row(parameters, ends))
            .map_err(fault(&self.path, "read"))
    }
}
