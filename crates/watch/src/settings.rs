//! Reads the settings of sources at the start and then once an hour, beside the sampling.
//!
//! On a thread and over connections of its own: a server that takes long to say how its files are set costs no sample.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::Builder;

use iostall_collect::{Source, SourceError};
use iostall_model::Setting;
use iostall_store::SettingsRead;
use jiff::{SignedDuration, Timestamp};

use crate::error::WatchError;

const EVERY_NS: u64 = 3_600 * NS_PER_S;
/// How soon again where that failed.
const AGAIN_NS: u64 = 300 * NS_PER_S;
const NS_PER_S: u64 = 1_000_000_000;

pub(crate) type Opened = Result<Box<dyn Source>, SourceError>;

type Answer = (usize, Result<Vec<Setting>, SourceError>);

/// Whether settings that were read then need not be read `now`, which is within the hour.
pub(crate) fn is_fresh(read: SettingsRead, now: Timestamp) -> bool {
    let hour = SignedDuration::from_nanos(EVERY_NS.cast_signed());
    read.last <= now && now.duration_since(read.last) < hour
}

pub(crate) struct SettingsReader {
    /// Since when on the clock, by source, the next reading is due.
    due_ns: HashMap<usize, u64>,
    asked: Sender<(usize, Opened)>,
    answers: Receiver<Answer>,
    reading: Option<usize>,
}

impl SettingsReader {
    /// Starts its thread, which ends with it, or once the source that it reads has answered.
    pub(crate) fn start() -> Result<Self, WatchError> {
        let (asked, to_read) = channel::<(usize, Opened)>();
        let (answer, answers) = channel();
        let work = move || {
            for (number, opened) in to_read {
                let settings = opened.and_then(|mut source| source.settings());
                if answer.send((number, settings)).is_err() {
                    return;
                }
            }
        };
        Builder::new().name("settings".into()).spawn(work).map_err(WatchError::Thread)?;
        Ok(Self { due_ns: HashMap::new(), asked, answers, reading: None })
    }

    /// Begins to read the next source that is due, of those with `numbers`, and gives what was read since: one source at a time, so
    /// that a thousand of them are no burst.
    pub(crate) fn turn(
        &mut self,
        numbers: impl Iterator<Item = usize>,
        now_ns: u64,
        open: impl FnOnce(usize) -> Opened,
    ) -> Option<(usize, Vec<Setting>)> {
        let mut read = None;
        match self.answers.try_recv() {
            Ok((number, answer)) => {
                self.reading = None;
                // What a source says while it fails is said where it is sampled.
                let wait_ns = if answer.is_ok() { EVERY_NS } else { AGAIN_NS };
                self.due_ns.insert(number, now_ns.saturating_add(wait_ns));
                read = answer.ok().filter(|settings| !settings.is_empty()).map(|settings| (number, settings));
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
        }
        if self.reading.is_none() {
            let is_due = |number: &usize| self.due_ns.get(number).is_none_or(|due_ns| *due_ns <= now_ns);
            if let Some(number) = numbers.filter(is_due).min()
                && self.asked.send((number, open(number))).is_ok()
            {
                self.reading = Some(number);
            }
        }
        read
    }

    /// The source of that number is another now, or is gone.
    pub(crate) fn forget(&mut self, number: usize) {
        self.due_ns.remove(&number);
    }
}

#[cfg(test)]
mod tests {
    use iostall_measure::{Clock, MonotonicClock};
    use iostall_model::Sample;

    use super::*;

    struct Set(usize);

    impl Source for Set {
        fn read(&mut self) -> Result<Sample, SourceError> {
            Err(SourceError::Defect)
        }

        fn settings(&mut self) -> Result<Vec<Setting>, SourceError> {
            match self.0 {
                1 => Err(SourceError::Defect),
                number => Ok(vec![Setting::set("", "number", number.to_string())]),
            }
        }
    }

    /// The numbers that were read at `now_ns`.
    fn read(reader: &mut SettingsReader, now_ns: u64) -> Vec<usize> {
        let clock = MonotonicClock::default();
        let mut read = Vec::new();
        let open = |number| -> Opened { Ok(Box::new(Set(number))) };
        for _ in 0..10_000 {
            read.extend(reader.turn([0, 1, 2].into_iter(), now_ns, open).map(|(number, _)| number));
            if reader.reading.is_none() {
                break;
            }
            clock.sleep_until(clock.now_ns() + 1_000_000);
        }
        read
    }

    #[test]
    fn each_is_read_at_once_and_hourly_and_one_that_failed_sooner() {
        let mut reader = SettingsReader::start().unwrap();
        assert_eq!(read(&mut reader, 0), [0, 2]);
        assert!(read(&mut reader, 1).is_empty());
        assert_eq!(reader.due_ns.get(&1), Some(&AGAIN_NS));
        assert_eq!(read(&mut reader, EVERY_NS), [0, 2]);
        reader.forget(2);
        assert_eq!(read(&mut reader, EVERY_NS + 1), [2], "another address under the same name");
    }
}
