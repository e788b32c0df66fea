//! Names and labels of counters in monitoring systems: the same on the page that Prometheus scrapes and in what is pushed.

use std::collections::{BTreeSet, HashMap};

use crate::counter::{Counter, Role};
use crate::kind::Kind;
use crate::sample::{Row, Subject};

/// Exported for every kind of source.
pub const METRIC_NAMES_OF_SOURCES: [&str; 7] = [
    "iostall_build_info",
    "iostall_source_up",
    "iostall_source_last_sample_age_seconds",
    "iostall_source_warnings",
    "iostall_source_samples_total",
    "iostall_source_gaps_total",
    "iostall_source_resets_total",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    pub name: String,
    pub help: String,
    pub is_counter: bool,
    /// Whether canonical values are nanoseconds, and exported ones seconds.
    pub is_time: bool,
}

/// Labels by name, not escaped and not sorted; no name twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Labels(Vec<(&'static str, String)>);

impl Labels {
    /// The label of what is known of the source as a whole.
    pub fn of_source(source: &str) -> Self {
        Self::default().with("source", source)
    }

    pub fn of_subject(source: &str, subject: &Subject) -> Self {
        let mut labels = Self::of_source(source);
        match subject.kind {
            Kind::PostgresIo | Kind::PostgresIoBlocks => {
                let mut parts = subject.name.splitn(3, '/');
                for label in ["backend", "object", "context"] {
                    labels = labels.with(label, parts.next().unwrap_or_default());
                }
                return labels;
            }
            Kind::LinuxDevice => {
                labels = labels.with("class", subject.scope.name()).with("device", &subject.name);
            }
            Kind::LinuxCgroup => {
                let device = subject.name.rsplit(' ').next().unwrap_or_default();
                labels = labels.with("cgroup", subject.scope.name()).with("device", device);
            }
            Kind::LinuxPressure => labels = labels.with("scope", &subject.name),
            Kind::SmartDrive => labels = labels.with("drive", &subject.name),
            Kind::PostgresDatabase => labels = labels.with("database", &subject.name),
            Kind::SqlServerBackup => {
                labels = labels.with("database", subject.scope.name()).with("sort", &subject.name);
            }
            Kind::SqlServerFile | Kind::MysqlFile | Kind::PostgresTable | Kind::PostgresIndex => {
                labels =
                    labels.with("database", subject.scope.name()).with(noun(subject.kind), &subject.name);
            }
            // There is only one log or redo log: the noun is its name.
            Kind::PostgresWal | Kind::PostgresCheckpointer | Kind::MysqlRedo | Kind::MysqlInnodb => {}
        }
        if let Some(volume) = &subject.volume {
            labels = labels.with("volume", volume);
        }
        labels
    }

    /// The same with one more. A name of ours is not used twice.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.0.push((name, value.to_owned()));
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }
}

pub fn metric_names() -> BTreeSet<String> {
    let of_rows = Kind::ALL.into_iter().flat_map(|kind| {
        Counter::ALL.into_iter().filter_map(move |counter| Some(Metric::of(kind, counter)?.name))
    });
    of_rows.chain(METRIC_NAMES_OF_SOURCES.map(String::from)).collect()
}

/// The rows that were read, each with its labels: no two of one kind have the same.
pub fn labelled<'a>(source: &str, rows: &'a [Row]) -> Vec<(&'a Row, Labels)> {
    let read = rows.iter().filter(|row| !row.is_stale());
    let mut all: Vec<_> = read.map(|row| (row, Labels::of_subject(source, &row.subject))).collect();
    let mut seen: HashMap<(&'static str, &Labels), usize> = HashMap::new();
    for (row, labels) in &all {
        *seen.entry((noun(row.subject.kind), labels)).or_default() += 1;
    }
    // Two subjects with the same labels would be one series, and the whole scrape would fail.
    let is_alone: Vec<bool> = all
        .iter()
        .map(|(row, labels)| seen.get(&(noun(row.subject.kind), labels)).is_none_or(|count| *count == 1))
        .collect();
    for ((row, labels), is_alone) in all.iter_mut().zip(is_alone) {
        if !is_alone {
            *labels = std::mem::take(labels).with("identity", &row.subject.identity);
        }
    }
    all
}

/// The name of a row kind in metric names.
fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::SqlServerFile | Kind::MysqlFile => "file",
        Kind::SqlServerBackup => "backup",
        Kind::PostgresIo | Kind::PostgresIoBlocks => "backend",
        Kind::PostgresDatabase => "database",
        Kind::PostgresTable => "table",
        Kind::PostgresIndex => "index",
        Kind::PostgresWal => "wal",
        Kind::PostgresCheckpointer => "checkpointer",
        Kind::MysqlRedo => "redo",
        Kind::MysqlInnodb => "innodb",
        Kind::LinuxDevice => "device",
        Kind::LinuxCgroup => "cgroup",
        Kind::LinuxPressure => "pressure",
        Kind::SmartDrive => "drive",
    }
}

impl Metric {
    /// The metric of `counter` in rows of `kind`; `None` for marks, which are not quantities.
    pub fn of(kind: Kind, counter: Counter) -> Option<Self> {
        let what = match counter {
            Counter::Reads if kind.counts_blocks() => "read_blocks",
            Counter::Writes if kind.counts_blocks() => "write_blocks",
            Counter::BackupFinished => "finished_timestamp_seconds",
            Counter::BackupElapsed => "elapsed_seconds",
            Counter::BackupBytes => "source_bytes",
            Counter::BackupStoredBytes => "stored_bytes",
            Counter::DriveFailing => "failing",
            Counter::DriveRead => "read_timestamp_seconds",
            other => other.name(),
        };
        let (suffix, is_counter, is_time) = match counter.role() {
            Role::Count => ("_total", true, false),
            Role::Time => ("_seconds_total", true, true),
            Role::Gauge => ("", false, false),
            Role::Mark | Role::StatisticsMark | Role::HandleMark => return None,
        };
        let (noun, words) = (noun(kind), what.replace('_', " "));
        let help = if is_counter {
            format!("{words} of the {noun}, cumulative as the source counts.")
        } else {
            format!("{words} of the {noun} when it was read.")
        };
        let name = format!("iostall_{}_{what}{suffix}", noun.replace('-', "_"));
        Some(Self { name, help, is_counter, is_time })
    }
}
