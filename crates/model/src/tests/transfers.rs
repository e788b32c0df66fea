//! Small types: where a transfer spent its time, identities, times and their names.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::paced::{MethodOutcome, Pace, PacedInterval, WriteMethod};
use crate::transfer::{BufferTime, LimitSide};
use crate::{
    Change, Epoch, Gap, ResetReason, Sample, SampleTime, Scope, Step, Subject, Warning, WarningCode,
};

fn time(reading_ns: u64, hashing_ns: u64, writing_ns: u64) -> BufferTime {
    BufferTime { reading_ns, hashing_ns, writing_ns, held_ns: 0, elapsed_ns: 100 }
}

/// "The destination was the limit" misled people when both sides were on one disk.
#[test]
fn the_limit_of_a_transfer_is_where_buffers_spent_three_fifths_of_their_time() {
    assert_eq!(time(0, 0, 0).limit(), None);
    assert_eq!(time(61, 9, 30).limit(), Some(LimitSide::Source));
    assert_eq!(time(30, 9, 61).limit(), Some(LimitSide::Target));
    assert_eq!(time(9, 61, 30).limit(), Some(LimitSide::Hash));
    assert_eq!(time(60, 0, 40).limit(), Some(LimitSide::Both));
    assert_eq!(time(0, 60, 40).limit(), Some(LimitSide::Both));
    assert_eq!(time(40, 0, 60).limit(), Some(LimitSide::Both));
    assert_eq!(BufferTime { held_ns: 50, ..time(90, 0, 10) }.limit(), Some(LimitSide::Source));
    assert_eq!(BufferTime { held_ns: 51, ..time(90, 0, 10) }.limit(), Some(LimitSide::Rate));
    let mut sum = BufferTime { held_ns: 7, ..time(1, 2, 3) };
    sum.add(&BufferTime { held_ns: 70, ..time(10, 20, 30) });
    assert_eq!(sum, BufferTime { held_ns: 77, elapsed_ns: 200, ..time(11, 22, 33) });
}

/// A transfer of 1 GB in 10 s that then took 2 s to be durable has two rates, and neither is that of the writes alone.
#[test]
fn a_paced_writing_has_a_rate_over_its_time_until_it_was_durable_and_of_its_writes() {
    let pace = Pace { packet_bytes: 800_000, packets_per_burst: 6, period_ns: 25 * MS, delay_ns: 0 };
    assert_eq!(pace.bytes_per_second(), Some(192e6));
    assert_eq!(Pace { period_ns: 0, ..pace }.bytes_per_second(), None, "as fast as it goes");
    let mut outcome = MethodOutcome::new(WriteMethod::Direct, pace);
    assert_eq!((outcome.bytes_per_second(), outcome.durable_bytes_per_second()), (None, None));
    (outcome.bytes, outcome.elapsed_ns, outcome.sync_ns) = (1_200_000_000, 10_000 * MS, 2_000 * MS);
    assert_eq!((outcome.bytes_per_second(), outcome.durable_bytes_per_second()), (Some(120e6), Some(100e6)));
    let interval = PacedInterval {
        bytes: 100_000_000,
        elapsed_ns: 2_000 * MS,
        writing_ns: 500 * MS,
        ..PacedInterval::default()
    };
    assert_eq!((interval.bytes_per_second(), interval.writing_bytes_per_second()), (Some(50e6), Some(200e6)));
    let nothing = PacedInterval::default();
    assert_eq!((nothing.bytes_per_second(), nothing.writing_bytes_per_second()), (None, None));
    assert!(interval.is_most_of(200_000_000) && !interval.is_most_of(200_000_001));
}

#[test]
fn a_pace_is_kept_where_fewer_than_one_burst_in_a_hundred_was_late() {
    let of = |period_ns, bursts, late_bursts| {
        let pace = Pace { packet_bytes: 1, packets_per_burst: 1, period_ns, delay_ns: 0 };
        MethodOutcome { bursts, late_bursts, ..MethodOutcome::new(WriteMethod::Direct, pace) }.kept_pace()
    };
    assert_eq!((of(MS, 1_000, 9), of(MS, 1_000, 10)), (Some(true), Some(false)));
    assert_eq!((of(0, 1_000, 0), of(MS, 0, 0)), (None, None), "no pace, or nothing written");
}

/// What a source does not count is left out of a stored sample, and the bits say which columns there are.
#[test]
fn the_columns_that_are_there_are_told_by_their_bits() {
    use crate::{Counter, Counters};
    let mut counters = Counters::new().with(Counter::Reads, 5).with_opt(Counter::ReadBytes, None);
    assert_eq!(counters.present(), 1 << (Counter::Reads as u8));
    counters.set(Counter::WriteBytes, 0);
    assert_eq!(counters.present(), 1 << (Counter::Reads as u8) | 1 << (Counter::WriteBytes as u8));
    counters.unset(Counter::Reads);
    assert_eq!((counters.get(Counter::Reads), counters.or_zero(Counter::Reads)), (None, 0));
    let mut sum = Counters::new().with(Counter::WriteBytes, u64::MAX);
    sum.add(&Counters::new().with(Counter::WriteBytes, 1).with(Counter::Writes, 2));
    assert_eq!(sum.iter().collect::<Vec<_>>(), [(Counter::Writes, 2), (Counter::WriteBytes, u64::MAX)]);
    assert!(Counters::new().is_empty() && !sum.is_zero());
    assert_eq!(format!("{counters:?}"), "{\"write_bytes\": 0}");
}

fn taken(clock: &str, clock_ns: u64) -> SampleTime {
    SampleTime { utc: at("2026-11-21T14:00:00Z"), clock: clock.into(), clock_ns }
}

#[test]
fn two_samples_have_a_time_between_them_only_on_one_clock_that_moved() {
    assert_eq!(taken("a", 30).since_ns(&taken("a", 10)), Some(20));
    assert_eq!(taken("a", 30).since_ns(&taken("b", 10)), None);
    assert_eq!(taken("a", 10).since_ns(&taken("a", 10)), None);
    assert_eq!(taken("a", 10).since_ns(&taken("a", 30)), None);
}

#[test]
fn a_series_is_told_by_kind_place_and_identity_and_not_by_its_name() {
    let subject = Subject {
        kind: crate::Kind::MysqlFile,
        scope: Scope::Database("db".into()),
        name: "n".into(),
        identity: "7".into(),
        volume: None,
    };
    assert!(subject.is_same_series(&Subject { name: "renamed".into(), ..subject.clone() }));
    assert!(!subject.is_same_series(&Subject { identity: "8".into(), ..subject.clone() }));
    assert!(!subject.is_same_series(&Subject { scope: Scope::Source, ..subject.clone() }));
    assert!(!subject.is_same_series(&Subject { kind: crate::Kind::MysqlRedo, ..subject.clone() }));
}

#[test]
fn the_first_step_says_nothing_of_what_was_done_and_the_next_one_of_every_row() {
    let row = crate::Row {
        subject: Subject {
            kind: crate::Kind::MysqlRedo,
            scope: Scope::Source,
            name: "redo".into(),
            identity: "redo".into(),
            volume: None,
        },
        counters: crate::Counters::new().with(crate::Counter::Writes, 5),
        age_ms: None,
    };
    let sample = |clock_ns| Sample {
        taken: taken("a", clock_ns),
        epoch: Epoch::default(),
        rows: vec![row.clone()],
        warnings: Vec::new(),
    };
    let first = Step::first(Arc::new(sample(10)));
    assert_eq!(
        (first.since.is_none(), first.rows().count(), first.at()),
        (true, 0, at("2026-11-21T14:00:00Z"))
    );
    let next = Step::between(&first.sample, Arc::new(sample(20)));
    assert_eq!(next.since, Some(taken("a", 10)));
    let [(kept, Change::Delta(totals))] = &next.to_rows()[..] else { panic!("{next:?}") };
    assert_eq!((kept, totals.covered_ns), (&row, 10));
    assert_eq!(next.gaps, Vec::<Gap>::new());
}

#[test]
fn every_reason_for_a_reset_has_its_own_word_and_its_own_sentence() {
    let words: BTreeSet<&str> = ResetReason::ALL.into_iter().map(ResetReason::name).collect();
    let sentences: BTreeSet<&str> = ResetReason::ALL.into_iter().map(ResetReason::sentence).collect();
    assert_eq!((words.len(), sentences.len()), (ResetReason::ALL.len(), ResetReason::ALL.len()));
    assert_eq!(format!("{:>8}", ResetReason::Wrap), "    wrap");
    // Messages and files use the same name.
    for reason in ResetReason::ALL {
        assert_eq!(serde_json::to_string(&reason).unwrap(), format!("\"{reason}\""));
    }
}

#[test]
fn a_warning_keeps_what_it_is_about_and_what_to_do() {
    let warning = Warning::new(WarningCode::NotCounted, "no pressure").about("host").hint("boot with psi=1");
    assert_eq!(
        (warning.subject.as_deref(), warning.hint.as_deref()),
        (Some("host"), Some("boot with psi=1"))
    );
    assert_eq!((warning.code, warning.message.as_str()), (WarningCode::NotCounted, "no pressure"));
}

#[test]
fn the_number_of_a_run_begins_with_its_time_and_reads_back() {
    let (earlier, later) = (RunId::new(at("2026-11-21T14:00:00Z")), RunId::new(at("2026-11-21T14:00:00.5Z")));
    assert!(earlier < later);
    assert_eq!(earlier.to_string().parse::<RunId>().unwrap(), earlier);
    assert!("x".parse::<RunId>().is_err());
}
