//! The central repository of a fleet, by its URL, and what a server sends to a centre.

use std::sync::atomic::{AtomicBool, Ordering};

use iostall_collect::Address;
use iostall_measure::{Clock as _, MonotonicClock};
use iostall_store::{
    Appended, CollectorState, History, InitialisedRepository, PostgresHistory, RunsToSend, SheetsToSend,
    Source, StoreError,
};

use crate::confirmed::Confirmed;
use crate::destination::{Destination, Known};
use crate::error::WatchError;
use crate::named::{AskPassword, NamedSource};
use crate::reported_volumes::Placed;
use crate::sent_runs::{SentSheets, send_runs};

/// Samples in a batch: an hour of minutes, or a minute of seconds.
const BATCH_SAMPLES: u32 = 60;
/// So often it is looked again how much is there: another process of this store sends, too, or the centre was restored from a backup.
const LOOKS_MAX: u32 = 5;

/// Creates the repository in the database at `url`, or upgrades its tables.
pub fn initialise_repository(url: &str, ask: AskPassword<'_>) -> Result<InitialisedRepository, WatchError> {
    let place = place(url, ask)?;
    Ok(PostgresHistory::initialise(&place.address, &place.secret).map_err(StoreError::from)?)
}

pub fn open_repository(url: &str, ask: AskPassword<'_>) -> Result<PostgresHistory, WatchError> {
    let place = place(url, ask)?;
    Ok(PostgresHistory::open(&place.address, &place.secret).map_err(StoreError::from)?)
}

/// Opens the repository in the database at `url` so often, each with a connection of its own. The password is asked for once.
fn open_repositories(
    url: &str,
    count: usize,
    ask: AskPassword<'_>,
) -> Result<Vec<PostgresHistory>, WatchError> {
    let place = place(url, ask)?;
    let open = |_| PostgresHistory::open(&place.address, &place.secret);
    Ok((0..count).map(open).collect::<Result<_, _>>().map_err(StoreError::from)?)
}

/// A database that does not answer yet is tried again after this, nanoseconds.
const AGAIN_NS: u64 = 2_000_000_000;

/// `open_repositories`, which waits for a database that does not answer yet, as after both were started at once. `waiting` hears of it
/// once.
pub fn wait_for_repositories(
    url: &str,
    count: usize,
    ask: AskPassword<'_>,
    waiting: &dyn Fn(&WatchError),
) -> Result<Vec<PostgresHistory>, WatchError> {
    let clock = MonotonicClock::new();
    let mut is_said = false;
    loop {
        match open_repositories(url, count, ask) {
            Err(error) if error.may_pass() => {
                if !std::mem::replace(&mut is_said, true) {
                    waiting(&error);
                }
                clock.sleep_until(clock.now_ns() + AGAIN_NS);
            }
            opened => return opened,
        }
    }
}

fn place(url: &str, ask: AskPassword<'_>) -> Result<NamedSource, WatchError> {
    let address: Address = url.parse()?;
    NamedSource::at(address, ask)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendEvent<'a> {
    Note(String),
    Sent { source: &'a Source, samples: usize },
    Runs(usize),
    Sheets(usize),
}

/// Sends what `to` lacks of the sources that `from` samples itself, and of its runs, notes and settings, until `stop` is set. How much of each source is
/// there then.
///
/// Both know how far it got: a batch that arrives twice is there once, and nothing is removed from `from`. With the samples goes which
/// devices of this host are under the volumes in them.
pub fn send_history(
    from: &(impl History + CollectorState + RunsToSend + SheetsToSend),
    to: &mut impl Destination,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(SendEvent<'_>),
) -> Result<Confirmed, WatchError> {
    send_with(from, to, &mut Heard::default(), stop, observer)
}

#[derive(Debug, Default)]
pub(crate) struct Heard {
    placed: Placed,
    sheets: SentSheets,
}

pub(crate) fn send_with(
    from: &(impl History + CollectorState + RunsToSend + SheetsToSend),
    to: &mut impl Destination,
    heard: &mut Heard,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(SendEvent<'_>),
) -> Result<Confirmed, WatchError> {
    if let Some(note) = to.begin()? {
        observer(SendEvent::Note(note));
    }
    let mut confirmed = Confirmed::default();
    for watched in from.sources()? {
        let source = watched.source;
        // A source of another store comes from there: two numberings of its batches would mix.
        if source.store == from.id() {
            let (samples, number) = send_source(from, to, &source, stop)?;
            if number > 0 {
                heard.placed.send(from, to, &source)?;
            }
            confirmed.add(source.id, number);
            observer(SendEvent::Sent { source: &source, samples });
        }
    }
    let runs = send_runs(from, to, stop)?;
    for note in runs.notes {
        observer(SendEvent::Note(note));
    }
    if runs.count > 0 {
        observer(SendEvent::Runs(runs.count));
    }
    let sheets = heard.sheets.send(from, to, stop)?;
    for note in sheets.notes {
        observer(SendEvent::Note(note));
    }
    if sheets.count > 0 {
        observer(SendEvent::Sheets(sheets.count));
    }
    Ok(confirmed)
}

fn send_source(
    from: &impl History,
    to: &mut impl Destination,
    source: &Source,
    stop: &AtomicBool,
) -> Result<(usize, u64), WatchError> {
    let known = to.known(source.id)?;
    check_numbering(from, known, source)?;
    let (mut confirmed, mut samples, mut most) = (known.appended, 0, BATCH_SAMPLES);
    let mut looks = 0;
    while !stop.load(Ordering::Relaxed) {
        let Some(batch) = from.batch_after(source.id, confirmed, most)? else { break };
        match to.append(confirmed, &batch) {
            // Thousands of files: fewer samples of them fit into one batch.
            Err(WatchError::BatchTooLong) if most > 1 => most /= 2,
            Ok(Appended::NotNext) => {
                looks += 1;
                if looks > LOOKS_MAX {
                    return Err(WatchError::NotNext { name: source.name.clone() });
                }
                let known = to.known(source.id)?;
                check_numbering(from, known, source)?;
                confirmed = known.appended;
            }
            appended => {
                appended?;
                samples += batch.samples.taken_utc.len();
                confirmed = batch.sequence;
            }
        }
    }
    Ok((samples, confirmed))
}

/// An older copy of a store numbers new samples like those that it has lost: they would count as sent.
fn check_numbering(from: &impl History, known: Known, source: &Source) -> Result<(), WatchError> {
    let Some(before) = known.appended.checked_sub(1) else { return Ok(()) };
    let diverged = || WatchError::Diverged { name: source.name.clone() };
    let newest = from.batch_after(source.id, before, 1)?.ok_or_else(diverged)?;
    let Some(theirs) = known.newest.filter(|_| newest.sequence == known.appended) else {
        return Ok(());
    };
    if newest.samples.taken_utc.last() == Some(&theirs) { Ok(()) } else { Err(diverged()) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use iostall_model::{Counter, Counters, Epoch, Kind, Row, Sample, SampleTime, Scope, Subject};
    use iostall_store::SqliteHistory;
    use jiff::{SignedDuration, Timestamp};

    use super::*;

    fn sample(minute: i64) -> Sample {
        let start: Timestamp = "2026-03-01T09:58:00Z".parse().unwrap();
        let subject = Subject {
            kind: Kind::SqlServerFile,
            scope: Scope::Source,
            name: "a.mdf".into(),
            identity: "1".into(),
            volume: None,
        };
        let counters = Counters::new().with(Counter::Reads, minute.cast_unsigned() * 7);
        Sample {
            taken: SampleTime {
                utc: start + SignedDuration::from_mins(minute),
                clock: "ticks".into(),
                clock_ns: minute.cast_unsigned() * 60_000_000_000,
            },
            epoch: Epoch::default(),
            rows: vec![Row { subject, counters, age_ms: None }],
            warnings: Vec::new(),
        }
    }

    fn send(from: &SqliteHistory, to: &mut SqliteHistory) -> Result<usize, WatchError> {
        let mut all = 0;
        let mut add = |event: SendEvent<'_>| {
            if let SendEvent::Sent { samples, .. } = event {
                all += samples;
            }
        };
        send_history(from, to, &AtomicBool::new(false), &mut add)?;
        Ok(all)
    }

    #[test]
    fn what_is_new_is_sent_and_what_another_store_samples_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let mut here = SqliteHistory::open(directory.path().join("here.db")).unwrap();
        let mut centre = SqliteHistory::open(directory.path().join("centre.db")).unwrap();
        let source = here.source("s").unwrap().id;
        for minute in 0..150 {
            here.add_sample(source, sample(minute)).unwrap();
        }
        assert_eq!(send(&here, &mut centre).unwrap(), 150);
        assert_eq!(send(&here, &mut centre).unwrap(), 0);
        here.add_sample(source, sample(150)).unwrap();
        assert_eq!(send(&here, &mut centre).unwrap(), 1);
        assert_eq!(centre.last_sample(source).unwrap(), Some(sample(150)));
        let mut other = SqliteHistory::open(directory.path().join("other.db")).unwrap();
        assert_eq!(send(&centre, &mut other).unwrap(), 0, "the centre's copy is not its own");
    }

    /// The samples of a store that was restored from a backup had numbers that the repository knew: they counted as sent.
    #[test]
    fn a_store_that_was_restored_from_an_older_copy_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let (path, copy) = (directory.path().join("here.db"), directory.path().join("copy.db"));
        let mut centre = SqliteHistory::open(directory.path().join("centre.db")).unwrap();
        let mut here = SqliteHistory::open(&path).unwrap();
        let source = here.source("s").unwrap().id;
        for minute in 0..5 {
            here.add_sample(source, sample(minute)).unwrap();
        }
        drop(here);
        fs::copy(&path, &copy).unwrap();
        let mut here = SqliteHistory::open(&path).unwrap();
        for minute in 5..9 {
            here.add_sample(source, sample(minute)).unwrap();
        }
        send(&here, &mut centre).unwrap();
        let mut restored = SqliteHistory::open(&copy).unwrap();
        assert!(matches!(send(&restored, &mut centre), Err(WatchError::Diverged { .. })));
        for minute in 20..40 {
            restored.add_sample(source, sample(minute)).unwrap();
        }
        assert!(matches!(send(&restored, &mut centre), Err(WatchError::Diverged { .. })));
    }
}
