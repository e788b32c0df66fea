//! The columns of both files, and their values from a batch.
//!
//! Values are cumulative, as the source reported them, in our units: operations (blocks if the source counts
//! those), bytes and nanoseconds, with the marks that show a reset. Calendar times are microseconds, because
//! other tools have functions for those; differences use `clock_ns`.

use iostall_model::counter::Role;
use iostall_model::{Counter, Gap, Scope};
use iostall_store::Batch;
use parquet::data_type::ByteArray;

use crate::file::Column;

pub(crate) fn sample_schema() -> String {
    let mut schema = String::from("message samples {\n");
    let texts =
        ["source", "source_id", "store_id", "series_id", "kind", "scope", "scope_name", "name", "identity"];
    for name in texts {
        schema.push_str(&format!("  required binary {name} (STRING);\n"));
    }
    schema.push_str("  optional binary volume (STRING);\n");
    schema.push_str("  required int64 taken_utc (TIMESTAMP(MICROS,true));\n");
    for name in ["clock", "instance", "process_start"] {
        schema.push_str(&format!("  required binary {name} (STRING);\n"));
    }
    schema.push_str("  required int64 version;\n");
    let numbers = ["clock_ns", "uptime_s", "age_ms"].into_iter().map(str::to_owned);
    for name in numbers.chain(Counter::ALL.into_iter().map(column_name)) {
        schema.push_str(&format!("  optional int64 {name} (INTEGER(64,false));\n"));
    }
    schema + "}"
}

pub(crate) const GAP_SCHEMA: &str = "message gaps {
  required binary source (STRING);
  required binary source_id (STRING);
  required int64 at_utc (TIMESTAMP(MICROS,true));
  optional int64 missed (INTEGER(64,false));
  required binary reason (STRING);
}";

fn column_name(counter: Counter) -> String {
    match counter.role() {
        Role::Time => format!("{}_ns", counter.name()),
        _ => counter.name().to_owned(),
    }
}

/// The values of all rows of `batch`, in the order of [`sample_schema`].
pub(crate) fn of_samples(batch: &Batch) -> Vec<Column> {
    let rows = &batch.rows;
    let samples: Vec<usize> =
        (0..).zip(&batch.samples.row_count).flat_map(|(place, count)| repeated(place, *count)).collect();
    let same = |text: &str| Column::Text(vec![ByteArray::from(text); samples.len()]);
    let of_series = |text: &dyn Fn(usize) -> String| {
        let all: Vec<ByteArray> =
            (0..batch.series.len()).map(|place| ByteArray::from(text(place).as_str())).collect();
        Column::Text(rows.series.iter().map(|series| all[*series as usize].clone()).collect())
    };
    let of_epoch = |text: &dyn Fn(usize) -> String| {
        let all: Vec<ByteArray> =
            (0..batch.epochs.len()).map(|place| ByteArray::from(text(place).as_str())).collect();
        Column::Text(
            samples.iter().map(|sample| all[batch.samples.epoch[*sample] as usize].clone()).collect(),
        )
    };
    let ids = batch.series_ids();
    let volumes: Vec<Option<ByteArray>> =
        batch.series.iter().map(|subject| subject.volume.as_deref().map(ByteArray::from)).collect();
    let taken = samples.iter().map(|sample| batch.samples.taken_utc[*sample].as_microsecond()).collect();
    let versions =
        samples.iter().map(|sample| i64::from(batch.epochs[batch.samples.epoch[*sample] as usize].0.version));
    let mut columns = vec![
        same(&batch.source.name),
        same(&batch.source.id.to_string()),
        same(&batch.source.store.to_string()),
        of_series(&|place| ids[place].to_string()),
        of_series(&|place| batch.series[place].kind.name().to_owned()),
        of_series(&|place| scope_word(&batch.series[place].scope).to_owned()),
        of_series(&|place| batch.series[place].scope.name().to_owned()),
        of_series(&|place| batch.series[place].name.clone()),
        of_series(&|place| batch.series[place].identity.clone()),
        Column::SomeText(rows.series.iter().map(|series| volumes[*series as usize].clone()).collect()),
        Column::Number(taken),
        of_epoch(&|place| batch.epochs[place].1.clone()),
        of_epoch(&|place| batch.epochs[place].0.instance.clone()),
        of_epoch(&|place| batch.epochs[place].0.process_start.clone()),
        Column::Number(versions.collect()),
        Column::SomeNumber(samples.iter().map(|sample| Some(batch.samples.clock_ns[*sample])).collect()),
        Column::SomeNumber(samples.iter().map(|sample| batch.samples.uptime_s[*sample]).collect()),
        Column::SomeNumber(rows.age_ms.clone()),
    ];
    columns.extend(Counter::ALL.into_iter().map(|counter| of_counter(batch, counter)));
    columns
}

fn of_counter(batch: &Batch, counter: Counter) -> Column {
    let Some(values) = batch.rows.counters.get(&counter) else {
        return Column::SomeNumber(vec![None; batch.rows.series.len()]);
    };
    let unit_of = |series: u32| batch.series[series as usize].kind.column(counter);
    let canonical =
        |(value, series): (&Option<u64>, &u32)| value.map(|value| unit_of(*series).canonical(value));
    Column::SomeNumber(values.iter().zip(&batch.rows.series).map(canonical).collect())
}

/// The values of the gaps of `batch`, in the order of [`GAP_SCHEMA`].
pub(crate) fn of_gaps(batch: &Batch) -> Vec<Column> {
    let text = |text: &dyn Fn(&Gap) -> String| {
        Column::Text(batch.gaps.iter().map(|gap| ByteArray::from(text(gap).as_str())).collect())
    };
    vec![
        text(&|_| batch.source.name.clone()),
        text(&|_| batch.source.id.to_string()),
        Column::Number(batch.gaps.iter().map(|gap| gap.at.as_microsecond()).collect()),
        Column::SomeNumber(batch.gaps.iter().map(|gap| Some(gap.missed)).collect()),
        text(&|gap| gap.reason.clone()),
    ]
}

fn repeated(place: usize, count: u32) -> impl Iterator<Item = usize> {
    (0..count).map(move |_| place)
}

fn scope_word(scope: &Scope) -> &'static str {
    match scope {
        Scope::Source => "source",
        Scope::Database(_) => "database",
        Scope::Device(_) => "device",
        Scope::Cgroup(_) => "cgroup",
    }
}
