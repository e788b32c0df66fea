//! The tables of the lake: their columns, as Parquet and as Iceberg have them.
//!
//! A column's number is its place in [`LakeTableKind::fields`] plus one when the table is made, and stays: a column that a newer iostall
//! adds gets the next free number of the table.

use iostall_measure::named;
use iostall_model::counter::Role;
use iostall_model::{Counter, Peak};
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Text,
    Long,
    /// Microseconds since 1970, UTC.
    Time,
    Double,
}

/// How the values of a column follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    /// Few values, each for many rows.
    Few,
    /// The same values for each series: a compressor finds them again.
    Again,
    /// Values that grow or stay from row to row.
    Growing,
    Any,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: FieldKind,
    pub(crate) is_required: bool,
    pub(crate) course: Course,
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub(crate) enum LakeTableKind {
        Samples = "samples",
        Hours = "hours",
        Stalls = "stalls",
    }
}

/// How many buckets the servers of a day are spread over.
pub(crate) const BUCKETS: i32 = 8;
pub(crate) const SERVER_ID: &str = "server_id";

/// Columns that say what a row is about: the same in every table.
const ABOUT: [(&str, bool); 10] = [
    ("server", true),
    (SERVER_ID, true),
    ("source", true),
    ("source_id", true),
    ("series_id", true),
    ("kind", true),
    ("scope", true),
    ("scope_name", true),
    ("name", true),
    ("volume", false),
];

impl LakeTableKind {
    /// The column whose day a row belongs to.
    pub(crate) fn time(self) -> &'static str {
        match self {
            Self::Samples => "taken",
            Self::Hours | Self::Stalls => "hour",
        }
    }

    pub(crate) fn fields(self) -> Vec<Field> {
        let mut fields: Vec<Field> = ABOUT
            .into_iter()
            .map(|(name, is_required)| field(name, FieldKind::Text, is_required, Course::Few))
            .collect();
        fields.push(field(self.time(), FieldKind::Time, true, Course::Again));
        match self {
            Self::Samples => {
                fields.push(field("identity", FieldKind::Text, true, Course::Few));
                fields.push(field("sample_number", FieldKind::Long, true, Course::Again));
                for name in ["epoch_id", "clock", "instance", "process_start"] {
                    fields.push(field(name, FieldKind::Text, true, Course::Few));
                }
                fields.push(field("version", FieldKind::Long, true, Course::Few));
                fields.push(field("clock_ns", FieldKind::Long, true, Course::Again));
                fields.push(field("uptime_s", FieldKind::Long, false, Course::Again));
                fields.push(field("age_ms", FieldKind::Long, false, Course::Growing));
                fields.extend(counters(Course::Growing));
            }
            Self::Hours => {
                fields.push(field("covered_ns", FieldKind::Long, true, Course::Any));
                fields.push(field("intervals", FieldKind::Long, true, Course::Few));
                let peaks = Peak::ALL.into_iter();
                fields
                    .extend(peaks.map(|peak| field(peak_name(peak), FieldKind::Double, false, Course::Any)));
                fields.extend(counters(Course::Any));
            }
            Self::Stalls => {
                fields.push(field("op", FieldKind::Text, true, Course::Few));
                fields.push(field("stall_ns_max", FieldKind::Long, true, Course::Few));
                fields.push(field("operations", FieldKind::Long, true, Course::Any));
            }
        }
        fields
    }
}

fn field(name: &str, kind: FieldKind, is_required: bool, course: Course) -> Field {
    Field { name: name.to_owned(), kind, is_required, course }
}

fn counters(course: Course) -> impl Iterator<Item = Field> {
    Counter::ALL.into_iter().map(move |counter| field(&column_name(counter), FieldKind::Long, false, course))
}

pub(crate) fn column_name(counter: Counter) -> String {
    match counter.role() {
        Role::Time => format!("{}_ns", counter.name()),
        _ => counter.name().to_owned(),
    }
}

fn peak_name(peak: Peak) -> &'static str {
    match peak {
        Peak::Reads => "reads_per_s_max",
        Peak::Writes => "writes_per_s_max",
        Peak::ReadBytes => "read_bytes_per_s_max",
        Peak::WriteBytes => "write_bytes_per_s_max",
        Peak::ReadStall => "read_stall_ns_max",
        Peak::WriteStall => "write_stall_ns_max",
        Peak::QueueDepth => "queue_depth_max",
    }
}

impl Field {
    pub(crate) fn json(&self, id: i32) -> Value {
        let kind = match self.kind {
            FieldKind::Text => "string",
            FieldKind::Long => "long",
            FieldKind::Time => "timestamptz",
            FieldKind::Double => "double",
        };
        json!({ "id": id, "name": self.name, "required": self.is_required, "type": kind })
    }

    pub(crate) fn parquet(&self, id: i32) -> String {
        let kind = match self.kind {
            FieldKind::Text => ("binary", " (STRING)"),
            FieldKind::Long => ("int64", ""),
            FieldKind::Time => ("int64", " (TIMESTAMP(MICROS,true))"),
            FieldKind::Double => ("double", ""),
        };
        let required = if self.is_required { "required" } else { "optional" };
        format!("  {required} {} {}{} = {id};\n", kind.0, self.name, kind.1)
    }
}
