//! The numbers of a group, derived once for every format.

use iostall_model::{Counter, Kind};

use iostall_watch::windows::{Group, GroupKey};

use crate::judgement::of_stall;
use crate::table::TableCell;

#[derive(Clone, Copy)]
pub(crate) struct Figures<'a> {
    pub(crate) key: &'a GroupKey,
    pub(crate) group: &'a Group,
}

#[derive(Clone, Copy)]
pub(crate) struct Number {
    /// Its column in files, with its unit.
    pub(crate) name: &'static str,
    /// Its column in tables; `None` if it is not shown there.
    pub(crate) head: Option<&'static str>,
    /// The order in which narrow terminals leave columns out.
    pub(crate) drop_rank: Option<u8>,
    /// In which tables for people it is.
    pub(crate) place: Place,
    /// Whether it is a stall in milliseconds, which is judged.
    is_stall: bool,
    pub(crate) value: fn(&Figures<'_>) -> Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Always,
    /// Where a group has it.
    Known,
    /// Where it is not nothing for some group.
    NotNothing,
}

/// Nanoseconds in a millisecond, and bytes in a MiB and a KiB.
const NS_PER_MS: f64 = 1e6;
const MIB: f64 = 1_048_576.0;
const KIB: f64 = 1024.0;

const fn number(
    name: &'static str,
    head: &'static str,
    drop_rank: Option<u8>,
    value: fn(&Figures<'_>) -> Option<f64>,
) -> Number {
    Number { name, head: Some(head), drop_rank, place: Place::Always, is_stall: false, value }
}

const fn placed(place: Place, number: Number) -> Number {
    Number { place, ..number }
}

const fn stall(number: Number) -> Number {
    Number { is_stall: true, ..number }
}

const fn unseen(name: &'static str, value: fn(&Figures<'_>) -> Option<f64>) -> Number {
    Number { name, head: None, drop_rank: None, place: Place::Always, is_stall: false, value }
}

pub(crate) const NUMBERS: [Number; 21] = [
    number("reads_per_s", "reads/s", None, |f| f.group.totals.per_second(Counter::Reads)),
    number("writes_per_s", "writes/s", None, |f| f.group.totals.per_second(Counter::Writes)),
    number("read_mib_per_s", "r MiB/s", Some(6), |f| {
        f.group.totals.per_second(Counter::ReadBytes).map(|bytes| bytes / MIB)
    }),
    number("write_mib_per_s", "w MiB/s", Some(7), |f| {
        f.group.totals.per_second(Counter::WriteBytes).map(|bytes| bytes / MIB)
    }),
    stall(number("stall_ms_per_read", "ms/read", None, |f| f.group.totals.read_stall_ns_mean().map(ms))),
    stall(number("stall_ms_per_write", "ms/write", None, |f| f.group.totals.write_stall_ns_mean().map(ms))),
    stall(number("stall_ms_per_io", "ms/io", None, |f| f.group.totals.io_stall_ns_mean().map(ms))),
    number("stall_ms_per_io_max", "max", Some(4), |f| f.group.stall_ns_max.map(ms)),
    number("stall_ms_per_s", "stall ms/s", Some(8), |f| {
        f.group.totals.stall_per_second().map(|share| share * 1e3)
    }),
    placed(
        Place::NotNothing,
        number("syncs_per_s", "syncs/s", Some(9), |f| f.group.totals.per_second(Counter::Syncs)),
    ),
    placed(
        Place::NotNothing,
        stall(number("stall_ms_per_sync", "ms/sync", None, |f| f.group.totals.sync_stall_ns_mean().map(ms))),
    ),
    placed(
        Place::NotNothing,
        number("governor_ms_per_io", "governor ms/io", Some(10), |f| {
            f.group.totals.queued_stall_ns_mean().map(ms)
        }),
    ),
    // Blocks say nothing about the size of requests.
    number("io_kib_mean", "KiB/io", Some(2), |f| {
        f.group.totals.io_size_bytes_mean().filter(|_| !f.key.kind.counts_blocks()).map(|bytes| bytes / KIB)
    }),
    number("queue_depth_mean", "queue", Some(5), |f| f.group.totals.queue_depth_mean()),
    placed(
        Place::Known,
        number("volume_ops_pct", "% of vol I/O", Some(3), |f| {
            f.group.on_volumes.ops_share(&f.group.totals).map(|share| share * 100.0)
        }),
    ),
    placed(
        Place::Known,
        number("volume_bytes_pct", "% of vol bytes", Some(1), |f| {
            f.group.on_volumes.bytes_share(&f.group.totals).map(|share| share * 100.0)
        }),
    ),
    placed(
        Place::Known,
        number("size_mib", "size MiB", Some(0), |f| f.group.size_bytes.map(|(_, last)| last as f64 / MIB)),
    ),
    placed(
        Place::NotNothing,
        number("growth_mib", "growth MiB", Some(0), |f| {
            f.group.size_bytes.map(|(first, last)| (last as f64 - first as f64) / MIB)
        }),
    ),
    unseen("over_s", |f| Some(f.group.over_ns as f64 / 1e9)),
    unseen("over_s_longest", |f| Some(f.group.over_ns_longest as f64 / 1e9)),
    unseen("covered_s", |f| Some(f.group.totals.covered_s())),
];

fn ms(ns: f64) -> f64 {
    ns / NS_PER_MS
}

/// As many groups of each source as a table for people has room for.
pub(crate) const ROOM: usize = 20;

impl Figures<'_> {
    /// Its volumes; none if some are unknown.
    pub(crate) fn volumes(&self) -> Vec<&str> {
        let on = &self.group.on_volumes;
        if on.is_unknown { Vec::new() } else { on.names.iter().map(String::as_str).collect() }
    }

    /// Why some intervals are not in the group's numbers: `restart 2, wrap 1`.
    pub(crate) fn resets(&self) -> String {
        let resets = self.group.resets.iter().map(|(reason, count)| format!("{reason} {count}"));
        let began = (self.group.began > 0).then(|| format!("began in the window {}", self.group.began));
        resets.chain(began).collect::<Vec<_>>().join(", ")
    }

    /// Whether some intervals are not in the group's numbers.
    pub(crate) fn is_doubtful(&self) -> bool {
        !self.group.resets.is_empty() || self.group.began > 0
    }
}

impl Number {
    /// Whether no group has it.
    pub(crate) fn is_empty_in(&self, figures: &[Figures<'_>]) -> bool {
        figures.iter().all(|figure| (self.value)(figure).is_none())
    }

    pub(crate) fn cell(&self, figure: &Figures<'_>) -> TableCell {
        let value = (self.value)(figure);
        let cell = TableCell::from(maybe_short(value));
        let judged = value.filter(|_| self.is_stall);
        let judged = judged.and_then(|ms| of_stall(figure.key.kind, &figure.key.name, ms * NS_PER_MS));
        judged.map_or(cell.clone(), |judgement| judgement.on(cell))
    }

    pub(crate) fn is_in_table_of(&self, figures: &[Figures<'_>]) -> bool {
        let any =
            |holds: fn(f64) -> bool| figures.iter().any(|figure| (self.value)(figure).is_some_and(holds));
        self.head.is_some()
            && match self.place {
                Place::Always => true,
                Place::Known => any(|_| true),
                Place::NotNothing => any(|value| value.abs() > 0.0),
            }
    }
}

/// The stall of most kinds: from the request to its completion.
const TO_COMPLETION: &str = "to completion";

/// What the stall of a kind measures; `None` if no time is reported. Only kinds with the same answer can be
/// compared.
pub(crate) fn stall_is(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::SqlServerFile | Kind::LinuxDevice => Some(TO_COMPLETION),
        Kind::PostgresIo | Kind::PostgresDatabase => Some("wait time"),
        Kind::PostgresIoBlocks | Kind::PostgresWal => Some("time in the system call"),
        Kind::MysqlFile => Some("submission only if asynchronous"),
        Kind::SqlServerBackup
        | Kind::PostgresTable
        | Kind::PostgresIndex
        | Kind::PostgresCheckpointer
        | Kind::MysqlRedo
        | Kind::MysqlInnodb
        | Kind::LinuxCgroup
        | Kind::LinuxPressure
        | Kind::SmartDrive => None,
    }
}

/// The same as a label for a line or bar; empty for the usual one.
pub(crate) fn stall_label(kind: Kind) -> String {
    let unusual = stall_is(kind).filter(|word| *word != TO_COMPLETION);
    unusual.map_or_else(String::new, |word| format!(" ({word})"))
}

/// Three significant digits, and whole numbers above a hundred; small numbers are not rounded to zero.
pub(crate) fn short(number: f64) -> String {
    match number.abs() {
        size if size >= 100.0 => crate::format::number(number),
        size if size >= 10.0 => format!("{number:.1}"),
        size if size >= 1.0 || size <= 0.0 => format!("{number:.2}"),
        size if size < 0.000_5 => "<0.001".to_owned(),
        _ => format!("{number:.3}"),
    }
}

/// [`short`] of an optional number.
pub(crate) fn maybe_short(number: Option<f64>) -> String {
    number.map_or_else(|| crate::format::NONE.to_owned(), short)
}
