//! From a real store to a receiver that answers as a test wants it.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::Duration;

use iostall_model::{Counter, Counters, Epoch, Gap, Kind, Row, Sample, SampleTime, Scope, Subject};
use iostall_store::{History, SqliteHistory};
use jiff::{SignedDuration, Timestamp};

use super::feed::Feed;
use super::receiver::{Receiver, Reply};
use super::sender::{PushEvent, Round, Sender};
use super::{PushSource, PushTarget, WrittenPush};

fn start() -> Timestamp {
    "2026-03-01T10:00:00Z".parse().unwrap()
}

fn at(second: i64) -> Timestamp {
    start() + SignedDuration::from_secs(second)
}

/// Second `second` of a server with the files `names`.
fn sample(second: i64, names: &[&str]) -> Sample {
    let row = |name: &&str| Row {
        subject: Subject {
            kind: Kind::SqlServerFile,
            scope: Scope::Database("sales".into()),
            name: (*name).into(),
            identity: format!("{name}'s"),
            volume: None,
        },
        counters: Counters::new()
            .with(Counter::Reads, (100 + second).cast_unsigned())
            .with(Counter::ReadStall, 1_500),
        age_ms: None,
    };
    Sample {
        taken: SampleTime {
            utc: at(second),
            clock: "c".into(),
            clock_ns: (100 + second).cast_unsigned() * 1_000_000_000,
        },
        epoch: Epoch::default(),
        rows: names.iter().map(row).collect(),
        warnings: Vec::new(),
    }
}

/// Answers as it is told to, then takes everything.
#[derive(Default)]
struct Scripted {
    replies: VecDeque<Reply>,
    /// Refuses requests with a value of this time, milliseconds.
    poison_ms: Option<i64>,
    taken: Vec<Vec<u8>>,
    lengths: Vec<usize>,
}

impl Receiver for &mut Scripted {
    fn post(&mut self, body: &[u8], _: Timestamp) -> Reply {
        if let Some(reply) = self.replies.pop_front() {
            return reply;
        }
        let plain = snap::raw::Decoder::new().decompress_vec(body).unwrap();
        self.lengths.push(plain.len());
        let has_poison = read(&plain).values().flatten().any(|(ms, _)| Some(*ms) == self.poison_ms);
        if has_poison {
            return Reply::Refused("out of order".into());
        }
        self.taken.push(plain);
        Reply::Taken
    }
}

impl Scripted {
    /// All that it took, by series.
    fn series(&self) -> BTreeMap<String, Vec<(i64, f64)>> {
        let mut all: BTreeMap<String, Vec<(i64, f64)>> = BTreeMap::new();
        for plain in &self.taken {
            for (name, points) in read(plain) {
                all.entry(name).or_default().extend(points);
            }
        }
        all
    }

    /// The seconds of the samples that it took of `series`.
    fn seconds(&self, series: &str) -> Vec<i64> {
        let found = &self.series()[series];
        found.iter().map(|(ms, _)| (ms - start().as_millisecond()) / 1_000).collect()
    }
}

const READS: &str = "iostall_file_reads_total{database=sales,file=a,instance=db1,job=iostall,source=s}";
const UP: &str = "iostall_source_up{instance=db1,job=iostall,source=s}";

/// The series of a request.
fn read(plain: &[u8]) -> BTreeMap<String, Vec<(i64, f64)>> {
    let series = |body: &[u8]| {
        let (mut labels, mut points) = (Vec::new(), Vec::new());
        for (field, value) in fields(body) {
            let parts = fields(value);
            if field == 1 {
                labels.push([parts[0].1, parts[1].1].map(|text| String::from_utf8(text.to_vec()).unwrap()));
            } else {
                points.push((
                    varint(parts[1].1).0.cast_signed(),
                    f64::from_le_bytes(parts[0].1.try_into().unwrap()),
                ));
            }
        }
        assert!(labels.is_sorted(), "the protocol wants labels in order: {labels:?}");
        assert_eq!(labels[0][0], "__name__");
        let rest: Vec<String> = labels[1..].iter().map(|[name, value]| format!("{name}={value}")).collect();
        (format!("{}{{{}}}", labels[0][1], rest.join(",")), points)
    };
    fields(plain).into_iter().map(|(_, body)| series(body)).collect()
}

/// The fields of a message, with their bytes.
fn fields(mut rest: &[u8]) -> Vec<(u64, &[u8])> {
    let mut all = Vec::new();
    while !rest.is_empty() {
        let (key, length) = varint(rest);
        rest = &rest[length..];
        let (skipped, bytes) = match key & 7 {
            0 => (0, varint(rest).1),
            1 => (0, 8),
            _ => {
                let (bytes, length) = varint(rest);
                (length, usize::try_from(bytes).unwrap())
            }
        };
        all.push((key >> 3, &rest[skipped..skipped + bytes]));
        rest = &rest[skipped + bytes..];
    }
    all
}

fn varint(bytes: &[u8]) -> (u64, usize) {
    let length = 1 + bytes.iter().position(|byte| byte & 0x80 == 0).unwrap();
    let add = |value: u64, (place, byte): (usize, &u8)| value | u64::from(byte & 0x7f) << (7 * place);
    (bytes[..length].iter().enumerate().fold(0, add), length)
}

struct Here {
    directory: tempfile::TempDir,
    store: SqliteHistory,
    backlog: Duration,
}

impl Here {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut store = SqliteHistory::open(directory.path().join("store.db")).unwrap();
        store.source("s").unwrap();
        Self { directory, store, backlog: super::BACKLOG }
    }

    fn add(&mut self, second: i64, names: &[&str]) {
        let id = self.store.source("s").unwrap().id;
        self.store.add_sample(id, sample(second, names)).unwrap();
    }

    fn gap(&mut self, second: i64) {
        let id = self.store.source("s").unwrap().id;
        self.store.add_gap(id, &Gap { at: at(second), missed: 1, reason: "down".into() }).unwrap();
    }

    /// A sender, as a collector that has just started has.
    fn sender<'a>(&self, receiver: &'a mut Scripted) -> Sender<SqliteHistory, &'a mut Scripted> {
        let written = WrittenPush {
            remote_write: Some("http://h/api/v1/write".into()),
            labels: BTreeMap::from([("instance".into(), "db1".into())]),
            backlog: Some(self.backlog),
            ..WrittenPush::default()
        };
        let target = PushTarget::checked(written, Path::new("")).unwrap();
        let store = SqliteHistory::open(self.directory.path().join("store.db")).unwrap();
        let feed = Feed::new(store, &target.identity(), target.backlog).unwrap();
        let mut sender = Sender::new(feed, receiver, target);
        let source = PushSource { name: "s".into(), attributes: BTreeMap::new() };
        sender.add(source, start());
        sender
    }

    fn round(&self, receiver: &mut Scripted, second: i64) -> (Round, Vec<PushEvent>) {
        let mut sender = self.sender(receiver);
        let round = sender.round(at(second), &|| false);
        (round, sender.events())
    }
}

#[test]
fn what_was_there_before_the_receiver_was_named_is_not_sent_and_all_after_it_is() {
    let mut here = Here::new();
    here.add(-20, &["a"]);
    here.add(-10, &["a"]);
    let mut receiver = Scripted::default();
    assert_eq!(here.round(&mut receiver, 0), (Round::Done, Vec::new()));
    assert!(receiver.taken.is_empty());
    for second in [10, 20, 30] {
        here.add(second, &["a"]);
    }
    here.round(&mut receiver, 31);
    assert_eq!(receiver.seconds(READS), [10, 20, 30]);
    let stall =
        "iostall_file_read_stall_seconds_total{database=sales,file=a,instance=db1,job=iostall,source=s}";
    assert_eq!(receiver.series()[stall][0], (at(10).as_millisecond(), 1.5), "in seconds");
    here.round(&mut receiver, 32);
    assert_eq!(receiver.seconds(READS), [10, 20, 30], "once");
}

#[test]
fn a_first_sample_that_was_taken_before_the_sender_looked_is_sent() {
    let mut here = Here::new();
    here.add(1, &["a"]);
    let mut receiver = Scripted::default();
    here.round(&mut receiver, 2);
    assert_eq!(receiver.seconds(READS), [1]);
}

#[test]
fn what_fails_is_sent_later_in_order_and_the_same_again() {
    let mut here = Here::new();
    for second in [10, 20, 30] {
        here.add(second, &["a"]);
    }
    let asked = Some(Duration::from_secs(100));
    let later = Reply::Later { reason: "it answered 503".into(), asked };
    let mut receiver = Scripted { replies: VecDeque::from([Reply::Taken, later]), ..Scripted::default() };
    let (round, events) = here.round(&mut receiver, 31);
    assert!(matches!(round, Round::Failed(pause) if pause >= Duration::from_secs(100)), "{round:?}");
    assert!(
        matches!(&events[..], [PushEvent::Failing { reason, .. }] if reason == "it answered 503"),
        "{events:?}"
    );
    here.round(&mut receiver, 131);
    assert_eq!(receiver.seconds(READS), [20, 30]);
    let samples = "iostall_source_samples_total{instance=db1,job=iostall,source=s}";
    let counts: Vec<f64> = receiver.series()[samples].iter().map(|(_, count)| *count).collect();
    assert!(
        counts.iter().zip([2.0, 3.0]).all(|(count, expected)| (count - expected).abs() < 1e-9),
        "{counts:?}"
    );
}

/// Counters since the start of the collector began at one again when it was killed, and receivers refused the second value of a time.
#[test]
fn what_is_sent_twice_after_a_kill_is_the_same_both_times() {
    let mut here = Here::new();
    for second in [10, 20, 30] {
        here.add(second, &["a", "b"]);
    }
    here.gap(40);
    here.add(50, &["b"]);
    let mut first = Scripted::default();
    let mut killed = here.sender(&mut first);
    killed.round(at(51), &|| false);
    drop(killed);
    let mut second = Scripted::default();
    let id = "pushed to http://h/api/v1/write";
    iostall_store::CollectorState::put_state(&mut here.store, id, "{}").unwrap();
    here.round(&mut second, 51);
    let bits = |scripted: &Scripted| -> Vec<(String, i64, u64)> {
        let all = scripted.series().into_iter();
        all.flat_map(|(name, points)| {
            points.into_iter().map(move |(ms, value)| (name.clone(), ms, value.to_bits()))
        })
        .collect()
    };
    assert_eq!(bits(&first), bits(&second));
}

#[test]
fn a_source_that_does_not_answer_is_down_and_its_series_end() {
    let mut here = Here::new();
    let mut receiver = Scripted::default();
    here.add(10, &["a"]);
    here.gap(20);
    here.gap(30);
    here.round(&mut receiver, 31);
    here.gap(40);
    here.round(&mut receiver, 41);
    here.add(50, &["a"]);
    here.round(&mut receiver, 51);
    let up: Vec<bool> = receiver.series()[UP].iter().map(|(_, up)| *up > 0.5).collect();
    assert_eq!(receiver.seconds(UP), [10, 20, 30, 40, 50]);
    assert_eq!(up, [true, false, false, false, true]);
    assert_eq!(receiver.seconds(READS), [10, 20, 50]);
    assert_eq!(
        receiver.series()[READS][1].1.to_bits(),
        0x7ff0_0000_0000_0002,
        "the protocol's mark of an end"
    );
}

#[test]
fn a_file_that_is_gone_ends() {
    let mut here = Here::new();
    here.add(10, &["a", "b"]);
    here.add(20, &["b"]);
    let mut receiver = Scripted::default();
    here.round(&mut receiver, 21);
    let points = &receiver.series()[READS];
    assert_eq!((points.len(), points[1].1.is_nan()), (2, true));
}

/// Prometheus refused an hour of samples for the first of them, and all of them were lost.
#[test]
fn of_a_refused_request_only_the_samples_that_are_refused_are_lost() {
    let mut here = Here::new();
    for second in 1..=100 {
        here.add(second, &["a"]);
    }
    let poison_ms = Some(at(50).as_millisecond());
    let mut receiver = Scripted { poison_ms, ..Scripted::default() };
    let (round, events) = here.round(&mut receiver, 101);
    assert_eq!(round, Round::Done);
    let expected: Vec<i64> = (1..=100).filter(|second| *second != 50).collect();
    assert_eq!(receiver.seconds(READS), expected);
    let [PushEvent::Refused { reason, samples, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!((reason.as_str(), *samples), ("out of order", 1));
}

#[test]
fn a_receiver_that_finds_requests_too_long_gets_shorter_ones() {
    let mut here = Here::new();
    let names: Vec<String> = (0..2_000).map(|name| format!("{name:0>100}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    here.add(10, &names);
    let replies = VecDeque::from([Reply::TooLong, Reply::TooLong, Reply::TooLong]);
    let mut receiver = Scripted { replies, ..Scripted::default() };
    assert_eq!(here.round(&mut receiver, 11), (Round::Done, Vec::new()));
    assert!(receiver.lengths.iter().all(|length| *length < (1 << 17) + 1_000), "{:?}", receiver.lengths);
    assert!(receiver.series().len() > 4_000);
}

#[test]
fn what_waited_for_too_long_is_not_sent_and_that_is_said() {
    let mut here = Here::new();
    let mut receiver = Scripted::default();
    here.backlog = Duration::from_secs(100);
    here.round(&mut receiver, 0);
    for second in (10..=1_000).step_by(10) {
        here.add(second, &["a"]);
    }
    let (_, events) = here.round(&mut receiver, 1_000);
    assert!(
        matches!(&events[..], [PushEvent::TooOld { waited, samples: 90, .. }] if waited.as_secs() == 990),
        "{events:?}"
    );
    let expected: Vec<i64> = (910..=1_000).step_by(10).collect();
    assert_eq!(receiver.seconds(READS), expected);
}

/// VictoriaMetrics answers 400 to an address that it does not know: all that was sampled until somebody looked was dropped, and told once.
#[test]
fn a_receiver_that_has_never_taken_anything_loses_nothing_by_refusing() {
    let mut here = Here::new();
    for second in [10, 20, 30] {
        here.add(second, &["a"]);
    }
    let refused = || Reply::Refused("it answered 400: unsupported path".into());
    let replies = VecDeque::from([refused(), refused()]);
    let mut receiver = Scripted { replies, ..Scripted::default() };
    for second in [31, 41] {
        let (round, events) = here.round(&mut receiver, second);
        assert!(matches!(round, Round::Failed(_)), "{round:?}");
        assert!(matches!(&events[..], [PushEvent::Failing { .. }]), "{events:?}");
    }
    here.round(&mut receiver, 51);
    assert_eq!(receiver.seconds(READS), [10, 20, 30]);
    // From then on a refusal is about the samples, also for the next collector.
    here.add(60, &["a"]);
    receiver.replies = VecDeque::from([refused(), refused()]);
    let (round, events) = here.round(&mut receiver, 61);
    assert_eq!(round, Round::Done);
    assert!(matches!(&events[..], [PushEvent::Refused { samples: 1, .. }]), "{events:?}");
}

#[test]
fn what_is_lost_is_said_with_the_total_while_it_grows_and_at_the_end() {
    let mut here = Here::new();
    here.add(1, &["a"]);
    let mut receiver = Scripted::default();
    here.round(&mut receiver, 2);
    receiver.poison_ms = Some(at(400).as_millisecond());
    for second in 3..=5 {
        here.add(second, &["a"]);
    }
    let refused = Reply::Refused("out of order".into());
    // The request, and each of its samples by itself, but for those of the second receiver's words.
    receiver.replies = std::iter::repeat_n(refused, 4).collect();
    let mut sender = here.sender(&mut receiver);
    sender.round(at(6), &|| false);
    let first = sender.events();
    here.add(400, &["a"]);
    sender.round(at(401), &|| false);
    let later = sender.events();
    sender.end(at(402));
    let end = sender.events();
    let total = |events: &[PushEvent]| match events {
        [.., PushEvent::Refused { samples, .. }] => Some(*samples),
        [PushEvent::Ended(now)] => Some(now.refused),
        _ => None,
    };
    let (before, after) = (total(&first), total(&later));
    assert!(before.is_some() && after > before, "{first:?} {later:?}");
    assert_eq!(total(&end), after, "{end:?}");
}
