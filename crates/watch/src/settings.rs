//! Reads the settings of sources at the start and then once an hour, beside the sampling.
//!
//! On a thread and over connections of its own: a server that takes long to say how its files are set costs no sample.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use iostall_collect::{Source, SourceError};
use iostall_measure::clock::receive;
use iostall_model::Setting;
use iostall_store::SettingsRead;
use jiff::{SignedDuration, Timestamp};

const EVERY_NS: u64 = 3_600 * NS_PER_S;
/// How soon again where that failed.
const AGAIN_NS: u64 = 300 * NS_PER_S;
const NS_PER_S: u64 = 1_000_000_000;
/// A source that takes longer, as one that looks at a dead mount does, is waited for no more.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

pub(crate) type Opened = Result<Box<dyn Source>, SourceError>;

/// Whether settings that were read then need not be read `now`, which is within the hour.
pub(crate) fn is_fresh(read: SettingsRead, now: Timestamp) -> bool {
    let hour = SignedDuration::from_nanos(EVERY_NS.cast_signed());
    read.last <= now && now.duration_since(read.last) < hour
}

#[derive(Debug)]
pub(crate) enum SettingsTurn {
    Read(usize, Vec<Setting>),
    /// It has not answered within [`LIMIT`]. Once for each reading.
    Late(usize),
}

struct Answer {
    number: usize,
    reading: u64,
    settings: Result<Vec<Setting>, SourceError>,
}

/// One that has not answered yet.
#[derive(Clone, Copy, Debug)]
struct Reading {
    id: u64,
    until_ns: u64,
    is_late: bool,
}

pub(crate) struct SettingsReader {
    /// Since when on the clock, by source, the next reading is due.
    due_ns: HashMap<usize, u64>,
    readings: HashMap<usize, Reading>,
    last_id: u64,
    answer: Sender<Answer>,
    answers: Receiver<Answer>,
}

impl Default for SettingsReader {
    fn default() -> Self {
        let (answer, answers) = channel();
        Self { due_ns: HashMap::new(), readings: HashMap::new(), last_id: 0, answer, answers }
    }
}

impl SettingsReader {
    /// Begins to read the next source that is due, of those with `numbers`, and gives what was read since: one source at a time, so
    /// that a thousand of them are no burst. One that takes too long keeps no other waiting.
    pub(crate) fn turn(
        &mut self,
        numbers: impl Iterator<Item = usize>,
        now_ns: u64,
        open: impl FnOnce(usize) -> Opened,
    ) -> Option<SettingsTurn> {
        let news = self.news(now_ns);
        if self.readings.values().all(|reading| reading.is_late) {
            let is_due = |number: &usize| {
                !self.readings.contains_key(number)
                    && self.due_ns.get(number).is_none_or(|due_ns| *due_ns <= now_ns)
            };
            if let Some(number) = numbers.filter(is_due).min() {
                self.begin(number, now_ns, open(number));
            }
        }
        news
    }

    fn news(&mut self, now_ns: u64) -> Option<SettingsTurn> {
        while let Ok(Answer { number, reading, settings }) = self.answers.try_recv() {
            // One that was begun for another source under the number is of no use.
            if self.readings.get(&number).is_some_and(|known| known.id == reading) {
                self.readings.remove(&number);
                // What a source says while it fails is said where it is sampled.
                let wait_ns = if settings.is_ok() { EVERY_NS } else { AGAIN_NS };
                self.due_ns.insert(number, now_ns.saturating_add(wait_ns));
                if let Some(settings) = settings.ok().filter(|settings| !settings.is_empty()) {
                    return Some(SettingsTurn::Read(number, settings));
                }
            }
        }
        let is_over = |reading: &Reading| !reading.is_late && reading.until_ns <= now_ns;
        let (number, reading) = self.readings.iter_mut().find(|(_, reading)| is_over(reading))?;
        reading.is_late = true;
        Some(SettingsTurn::Late(*number))
    }

    /// On a thread of its own, which ends when the source answers.
    fn begin(&mut self, number: usize, now_ns: u64, opened: Opened) {
        self.last_id += 1;
        let (id, answer) = (self.last_id, self.answer.clone());
        let work = move || {
            let settings = opened.and_then(|mut source| source.settings());
            // Nobody waits for it any more.
            let _ = answer.send(Answer { number, reading: id, settings });
        };
        if Builder::new().name("settings".into()).spawn(work).is_ok() {
            let until_ns = now_ns.saturating_add(u64::try_from(LIMIT.as_nanos()).unwrap_or(u64::MAX));
            self.readings.insert(number, Reading { id, until_ns, is_late: false });
        } else {
            self.due_ns.insert(number, now_ns.saturating_add(AGAIN_NS));
        }
    }

    /// The source of that number is another now, or is gone.
    pub(crate) fn forget(&mut self, number: usize) {
        self.due_ns.remove(&number);
        self.readings.remove(&number);
    }
}

/// Reads the settings of `opened` now; `None` if it does not answer within `limit`.
pub(crate) fn read_within(opened: Opened, limit: Duration) -> Option<Result<Vec<Setting>, SourceError>> {
    let (answer, answers) = channel();
    let work = move || {
        // Nobody waits for it any more.
        let _ = answer.send(opened.and_then(|mut source| source.settings()));
    };
    Builder::new().name("settings".into()).spawn(work).ok()?;
    receive(&answers, limit).ok()
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

    /// Answers when its other end is dropped.
    struct Silent(Receiver<()>);

    impl Source for Silent {
        fn read(&mut self) -> Result<Sample, SourceError> {
            Err(SourceError::Defect)
        }

        fn settings(&mut self) -> Result<Vec<Setting>, SourceError> {
            let _ = self.0.recv();
            Ok(Vec::new())
        }
    }

    /// The numbers that were read at `now_ns`, and those that were late.
    fn turns(reader: &mut SettingsReader, now_ns: u64) -> (Vec<usize>, Vec<usize>) {
        let clock = MonotonicClock::default();
        let (mut read, mut late) = (Vec::new(), Vec::new());
        let open = |number| -> Opened { Ok(Box::new(Set(number))) };
        for _ in 0..10_000 {
            match reader.turn([0, 1, 2].into_iter(), now_ns, open) {
                Some(SettingsTurn::Read(number, _)) => read.push(number),
                Some(SettingsTurn::Late(number)) => late.push(number),
                None => {}
            }
            if reader.readings.values().all(|reading| reading.is_late) {
                break;
            }
            clock.sleep_until(clock.now_ns() + 1_000_000);
        }
        (read, late)
    }

    fn read(reader: &mut SettingsReader, now_ns: u64) -> Vec<usize> {
        turns(reader, now_ns).0
    }

    #[test]
    fn each_is_read_at_once_and_hourly_and_one_that_failed_sooner() {
        let mut reader = SettingsReader::default();
        assert_eq!(read(&mut reader, 0), [0, 2]);
        assert!(read(&mut reader, 1).is_empty());
        assert_eq!(reader.due_ns.get(&1), Some(&AGAIN_NS));
        assert_eq!(read(&mut reader, EVERY_NS), [0, 2]);
        reader.forget(2);
        assert_eq!(read(&mut reader, EVERY_NS + 1), [2], "another address under the same name");
    }

    /// One dead mount on the host, and the settings of no source were read any more.
    #[test]
    fn a_source_that_never_answers_stops_no_other_and_is_said_once() {
        let mut reader = SettingsReader::default();
        let (_keep, silent) = channel::<()>();
        let number = 7;
        reader.turn([number].into_iter(), 0, |_| Ok(Box::new(Silent(silent))));
        assert!(reader.turn([0].into_iter(), 1, |_| panic!("one at a time")).is_none());
        let late_ns = u64::try_from(LIMIT.as_nanos()).unwrap();
        assert_eq!(turns(&mut reader, late_ns), (vec![0, 2], vec![number]));
        assert_eq!(turns(&mut reader, late_ns + EVERY_NS), (vec![0, 2], vec![]));
    }

    #[test]
    fn a_reading_that_takes_too_long_is_given_up() {
        let (_keep, silent) = channel::<()>();
        let read = read_within(Ok(Box::new(Silent(silent))), Duration::from_millis(20));
        assert!(read.is_none());
        let read = read_within(Ok(Box::new(Set(3))), LIMIT).unwrap().unwrap();
        assert_eq!(read[0].value, "3");
    }
}
