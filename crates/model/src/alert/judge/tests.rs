//! Rules on a simulated clock.

use jiff::civil::time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::super::{Condition, Match, Measured, Notice, Occasion, QuietHours, Rule, RuleBook, StorageClass};
use super::{Judge, Now};
use crate::counter::{Counter, Counters};
use crate::delta::Change;
use crate::kind::Kind;
use crate::level::Level;
use crate::reset::ResetReason;
use crate::sample::{Row, Subject};
use crate::scope::Scope;
use crate::totals::Totals;

const BEAT_NS: u64 = 10_000_000_000;

/// What one file did in one beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beat {
    /// Reads that stalled so many milliseconds each.
    Reads(u64, u64),
    Idle,
    Reset,
    /// No sample.
    Gap,
    /// One slow delta over two beats.
    Long,
    /// A sample without the file.
    Gone,
}

const SLOW: Beat = Beat::Reads(100, 30);
const FAST: Beat = Beat::Reads(100, 3);

fn rule() -> Rule {
    Rule {
        name: "slow".into(),
        condition: over(Some(20e6), &[]),
        matches: Match::default(),
        level: Level::Files,
        sustained_ns: 3 * BEAT_NS,
        clear_ns: 2 * BEAT_NS,
        operations_min: 10,
        repeat_ns: None,
        quiet: Vec::new(),
        channels: vec!["ops".into()],
    }
}

fn over(threshold: Option<f64>, by_class: &[(&str, f64)]) -> Condition {
    Condition::Over {
        measured: Measured::StallPerRead,
        threshold,
        by_class: by_class.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
    }
}

fn row(database: &str, name: &str, volume: &str) -> Row {
    let subject = Subject {
        kind: Kind::SqlServerFile,
        scope: Scope::Database(database.into()),
        name: name.into(),
        identity: name.into(),
        volume: Some(volume.into()),
    };
    Row { subject, counters: Counters::new(), age_ms: None }
}

fn delta(beats: u64, reads: u64, stall_ms: u64) -> Change {
    let amounts =
        Counters::new().with(Counter::Reads, reads).with(Counter::ReadStall, reads * stall_ms * 1_000_000);
    Change::Delta(Totals { covered_ns: beats * BEAT_NS, amounts })
}

/// A judge of one source with its clock.
struct Court {
    judge: Judge,
    begun: Timestamp,
    clock_ns: u64,
}

impl Court {
    fn new(rules: Vec<Rule>) -> Self {
        Self::of(RuleBook { classes: Vec::new(), rules }, "2026-11-21T12:00:00Z")
    }

    fn of(book: RuleBook, begun: &str) -> Self {
        let begun = begun.parse().unwrap();
        let clock_ns = 5_000;
        let judge = Judge::new(book, BEAT_NS, &["sqlserver://db1"], Now { utc: begun, clock_ns });
        Self { judge, begun, clock_ns }
    }

    fn now(&self) -> Now {
        let passed = SignedDuration::from_nanos((self.clock_ns - 5_000).cast_signed());
        Now { utc: self.begun.checked_add(passed).unwrap(), clock_ns: self.clock_ns }
    }

    fn sample(&mut self, rows: &[(Row, Change)]) -> Vec<Notice> {
        self.clock_ns += BEAT_NS;
        let (rows, changes): (Vec<_>, Vec<_>) = rows.iter().cloned().unzip();
        self.judge.sample(0, &rows, &changes, self.now())
    }

    fn beat(&mut self, beat: Beat) -> Vec<Occasion> {
        let change = match beat {
            Beat::Reads(reads, stall_ms) => delta(1, reads, stall_ms),
            Beat::Idle => delta(1, 0, 0),
            Beat::Reset => Change::Reset(ResetReason::Restart),
            Beat::Long => delta(2, 100, 30),
            Beat::Gone => return occasions(&self.sample(&[])),
            Beat::Gap => {
                self.clock_ns += BEAT_NS;
                return occasions(&self.judge.gap(0, self.now()));
            }
        };
        occasions(&self.sample(&[(row("sales", "a.mdf", "E:\\"), change)]))
    }

    fn beats(&mut self, beats: &[Beat]) -> Vec<Vec<Occasion>> {
        beats.iter().map(|beat| self.beat(*beat)).collect()
    }
}

fn occasions(notices: &[Notice]) -> Vec<Occasion> {
    notices.iter().map(|notice| notice.occasion).collect()
}

#[test]
fn an_alert_begins_exactly_after_the_sustained_time_is_told_once_and_ends_after_the_clearing_time() {
    let mut court = Court::new(vec![rule()]);
    let told = court.beats(&[SLOW, SLOW, SLOW, SLOW, FAST, SLOW, FAST, Beat::Idle, FAST]);
    let at: Vec<_> = told.iter().enumerate().filter(|(_, told)| !told.is_empty()).collect();
    assert_eq!(at, [(2, &vec![Occasion::Begun]), (7, &vec![Occasion::Ended])]);
}

#[test]
fn a_notice_says_what_since_when_and_how_bad() {
    let mut court = Court::new(vec![rule()]);
    court.beats(&[Beat::Reads(100, 50), SLOW]);
    let notices = court.sample(&[(row("sales", "a.mdf", "E:\\"), delta(1, 100, 40))]);
    let notice = &notices[0];
    assert_eq!((notice.since, notice.at), (court.begun, court.now().utc));
    assert_eq!(notice.lasted_ns, 3 * BEAT_NS);
    let about = notice.about.as_ref().unwrap();
    assert_eq!(about.name, "a.mdf");
    assert_eq!(about.value.map(f64::to_bits), Some(40e6_f64.to_bits()));
    assert_eq!(about.value_max.to_bits(), 50e6_f64.to_bits());
}

#[test]
fn few_operations_idle_files_and_files_that_are_gone_are_not_over() {
    let mut court = Court::new(vec![rule()]);
    assert!(court.beats(&[Beat::Reads(9, 900); 8]).concat().is_empty());
    let told = court.beats(&[SLOW, SLOW, SLOW, Beat::Gone, Beat::Gone]);
    assert_eq!(told.concat(), [Occasion::Begun, Occasion::Ended]);
}

#[test]
fn neither_a_reset_nor_a_gap_nor_an_interval_over_a_gap_is_part_of_a_sustained_time() {
    for break_in in [Beat::Reset, Beat::Gap, Beat::Long] {
        let mut court = Court::new(vec![rule()]);
        assert!(court.beats(&[SLOW, SLOW, break_in, SLOW, SLOW]).concat().is_empty(), "{break_in:?}");
        assert_eq!(court.beat(SLOW), [Occasion::Begun], "{break_in:?}");
        // What has begun stays: nothing says that it is over.
        assert!(court.beats(&[break_in; 9]).concat().is_empty(), "{break_in:?}");
    }
}

#[test]
fn an_alert_is_repeated_while_it_lasts() {
    let mut court = Court::new(vec![Rule { repeat_ns: Some(2 * BEAT_NS), ..rule() }]);
    let told = court.beats(&[SLOW; 8]);
    let counts: Vec<usize> = told.iter().map(Vec::len).collect();
    assert_eq!(counts, [0, 0, 1, 0, 1, 0, 1, 0]);
    assert_eq!(told[4], [Occasion::Lasting]);
}

#[test]
fn each_class_of_storage_has_its_threshold_and_what_has_none_is_not_judged() {
    let class = |name: &str, volume: &str| StorageClass {
        name: name.into(),
        matches: Match { volume: Some(volume.into()), ..Match::default() },
    };
    let rule = Rule {
        condition: over(None, &[("flash", 2e6), ("archive", 100e6)]),
        level: Level::Databases,
        sustained_ns: 0,
        ..rule()
    };
    let book = RuleBook { classes: vec![class("archive", "Z:"), class("flash", "F:")], rules: vec![rule] };
    let mut court = Court::of(book, "2026-11-21T12:00:00Z");
    let notices = court.sample(&[
        (row("sales", "fast.mdf", "F:\\"), delta(1, 100, 3)),
        (row("sales", "old.ndf", "Z:\\"), delta(1, 100, 90)),
        (row("sales", "unknown.ndf", "X:\\"), delta(1, 100, 900)),
    ]);
    let about: Vec<_> = notices.iter().filter_map(|notice| notice.about.as_ref()).collect();
    assert_eq!(about.len(), 1, "{about:?}");
    assert_eq!((about[0].name.as_str(), about[0].class.as_deref()), ("sales", Some("flash")));
}

#[test]
fn a_silent_source_is_told_by_the_clock_and_its_first_word_ends_it() {
    let silent = Rule { condition: Condition::Silent, ..rule() };
    let mut court = Court::new(vec![silent]);
    assert!(court.beats(&[FAST, Beat::Gap, Beat::Gap]).concat().is_empty());
    court.clock_ns += BEAT_NS - 1;
    assert!(court.judge.tick(court.now()).is_empty());
    court.clock_ns += 1;
    let told = court.judge.tick(court.now());
    assert_eq!((told[0].occasion, told[0].lasted_ns), (Occasion::Begun, 3 * BEAT_NS));
    assert!(told[0].about.is_none());
    assert_eq!(court.beats(&[Beat::Gap, FAST]), [vec![], vec![Occasion::Ended]]);
}

#[test]
fn quiet_hours_hold_back_what_begins_and_what_ends_in_them() {
    let quiet =
        QuietHours { from: time(12, 0, 0, 0), to: time(12, 2, 0, 0), days: Vec::new(), zone: TimeZone::UTC };
    let rule = Rule { quiet: vec![quiet], clear_ns: BEAT_NS, ..rule() };
    // Begins and ends in them: nobody hears of it.
    let mut court = Court::new(vec![rule.clone()]);
    let mut beats = vec![FAST; 14];
    beats[..4].fill(SLOW);
    assert!(court.beats(&beats).concat().is_empty());
    // Begins in them and lasts: told at their end, 12:02:00, the twelfth beat.
    let mut court = Court::new(vec![rule.clone()]);
    let told = court.beats(&[SLOW; 14]);
    assert_eq!(told.iter().position(|told| !told.is_empty()), Some(11));
    // Begins before and ends in them: the end is told at their end.
    let mut court = Court::of(RuleBook { classes: Vec::new(), rules: vec![rule] }, "2026-11-21T11:59:20Z");
    let mut beats = vec![FAST; 17];
    beats[..6].fill(SLOW);
    let told = court.beats(&beats);
    let at: Vec<_> = told.iter().enumerate().filter(|(_, told)| !told.is_empty()).collect();
    assert_eq!(at, [(2, &vec![Occasion::Begun]), (15, &vec![Occasion::Ended])]);
}

fn any_beat() -> impl Strategy<Value = Beat> {
    prop_oneof![
        6 => Just(SLOW),
        2 => Just(FAST),
        1 => Just(Beat::Reads(9, 900)),
        1 => Just(Beat::Idle),
        1 => Just(Beat::Reset),
        1 => Just(Beat::Gap),
        1 => Just(Beat::Long),
        1 => Just(Beat::Gone),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_alerts_begin_and_end_as_counting_beats_says(
        beats in prop::collection::vec(any_beat(), 0..200), sustained in 1_u64..6, clear in 1_u64..4,
    ) {
        let rule = Rule { sustained_ns: sustained * BEAT_NS, clear_ns: clear * BEAT_NS, ..rule() };
        let mut court = Court::new(vec![rule]);
        let (mut slow, mut calm, mut is_on) = (0, 0, false);
        for (place, beat) in beats.iter().enumerate() {
            let told = court.beat(*beat);
            match beat {
                Beat::Reads(_, 30) => (slow, calm) = (slow + 1, 0),
                Beat::Reset | Beat::Gap | Beat::Long => slow = 0,
                _ => (slow, calm) = (0, calm + 1),
            }
            let begins = !is_on && slow >= sustained;
            let ends = is_on && calm >= clear;
            is_on = (is_on || begins) && !ends;
            let wanted = match (begins, ends) {
                (true, _) => vec![Occasion::Begun],
                (_, true) => vec![Occasion::Ended],
                _ => vec![],
            };
            prop_assert_eq!(told, wanted, "beat {} of {:?}", place, beats);
        }
    }
}
