//! What a number means: good, slow or bad. The only place where that becomes a colour, a mark or a word.

use iostall_measure::platform::TargetKind;
use iostall_measure::{Histogram, Nanos, Percentile};
use iostall_model::profile::Thresholds;
use iostall_model::{Kind, Run};

use crate::format::{duration, shown};
use crate::table::{Severity, TableCell};

/// A number against what storage of each class does. The worst comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Judgement {
    /// What flash does.
    Good,
    /// What hard disks do.
    Slow,
    /// Worse than a hard disk should be.
    Bad,
}

impl Judgement {
    pub(crate) fn severity(self) -> Severity {
        match self {
            Self::Good => Severity::Good,
            Self::Slow => Severity::Caution,
            Self::Bad => Severity::Bad,
        }
    }

    /// Behind the number, for readers who do not see the colour.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::Good => "",
            Self::Slow => "!",
            Self::Bad => "!!",
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Slow => "slow",
            Self::Bad => "bad",
        }
    }

    /// Itself, unless something else had the machine: that makes storage look worse than it is, and never better.
    fn unless_disturbed(self, disturbed_by: &str) -> Option<Self> {
        (self == Self::Good || disturbed_by.is_empty()).then_some(self)
    }

    /// `cell` with this judgement, unless the number is in doubt.
    pub(crate) fn on(self, cell: TableCell) -> TableCell {
        match cell.severity {
            Severity::Plain | Severity::Strong => cell.marked(self.mark()).severity(self.severity()),
            Severity::Caution | Severity::Bad | Severity::Good => cell,
        }
    }
}

/// Up to where a latency or a stall is good, and from there up to where it is slow, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) good_ns: u64,
    pub(crate) slow_ns: u64,
}

/// SQLCAT on log files: under 5 ms, 1 ms or less on cached arrays and flash.
const LOG: Limits = Limits { good_ns: 1_000_000, slow_ns: 5_000_000 };
/// SQLCAT on data files: 10 ms or less is good, to 20 ms acceptable.
const DATA: Limits = Limits { good_ns: 10_000_000, slow_ns: 20_000_000 };

impl Limits {
    /// The limits of a role's p99; `None` if its thresholds have none.
    pub(crate) fn of_thresholds(thresholds: &Thresholds) -> Option<Self> {
        let (flash, disk) = (thresholds.p99_flash, thresholds.p99_disk);
        let good_ns = flash.or(disk)?.nanos();
        Some(Self { good_ns, slow_ns: disk.map_or(u64::MAX, |disk| disk.nanos().max(good_ns)) })
    }

    pub(crate) fn judgement(self, ns: f64) -> Judgement {
        match ns {
            _ if ns <= self.good_ns as f64 => Judgement::Good,
            _ if ns <= self.slow_ns as f64 => Judgement::Slow,
            _ => Judgement::Bad,
        }
    }
}

struct Measured {
    at: Percentile,
    took_ns: u64,
    /// `None` if too few requests completed to say anything.
    judgement: Option<Judgement>,
}

/// Thresholds are those of the 99th percentile. Too few requests for one can still say no: where the slowest twentieth, or half of
/// them, takes longer than the limit, so does the slowest hundredth.
fn measured(latency: &Histogram, thresholds: &Thresholds) -> Option<Measured> {
    let limits = Limits::of_thresholds(thresholds)?;
    let supported =
        [Percentile::P99, Percentile::P95].into_iter().find(|at| at.is_supported_by(latency.count()));
    let at = supported.unwrap_or(Percentile::P50);
    let is_enough = at == Percentile::P99;
    let took_ns = latency.value_at(at)?;
    let judgement = limits.judgement(took_ns as f64);
    Some(Measured {
        at,
        took_ns,
        judgement: Some(judgement).filter(|at| is_enough || *at != Judgement::Good),
    })
}

/// `disturbed_by` names what else had the machine, if anything.
pub(crate) fn judged(latency: &Histogram, thresholds: &Thresholds, disturbed_by: &str) -> Option<Judgement> {
    measured(latency, thresholds)?.judgement?.unless_disturbed(disturbed_by)
}

/// The class `ratio` times as fast as one hard disk is in.
pub(crate) fn judged_in_disks(disks: f64, disturbed_by: &str) -> Option<Judgement> {
    let judgement = match disks.round() {
        few if few < 1.0 => Judgement::Bad,
        one if one < 2.0 => Judgement::Slow,
        _ => Judgement::Good,
    };
    judgement.unless_disturbed(disturbed_by)
}

pub(crate) fn not_judged(disturbed_by: &str) -> String {
    format!("cannot be judged ({disturbed_by})")
}

/// `answer`, which is none where something else had the machine.
pub(crate) fn unless_disturbed(run: &Run, answer: String) -> String {
    match run.disturbed_by() {
        none if none.is_empty() => answer,
        disturbed_by => format!("{}: {answer}", not_judged(&disturbed_by)),
    }
}

/// The same in words: `3.10 ms p99: a disk, not flash (flash ≤ 1 ms)`; `None` if nothing completed or there is no limit.
pub(crate) fn of_latency(latency: &Histogram, thresholds: &Thresholds, disturbed_by: &str) -> Option<String> {
    let Measured { at, took_ns, judgement } = measured(latency, thresholds)?;
    let is_p99 = at == Percentile::P99;
    let class = match (judgement, thresholds.p99_flash, thresholds.p99_disk) {
        (None, _, _) => "too few for a p99, so for a judgement".to_owned(),
        (Some(judgement), _, _) if judgement.unless_disturbed(disturbed_by).is_none() => {
            not_judged(disturbed_by)
        }
        (Some(Judgement::Good), Some(flash), _) => format!("as fast as flash (≤ {})", limit(flash)),
        (Some(Judgement::Good), None, Some(disk)) => format!("as fast as a disk (≤ {})", limit(disk)),
        (Some(Judgement::Slow), Some(flash), Some(_)) if is_p99 => {
            format!("a disk, not flash (flash ≤ {})", limit(flash))
        }
        (Some(Judgement::Slow), Some(flash), _) if !is_p99 => format!("not flash (flash ≤ {})", limit(flash)),
        (Some(Judgement::Slow), Some(flash), _) => format!("slower than flash (≤ {})", limit(flash)),
        (Some(_), _, Some(disk)) => format!("slower than a disk should be (≤ {})", limit(disk)),
        (Some(_), _, None) => return None,
    };
    Some(format!("{} p{}: {class}", duration(took_ns as f64), at.percent()))
}

/// A limit as a person says it: `1 ms`.
pub(crate) fn limit(limit: Nanos) -> String {
    let text = limit.to_string();
    let unit = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    format!("{} {}", &text[..unit], &text[unit..])
}

/// From where on a p99 is slow or bad, and who says so.
pub(crate) fn scale(thresholds: &Thresholds) -> String {
    let said = match (thresholds.p99_flash, thresholds.p99_disk) {
        (Some(flash), Some(disk)) => {
            format!("over {} is slow (!), over {} bad (!!)", limit(flash), limit(disk))
        }
        (Some(flash), None) => format!("over {} is slow (!)", limit(flash)),
        (None, Some(disk)) => format!("over {} is bad (!!)", limit(disk)),
        (None, None) => "is not judged".to_owned(),
    };
    format!("a p99 {said}: {}.", shown(&thresholds.source))
}

/// The judgement on a mean stall of the group `name`: commits wait for a log, queries for data. `None` if nothing can be said.
pub(crate) fn of_stall(kind: Kind, name: &str, stall_ns: f64) -> Option<Judgement> {
    let limits = if is_log(kind, name) { LOG } else { DATA };
    let judgement = limits.judgement(stall_ns);
    // MySQL times only the submission of asynchronous requests, so that a short stall is no praise.
    Some(judgement).filter(|judgement| kind != Kind::MysqlFile || *judgement != Judgement::Good)
}

pub(crate) const STALL_SCALE: &str =
    "A stall over 10 ms is slow (!), over 20 ms bad (!!); of a log, over 1 ms and over 5 ms: SQLCAT.";

/// SQL Server and MySQL report logs among their files, known by their usual names.
fn is_log(kind: Kind, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    match kind {
        Kind::PostgresWal | Kind::MysqlRedo => true,
        Kind::SqlServerFile => name.rsplit('.').next() == Some("ldf"),
        Kind::MysqlFile => ["ib_logfile", "#ib_redo"].iter().any(|part| name.contains(part)),
        _ => false,
    }
}

/// Whether the numbers of `run` are those of its storage; otherwise they say nothing about its class.
pub(crate) fn is_of_storage(run: &Run) -> bool {
    let is_synthetic = run.targets.iter().any(|target| target.kind == TargetKind::Synthetic);
    !is_synthetic && run.is_valid()
}

#[cfg(test)]
mod tests {
    use iostall_measure::Nanos;

    use super::*;

    fn limits(flash: Option<u64>, disk: Option<u64>) -> Option<Limits> {
        let (p99_flash, p99_disk) = (flash.map(Nanos), disk.map(Nanos));
        Limits::of_thresholds(&Thresholds { p99_flash, p99_disk, iops_disk: None, source: "test".into() })
    }

    #[test]
    fn what_flash_does_is_good_what_a_disk_does_is_slow_and_the_rest_is_bad() {
        let both = limits(Some(10), Some(50)).unwrap();
        let judged = [10.0, 10.5, 50.0, 51.0].map(|ns| both.judgement(ns));
        assert_eq!(judged, [Judgement::Good, Judgement::Slow, Judgement::Slow, Judgement::Bad]);
        let disk = limits(None, Some(50)).unwrap();
        assert_eq!([disk.judgement(50.0), disk.judgement(51.0)], [Judgement::Good, Judgement::Bad]);
        let flash = limits(Some(10), None).unwrap();
        assert_eq!([flash.judgement(10.0), flash.judgement(1e15)], [Judgement::Good, Judgement::Slow]);
        assert_eq!(limits(None, None), None);
    }

    #[test]
    fn a_log_must_be_faster_than_a_data_file() {
        let judged = |kind, name| of_stall(kind, name, 6e6);
        assert_eq!(judged(Kind::SqlServerFile, "E:\\sales.LDF"), Some(Judgement::Bad));
        assert_eq!(judged(Kind::SqlServerFile, "E:\\sales.mdf"), Some(Judgement::Good));
        assert_eq!(judged(Kind::MysqlFile, "./#innodb_redo/#ib_redo7"), Some(Judgement::Bad));
        assert_eq!(judged(Kind::MysqlFile, "./sales/t.ibd"), None, "perhaps only its submission was timed");
        assert_eq!(judged(Kind::PostgresWal, "wal"), Some(Judgement::Bad));
    }

    /// Colour alone tells nothing to a pipe, to NO_COLOR, and to every twelfth man.
    #[test]
    fn a_judgement_is_readable_without_its_colour() {
        let cell = |judgement: Judgement| judgement.on("3.30 ms".into());
        assert_eq!(cell(Judgement::Good).text, "3.30 ms");
        assert_eq!(cell(Judgement::Slow).text, "3.30 ms!");
        assert_eq!(cell(Judgement::Bad), TableCell::from("3.30 ms!!").severity(Severity::Bad));
        let doubtful = TableCell::from("3.30 ms?").severity(Severity::Caution);
        assert_eq!(Judgement::Good.on(doubtful.clone()), doubtful);
    }

    fn words(took_us: u64, count: u64) -> String {
        let mut latency = Histogram::new();
        (0..count).for_each(|_| latency.record(took_us * 1000));
        said(&latency).split_once(": ").unwrap().1.to_owned()
    }

    fn said(latency: &Histogram) -> String {
        let limits = Thresholds {
            p99_flash: Some(Nanos(1_000_000)),
            p99_disk: Some(Nanos(5_000_000)),
            iops_disk: None,
            source: "test".into(),
        };
        of_latency(latency, &limits, "").unwrap()
    }

    /// The story: a red "bad" stood beside the warning that other programs had the processors.
    #[test]
    fn what_something_else_may_have_slowed_down_is_not_judged_and_what_is_fast_all_the_same_is() {
        let limits = Thresholds {
            p99_flash: Some(Nanos(1_000_000)),
            p99_disk: Some(Nanos(5_000_000)),
            iops_disk: None,
            source: "test".into(),
        };
        let of = |took_ns: u64, disturbed_by: &str| {
            let mut latency = Histogram::new();
            (0..1000).for_each(|_| latency.record(took_ns));
            (judged(&latency, &limits, disturbed_by), of_latency(&latency, &limits, disturbed_by).unwrap())
        };
        let (judgement, words) = of(9_000_000, "device-busy");
        assert!(judgement.is_none() && words.contains("cannot be judged") && words.contains("device-busy"));
        assert_eq!(of(500_000, "device-busy"), of(500_000, ""));
        assert_eq!(of(9_000_000, "").0, Some(Judgement::Bad));
    }

    #[test]
    fn a_latency_is_compared_with_flash_and_disks() {
        assert_eq!(words(500, 1000), "as fast as flash (≤ 1 ms)");
        assert_eq!(words(3_000, 1000), "a disk, not flash (flash ≤ 1 ms)");
        assert_eq!(words(9_000, 1000), "slower than a disk should be (≤ 5 ms)");
    }

    /// A slow disk completed 370 writes in three seconds, and the answer was that these are too few for a p99.
    #[test]
    fn few_requests_can_say_that_storage_is_slow_but_not_that_it_is_fast() {
        assert_eq!(words(8_000, 370), "slower than a disk should be (≤ 5 ms)");
        assert_eq!(words(2_000, 370), "not flash (flash ≤ 1 ms)");
        assert_eq!(words(100, 370), "too few for a p99, so for a judgement");
        // A limit on requests lets some pass at once and holds the others: half of them say nothing of it.
        let mut limited = Histogram::new();
        (0..370).for_each(|at| limited.record(if at % 5 == 0 { 40_000_000 } else { 900_000 }));
        assert!(said(&limited).contains(" p95: slower than a disk should be"), "{}", said(&limited));
    }
}
