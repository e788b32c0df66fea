//! The rows of a day, on their way from the repository into files.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use iostall_model::{Counter, Counters, Peak, Scope, StallHistogram};
use iostall_store::{LakeDay, LakeEpoch, LakeHour, LakeReader, LakeRow, LakeSeries, LakeSource};
use parquet::data_type::ByteArray;

use crate::data_file::{DataFile, DataFileWritten};
use crate::error::MoveError;
use crate::iceberg::{Table, bucket_of};
use crate::place::Place;
use crate::rows::Cell;
use crate::table::{BUCKETS, LakeTableKind};

pub(crate) struct BucketFiles<'a> {
    place: &'a Place,
    tables: &'a [Table; 3],
    addresses: [String; 3],
    files: BTreeMap<usize, DataFile>,
    /// What all rows of one series have in common.
    about: Vec<Cell>,
    of_series: String,
    of_epoch: (String, Vec<Cell>),
}

pub(crate) fn bucket_of_source(source: &LakeSource) -> i32 {
    bucket_of(&source.store.to_string(), BUCKETS)
}

/// Where the file of a table goes that move `number` makes for a day and a bucket, below the place.
pub(crate) fn data_name(table: LakeTableKind, day: LakeDay, bucket: i32, name: &str) -> String {
    format!("{}/data/day={day}/server_bucket={bucket}/{name}.parquet", table.name())
}

impl<'a> BucketFiles<'a> {
    pub(crate) fn new(place: &'a Place, tables: &'a [Table; 3], addresses: [String; 3]) -> Self {
        Self {
            place,
            tables,
            addresses,
            files: BTreeMap::new(),
            about: Vec::new(),
            of_series: String::new(),
            of_epoch: (String::new(), Vec::new()),
        }
    }

    /// Completes the files, and reads them back. Nothing for tables that got no row.
    pub(crate) fn finish(self, bucket: i32) -> Result<[Option<DataFileWritten>; 3], MoveError> {
        let mut written = [const { None }; 3];
        for (table, file) in self.files {
            written[table] = Some(file.finish(self.place, bucket)?);
        }
        Ok(written)
    }

    fn file(&mut self, table: usize) -> Result<&mut DataFile, MoveError> {
        match self.files.entry(table) {
            Entry::Occupied(there) => Ok(there.into_mut()),
            Entry::Vacant(free) => {
                let (address, of_table) = (self.addresses[table].clone(), &self.tables[table]);
                let file = DataFile::create(self.place, address, of_table.kind.name(), &of_table.fields())?;
                Ok(free.insert(file))
            }
        }
    }

    fn look_at(&mut self, source: &LakeSource, series: &LakeSeries) {
        if self.of_series == series.id {
            return;
        }
        self.of_series.clone_from(&series.id);
        let subject = &series.subject;
        self.about = vec![
            Cell::text(&source.server),
            Cell::text(&source.store.to_string()),
            Cell::text(&source.name),
            Cell::text(&source.id.to_string()),
            Cell::text(&series.id),
            Cell::text(subject.kind.name()),
            Cell::text(scope_word(&subject.scope)),
            Cell::text(subject.scope.name()),
            Cell::text(&subject.name),
            Cell::or_missing(series.lies_on.as_deref(), Cell::text),
        ];
    }
}

impl LakeReader for BucketFiles<'_> {
    type Error = MoveError;

    fn row(
        &mut self,
        source: &LakeSource,
        series: &LakeSeries,
        epoch: &LakeEpoch,
        row: &LakeRow,
    ) -> Result<(), MoveError> {
        self.look_at(source, series);
        if self.of_epoch.0 != epoch.id {
            let cells = [&epoch.id, &epoch.clock, &epoch.epoch.instance, &epoch.epoch.process_start];
            let mut cells: Vec<Cell> = cells.into_iter().map(|text| Cell::text(text)).collect();
            cells.push(Cell::Long(epoch.epoch.version.into()));
            self.of_epoch = (epoch.id.clone(), cells);
        }
        let mut cells = self.about.clone();
        cells.push(Cell::Long(row.taken.as_microsecond()));
        cells.push(Cell::Text(ByteArray::from(series.subject.identity.as_str())));
        cells.push(Cell::bits(row.number));
        cells.extend(self.of_epoch.1.iter().cloned());
        cells.push(Cell::bits(row.clock_ns));
        cells.push(Cell::or_missing(row.uptime_s, Cell::bits));
        cells.push(Cell::or_missing(row.age_ms, Cell::bits));
        let kind = series.subject.kind;
        let canonical = |counter, value| kind.column(counter).canonical(value);
        cells.extend(Counter::ALL.into_iter().map(|counter| {
            Cell::or_missing(row.counters.get(counter), |value| Cell::bits(canonical(counter, value)))
        }));
        self.file(0)?.push(cells.into_iter())
    }

    fn hour(&mut self, source: &LakeSource, series: &LakeSeries, hour: &LakeHour) -> Result<(), MoveError> {
        self.look_at(source, series);
        let mut about = self.about.clone();
        about.push(Cell::Long(hour.beginning.as_microsecond()));
        let rollup = &hour.rollup;
        let mut cells = about.clone();
        cells.push(Cell::bits(rollup.totals.covered_ns));
        cells.push(Cell::bits(rollup.intervals));
        cells.extend(Peak::ALL.into_iter().map(|peak| Cell::or_missing(rollup.peak(peak), Cell::Double)));
        cells.extend(counter_cells(&rollup.totals.amounts));
        self.file(1)?.push(cells.into_iter())?;
        let ops = [("read", &rollup.reads_by_stall), ("write", &rollup.writes_by_stall)];
        for (op, stalls) in ops {
            self.stalls(&about, op, stalls)?;
        }
        Ok(())
    }
}

impl BucketFiles<'_> {
    fn stalls(&mut self, about: &[Cell], op: &str, stalls: &StallHistogram) -> Result<(), MoveError> {
        for (bucket, operations) in stalls.buckets() {
            let mut cells = about.to_vec();
            cells.push(Cell::text(op));
            cells.push(Cell::bits(StallHistogram::stall_ns_max(bucket)));
            cells.push(Cell::bits(operations));
            self.file(2)?.push(cells.into_iter())?;
        }
        Ok(())
    }
}

fn counter_cells(counters: &Counters) -> impl Iterator<Item = Cell> + '_ {
    Counter::ALL.into_iter().map(|counter| Cell::or_missing(counters.get(counter), Cell::bits))
}

fn scope_word(scope: &Scope) -> &'static str {
    match scope {
        Scope::Source => "source",
        Scope::Database(_) => "database",
        Scope::Device(_) => "device",
        Scope::Cgroup(_) => "cgroup",
    }
}
