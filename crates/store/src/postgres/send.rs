//! Batches of history to send to another store.

use jiff::Timestamp;

use super::columns::SourceNumber;
use super::database::Database;
use super::statements;
use crate::error::StoreError;
use crate::history::{Batch, Builder, from_utc_ns};
use crate::repository_error::RepositoryError;

struct Ends {
    numbers: (i64, i64),
    /// Time of the sample before the first; the minimum timestamp if there is none.
    since: Timestamp,
    taken: (Timestamp, Timestamp),
}

impl Database {
    /// See [`History::batch_after`](crate::History::batch_after). The number of a batch is that of its last sample.
    pub(super) fn batch_of(
        &self,
        source: SourceNumber,
        sequence: u64,
        samples_max: u32,
    ) -> Result<Option<Batch>, StoreError> {
        let _snapshot = self.session.snapshot()?;
        let Some(ends) = self.ends_after(source, sequence, samples_max)? else { return Ok(None) };
        let (first, last) = ends.numbers;
        let mut builder = Builder::new(self.described(source)?, last.cast_unsigned());
        self.each_sample(source, first, last, &mut |_, sample| builder.add(&sample))?;
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
    ) -> Result<Option<Ends>, RepositoryError> {
        let after = i64::try_from(sequence).unwrap_or(i64::MAX);
        let most = i64::from(samples_max);
        let row = self.session.row(statements::FIND_BATCH, &[&source.0, &after, &most])?;
        let Some(first) = self.column::<Option<i64>>(&row, 0)? else { return Ok(None) };
        let since = self.column::<Option<i64>>(&row, 2)?.map_or(Timestamp::MIN, from_utc_ns);
        let taken = (from_utc_ns(self.column(&row, 3)?), from_utc_ns(self.column(&row, 4)?));
        Ok(Some(Ends { numbers: (first, self.column(&row, 1)?), since, taken }))
    }
}
