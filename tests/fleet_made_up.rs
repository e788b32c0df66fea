//! A store that is not there: its samples are made up when they are read, and nothing is written but what the centre has confirmed.

use iostall_measure::clock::utc_now;
use iostall_model::job::JobRun;
use iostall_model::{
    Counter, Counters, Epoch, Gap, Kind, Note, Row, RunId, Sample, SampleTime, Scope, Setting,
    SettingVersion, Step, Subject, Tier, Warning,
};
use iostall_store::{
    Appended, Batch, CollectorState, History, ImportMark, Retention, RollupRow, RunMark, RunNumber,
    RunsToSend, Seams, SentRun, SentSheet, SettingsRead, SheetMark, SheetsToSend, Source, SourceId,
    StoreError, StoreId, Stored, StoredNote, Watched,
};
use jiff::{SignedDuration, Timestamp};

/// In each sample.
pub(crate) const FILES: u64 = 40;

/// The store of one SQL Server with some files.
pub(crate) struct MadeUpStore {
    source: Source,
    first: Timestamp,
    interval: SignedDuration,
    state: Option<String>,
}

impl MadeUpStore {
    /// That of the server with this number, with a sample at `first` and after each `interval`.
    pub(crate) fn new(number: u64, first: Timestamp, interval: SignedDuration) -> Self {
        let id = |kind: u64| format!("01890a5d-ac96-774b-bcc{kind}-{number:012x}");
        let source = Source {
            id: id(1).parse().unwrap(),
            store: id(0).parse().unwrap(),
            name: format!("sqlserver://db{number}"),
        };
        Self { source, first, interval, state: None }
    }

    /// How many samples there are by now.
    fn samples(&self) -> u64 {
        let since = utc_now().duration_since(self.first);
        if since.is_negative() {
            0
        } else {
            u64::try_from(since.as_millis() / self.interval.as_millis()).unwrap() + 1
        }
    }

    /// How long it is until the next one, nanoseconds.
    pub(crate) fn next_in_ns(&self) -> u64 {
        let next = self.taken(self.samples() + 1);
        u64::try_from(next.duration_since(utc_now()).as_nanos()).unwrap_or(0)
    }

    fn taken(&self, number: u64) -> Timestamp {
        self.first + self.interval * i32::try_from(number - 1).unwrap()
    }

    fn sample(&self, number: u64) -> Sample {
        let taken = self.taken(number);
        Sample {
            taken: SampleTime {
                utc: taken,
                clock: "ticks".into(),
                clock_ns: 1_000_000_000 + u64::try_from(taken.duration_since(self.first).as_nanos()).unwrap(),
            },
            epoch: Epoch { instance: self.source.name.clone(), version: 16, ..Epoch::default() },
            rows: (0..FILES).map(|file| row(file, number)).collect(),
            warnings: Vec::new(),
        }
    }
}

/// `samples_by_server.sql` knows the same numbers.
fn row(file: u64, number: u64) -> Row {
    let (reads, writes) = (number * (600 + 7 * file), number * (250 + 3 * file));
    let counters = Counters::new()
        .with(Counter::Reads, 5_000_000 + reads)
        .with(Counter::ReadBytes, (5_000_000 + reads) * 16_384)
        .with(Counter::ReadStall, reads * 900_000)
        .with(Counter::Writes, 2_000_000 + writes)
        .with(Counter::WriteBytes, (2_000_000 + writes) * 8_192)
        .with(Counter::WriteStall, writes * 400_000)
        .with(Counter::SizeBytes, (100 + file) << 30)
        .with(Counter::Handle, 0x7ff0_0000 + file);
    let subject = Subject {
        kind: Kind::SqlServerFile,
        scope: Scope::Database(format!("sales{}", file / 4)),
        name: format!("E:\\data\\sales{file}.mdf"),
        identity: format!("{}/{file}/8e5e3d8a-0000-4000-8000-{file:012}", file / 4),
        volume: Some("E:\\".into()),
    };
    Row { subject, counters, age_ms: None }
}

/// What such rows have read between the first sample and the one with this number.
pub(crate) fn reads_up_to(number: u64) -> u64 {
    number.saturating_sub(1) * (0..FILES).map(|file| 600 + 7 * file).sum::<u64>()
}

const ONLY_SENT: &str = "it is sent and nothing else";

impl History for MadeUpStore {
    fn id(&self) -> StoreId {
        self.source.store
    }

    fn sources(&self) -> Result<Vec<Watched>, StoreError> {
        let last = Some(self.samples()).filter(|samples| *samples > 0).map(|number| self.taken(number));
        Ok(vec![Watched { source: self.source.clone(), first: last.map(|_| self.first), last }])
    }

    fn batch_after(&self, _: SourceId, sequence: u64, samples_max: u32) -> Result<Option<Batch>, StoreError> {
        let last = self.samples().min(sequence + u64::from(samples_max));
        let samples: Vec<Sample> = (sequence + 1..=last).map(|number| self.sample(number)).collect();
        Ok((!samples.is_empty()).then(|| Batch::of(self.source.clone(), last, &samples)))
    }

    fn source(&mut self, _: &str) -> Result<Source, StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn add_step(&mut self, _: SourceId, _: &Step) -> Result<(), StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn add_gap(&mut self, _: SourceId, _: &Gap) -> Result<(), StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn append(&mut self, _: &Batch) -> Result<Appended, StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn last_appended(&self, _: SourceId) -> Result<u64, StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn sample_before(&self, _: SourceId, _: Timestamp) -> Result<u64, StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn intervals(
        &self,
        _: SourceId,
        _: Timestamp,
        _: Timestamp,
        _: &mut dyn FnMut(Step),
    ) -> Result<(), StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn rollups(
        &self,
        _: SourceId,
        _: Tier,
        _: Timestamp,
        _: Timestamp,
        _: &mut dyn FnMut(RollupRow),
    ) -> Result<(), StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    /// What its volumes lie on is asked of its newest sample, and nobody knows.
    fn last_sample(&self, _: SourceId) -> Result<Option<Sample>, StoreError> {
        Ok(None)
    }

    fn gaps(&self, _: SourceId, _: Timestamp, _: Timestamp) -> Result<Vec<Gap>, StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn warnings(&self, _: SourceId, _: Timestamp, _: Timestamp) -> Result<Vec<Warning>, StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn notes(&self, _: SourceId, _: Timestamp, _: Timestamp) -> Result<Vec<Note>, StoreError> {
        Ok(Vec::new())
    }

    fn settings(&self, _: SourceId, _: Timestamp, _: Timestamp) -> Result<Vec<SettingVersion>, StoreError> {
        Ok(Vec::new())
    }

    fn settings_read(&self, _: SourceId) -> Result<Option<SettingsRead>, StoreError> {
        Ok(None)
    }

    fn seams(&self, _: SourceId) -> Result<Option<Seams>, StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn import_mark(&self, _: SourceId) -> Result<Option<ImportMark>, StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn forget(&mut self, _: &Retention, _: Timestamp) -> Result<(), StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn remove(&mut self, _: SourceId) -> Result<(), StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn rebuild(&mut self, _: SourceId) -> Result<(), StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn frozen<T>(&self, read: impl FnOnce() -> T) -> Result<T, StoreError> {
        Ok(read())
    }
}

impl CollectorState for MadeUpStore {
    fn put_state(&mut self, _: &str, document: &str) -> Result<(), StoreError> {
        self.state = Some(document.to_owned());
        Ok(())
    }

    fn state(&self, _: &str) -> Result<Option<String>, StoreError> {
        Ok(self.state.clone())
    }

    fn file_bytes(&self) -> Option<u64> {
        None
    }

    fn put_job_run(&mut self, _: &JobRun) -> Result<(), StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn job_runs(&self, _: &str, _: u32) -> Result<Vec<JobRun>, StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn runs_after(&self, _: &str, _: Option<RunNumber>) -> Result<Vec<Stored>, StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn put_settings(&mut self, _: SourceId, _: Timestamp, _: &[Setting]) -> Result<(), StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn add_note(&mut self, _: Option<SourceId>, _: &Note) -> Result<(), StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn all_notes(&self, _: Timestamp, _: Timestamp) -> Result<Vec<StoredNote>, StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn remove_note(&mut self, _: u32) -> Result<bool, StoreError> {
        unreachable!("{ONLY_SENT}")
    }

    fn state_names(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    fn set_state_aside(&mut self, name: &str) -> Result<String, StoreError> {
        Ok(name.to_owned())
    }

    fn samples_between(&self, _: SourceId, _: u64, _: u64) -> Result<u64, StoreError> {
        Ok(0)
    }
}

/// It has run nothing.
/// It has none.
impl SheetsToSend for MadeUpStore {
    fn sheet_marks(&self) -> Result<Vec<SheetMark>, StoreError> {
        Ok(Vec::new())
    }

    fn sheet_to_send(&self, _: &SheetMark) -> Result<Option<SentSheet>, StoreError> {
        Ok(None)
    }

    fn sheets_state(&self) -> Result<String, StoreError> {
        Ok(String::new())
    }
}

impl RunsToSend for MadeUpStore {
    fn run_marks(&self, _: RunNumber, _: u32) -> Result<Vec<(RunNumber, RunMark)>, StoreError> {
        Ok(Vec::new())
    }

    fn run_to_send(&self, _: RunId) -> Result<Option<SentRun>, StoreError> {
        Ok(None)
    }

    fn runs_state(&self) -> Result<String, StoreError> {
        Ok(String::new())
    }
}
