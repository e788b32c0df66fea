//! Samples of one source as columns: the form in which history moves between stores and is exported.
//!
//! A row of a sample has one entry in each column of [`RowColumns`]; the sample has its number of rows.
//! Subjects and epochs, which hardly change, are stored once and referred to by index.

use std::collections::{BTreeMap, HashMap};

use iostall_model::{Counter, Counters, Epoch, Gap, Row, Sample, SampleTime, Subject, Warning};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::watched::{ImportMark, Source};
use crate::error::BatchError;
use crate::identity::SeriesId;

#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub source: Source,
    /// Number among the batches of its source, from 1. Numbers increase in the order of appending; some may
    /// be skipped.
    pub sequence: u64,
    pub series: Vec<Subject>,
    /// Epochs without their uptime, with the clock that timed the samples. Samples can be compared only
    /// within an epoch.
    pub epochs: Vec<(Epoch, String)>,
    pub samples: SampleColumns,
    /// One entry per row, grouped by sample.
    pub rows: RowColumns,
    pub warnings: Vec<SeenWarning>,
    pub gaps: Vec<Gap>,
    pub import: Option<ImportMark>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampleColumns {
    pub taken_utc: Vec<Timestamp>,
    /// The same on the clock of its epoch, nanoseconds.
    pub clock_ns: Vec<u64>,
    pub epoch: Vec<u32>,
    pub uptime_s: Vec<Option<u64>>,
    pub row_count: Vec<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RowColumns {
    pub series: Vec<u32>,
    /// Age of the subject, milliseconds, if the server reports it.
    pub age_ms: Vec<Option<u64>>,
    /// Cumulative values, gauges and marks as read. A counter that no row has is left out.
    pub counters: BTreeMap<Counter, Vec<Option<u64>>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeenWarning {
    pub warning: Warning,
    pub first: Timestamp,
    pub last: Timestamp,
}

impl SeenWarning {
    /// Within the time from `first` to `last`, in which it applied.
    pub(crate) fn between(self, first: Timestamp, last: Timestamp) -> Self {
        Self { first: self.first.max(first), last: self.last.min(last), ..self }
    }
}

impl Batch {
    pub fn of<'a>(source: Source, sequence: u64, samples: impl IntoIterator<Item = &'a Sample>) -> Self {
        let mut builder = Builder::new(source, sequence);
        samples.into_iter().for_each(|sample| builder.add(sample));
        builder.batch
    }

    pub(crate) fn number(&self) -> Result<i64, BatchError> {
        i64::try_from(self.sequence).ok().filter(|number| *number > 0).ok_or(BatchError::Number)
    }

    pub fn series_ids(&self) -> Vec<SeriesId> {
        self.series.iter().map(|subject| SeriesId::of(self.source.id, subject)).collect()
    }

    /// Without their warnings.
    pub fn to_samples(&self) -> Result<Vec<Sample>, BatchError> {
        Ok(self.samples()?.collect())
    }

    /// As [`Self::to_samples`], each made when it is asked for.
    pub(crate) fn samples(&self) -> Result<impl ExactSizeIterator<Item = Sample> + '_, BatchError> {
        self.check()?;
        let mut next_row = 0;
        Ok((0..self.samples.taken_utc.len()).map(move |place| {
            let first = next_row;
            next_row += self.samples.row_count[place] as usize;
            let (epoch, clock) = &self.epochs[self.samples.epoch[place] as usize];
            Sample {
                taken: SampleTime {
                    utc: self.samples.taken_utc[place],
                    clock: clock.clone(),
                    clock_ns: self.samples.clock_ns[place],
                },
                epoch: Epoch { uptime_s: self.samples.uptime_s[place], ..epoch.clone() },
                rows: (first..next_row).map(|row| self.row(row)).collect(),
                warnings: Vec::new(),
            }
        }))
    }

    fn check(&self) -> Result<(), BatchError> {
        let SampleColumns { taken_utc, clock_ns, epoch, uptime_s, row_count } = &self.samples;
        let RowColumns { series, age_ms, counters } = &self.rows;
        let lengths = [clock_ns.len(), epoch.len(), uptime_s.len(), row_count.len()];
        let rows = row_count.iter().fold(0_u64, |sum, count| sum + u64::from(*count));
        let fit = lengths.into_iter().all(|length| length == taken_utc.len())
            && rows == series.len() as u64
            && age_ms.len() == series.len()
            && counters.values().all(|values| values.len() == series.len());
        let are_there = |places: &[u32], count: usize| places.iter().all(|place| (*place as usize) < count);
        if !fit {
            Err(BatchError::Lengths)
        } else if are_there(series, self.series.len()) && are_there(epoch, self.epochs.len()) {
            Ok(())
        } else {
            Err(BatchError::Place)
        }
    }

    fn row(&self, place: usize) -> Row {
        let mut of_row = Counters::new();
        for (counter, values) in &self.rows.counters {
            if let Some(value) = values[place] {
                of_row.set(*counter, value);
            }
        }
        let subject = self.series[self.rows.series[place] as usize].clone();
        Row { subject, counters: of_row, age_ms: self.rows.age_ms[place] }
    }
}

pub(crate) struct Builder {
    batch: Batch,
    places: HashMap<Subject, u32>,
}

impl Builder {
    pub(crate) fn new(source: Source, sequence: u64) -> Self {
        let batch = Batch {
            source,
            sequence,
            series: Vec::new(),
            epochs: Vec::new(),
            samples: SampleColumns::default(),
            rows: RowColumns::default(),
            warnings: Vec::new(),
            gaps: Vec::new(),
            import: None,
        };
        Self { batch, places: HashMap::new() }
    }

    pub(crate) fn add(&mut self, sample: &Sample) {
        let epoch = self.epoch(sample);
        for row in &sample.rows {
            self.add_row(row);
        }
        let columns = &mut self.batch.samples;
        columns.taken_utc.push(sample.taken.utc);
        columns.clock_ns.push(sample.taken.clock_ns);
        columns.epoch.push(epoch);
        columns.uptime_s.push(sample.epoch.uptime_s);
        columns.row_count.push(place(sample.rows.len()));
        let at = sample.taken.utc;
        let seen = |warning: &Warning| SeenWarning { warning: warning.clone(), first: at, last: at };
        self.batch.warnings.extend(sample.warnings.iter().map(seen));
    }

    pub(crate) fn finish(self) -> Batch {
        self.batch
    }

    fn add_row(&mut self, row: &Row) {
        let number = self.places.get(&row.subject).copied().unwrap_or_else(|| {
            let next = place(self.batch.series.len());
            self.batch.series.push(row.subject.clone());
            self.places.insert(row.subject.clone(), next);
            next
        });
        let columns = &mut self.batch.rows;
        let before = columns.series.len();
        columns.series.push(number);
        columns.age_ms.push(row.age_ms);
        for (counter, value) in row.counters.iter() {
            let values = columns.counters.entry(counter).or_default();
            values.resize(before, None);
            values.push(Some(value));
        }
        for values in columns.counters.values_mut() {
            values.resize(before + 1, None);
        }
    }

    /// Index of the epoch of `sample`, nearly always that of the sample before.
    fn epoch(&mut self, sample: &Sample) -> u32 {
        let lasting = Epoch { uptime_s: None, ..sample.epoch.clone() };
        let epochs = &mut self.batch.epochs;
        let is_it = |(epoch, clock): &(Epoch, String)| *epoch == lasting && *clock == sample.taken.clock;
        let known = epochs.iter().rposition(is_it);
        place(known.unwrap_or_else(|| {
            epochs.push((lasting, sample.taken.clock.clone()));
            epochs.len() - 1
        }))
    }
}

/// No batch comes close to overflowing.
fn place(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
