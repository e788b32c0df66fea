//! Names of metrics and labels.

use std::collections::BTreeSet;

use iostall_model::counter::Role;
use iostall_model::{Counter, Kind, Subject};

use super::family::{Labels, Metric};

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

/// Every name that can be exported.
pub fn metric_names() -> BTreeSet<String> {
    let of_rows = Kind::ALL.into_iter().flat_map(|kind| {
        Counter::ALL.into_iter().filter_map(move |counter| Some(metric(kind, counter)?.name))
    });
    of_rows.chain(METRIC_NAMES_OF_SOURCES.map(String::from)).collect()
}

/// The name of a row kind in metric names.
pub(super) fn noun(kind: Kind) -> &'static str {
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

/// The labels of a row about `subject`.
pub(super) fn labels(source: &str, subject: &Subject) -> Labels {
    let mut labels = Labels::new().with("source", source);
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
            labels = labels.with("database", subject.scope.name()).with(noun(subject.kind), &subject.name);
        }
        // There is only one log or redo log: the noun is its name.
        Kind::PostgresWal | Kind::PostgresCheckpointer | Kind::MysqlRedo | Kind::MysqlInnodb => {}
    }
    if let Some(volume) = &subject.volume {
        labels = labels.with("volume", volume);
    }
    labels
}

/// The metric of `counter` in rows of `kind`; `None` for marks, which are not quantities.
pub(super) fn metric(kind: Kind, counter: Counter) -> Option<Metric> {
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
    Some(Metric {
        name: format!("iostall_{}_{what}{suffix}", noun.replace('-', "_")),
        help,
        is_counter,
        is_time,
    })
}
