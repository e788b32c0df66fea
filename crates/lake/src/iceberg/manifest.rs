//! Manifests and lists of them: Avro files that name the files of a snapshot.

use apache_avro::types::Value;
use apache_avro::{Codec, Reader, Schema, Writer};
use serde_json::{Value as Json, json};

use crate::data_file::DataFileWritten;

pub(super) type AvroResult<T> = Result<T, Box<apache_avro::Error>>;

/// A manifest in a list of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Listed(Value);

/// What the new snapshot is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct SnapshotIds {
    pub(super) id: i64,
    pub(super) parent: Option<i64>,
    pub(super) sequence: i64,
}

/// A field of a record; one that may be missing is so if nothing else is said.
fn field(name: &str, id: i32, kind: &Json) -> Json {
    let mut field = json!({ "name": name, "type": kind, "field-id": id });
    if kind.is_array() {
        field["default"] = Json::Null;
    }
    field
}

fn entry_schema() -> Json {
    let day = json!(["null", { "type": "int", "logicalType": "date" }]);
    let partition = json!({ "type": "record", "name": "r102", "fields": [
        field("day", 1000, &day), field("server_bucket", 1001, &json!(["null", "int"])),
    ]});
    let file = json!({ "type": "record", "name": "r2", "fields": [
        field("content", 134, &json!("int")),
        field("file_path", 100, &json!("string")),
        field("file_format", 101, &json!("string")),
        field("partition", 102, &partition),
        field("record_count", 103, &json!("long")),
        field("file_size_in_bytes", 104, &json!("long")),
    ]});
    json!({ "type": "record", "name": "manifest_entry", "fields": [
        field("status", 0, &json!("int")),
        field("snapshot_id", 1, &json!(["null", "long"])),
        field("sequence_number", 3, &json!(["null", "long"])),
        field("file_sequence_number", 4, &json!(["null", "long"])),
        field("data_file", 2, &file),
    ]})
}

/// The numbers of a list's columns that are neither missing nor anything but a whole number, with their widths.
const NUMBERS: [(&str, i32, &str); 12] = [
    ("manifest_length", 501, "long"),
    ("partition_spec_id", 502, "int"),
    ("content", 517, "int"),
    ("sequence_number", 515, "long"),
    ("min_sequence_number", 516, "long"),
    ("added_snapshot_id", 503, "long"),
    ("added_files_count", 504, "int"),
    ("existing_files_count", 505, "int"),
    ("deleted_files_count", 506, "int"),
    ("added_rows_count", 512, "long"),
    ("existing_rows_count", 513, "long"),
    ("deleted_rows_count", 514, "long"),
];

fn list_schema() -> Json {
    let summary = json!({ "type": "record", "name": "r508", "fields": [
        field("contains_null", 509, &json!("boolean")),
        field("contains_nan", 518, &json!(["null", "boolean"])),
        field("lower_bound", 510, &json!(["null", "bytes"])),
        field("upper_bound", 511, &json!(["null", "bytes"])),
    ]});
    let mut fields = vec![field("manifest_path", 500, &json!("string"))];
    fields.extend(NUMBERS.iter().map(|(name, id, kind)| field(name, *id, &json!(kind))));
    let summaries = json!(["null", { "type": "array", "items": summary, "element-id": 508 }]);
    fields.push(field("partitions", 507, &summaries));
    fields.push(field("key_metadata", 519, &json!(["null", "bytes"])));
    json!({ "type": "record", "name": "manifest_file", "fields": fields })
}

fn some(value: Value) -> Value {
    Value::Union(1, Box::new(value))
}

fn none() -> Value {
    Value::Union(0, Box::new(Value::Null))
}

fn record(fields: Vec<(&str, Value)>) -> Value {
    Value::Record(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn encoded<'a>(
    schema: &Json,
    headers: &[(&str, String)],
    values: impl Iterator<Item = Value> + 'a,
) -> AvroResult<Vec<u8>> {
    let schema = Schema::parse(schema)?;
    let mut writer = Writer::with_codec(&schema, Vec::new(), Codec::Null);
    for (key, value) in headers {
        writer.add_user_metadata((*key).to_owned(), value)?;
    }
    for value in values {
        writer.append(value)?;
    }
    Ok(writer.into_inner()?)
}

/// A manifest of `files`, which are of one day, with the table's schema and the fields of its partitions as headers.
pub(super) fn manifest(
    ids: SnapshotIds,
    files: &[DataFileWritten],
    day: i32,
    (schema, schema_id, spec_fields, spec_id): (&Json, i64, &Json, i64),
) -> AvroResult<Vec<u8>> {
    let headers = [
        ("schema", schema.to_string()),
        ("schema-id", schema_id.to_string()),
        ("partition-spec", spec_fields.to_string()),
        ("partition-spec-id", spec_id.to_string()),
        ("format-version", "2".to_owned()),
        ("content", "data".to_owned()),
    ];
    let entry = |file: &DataFileWritten| {
        let partition =
            record(vec![("day", some(Value::Date(day))), ("server_bucket", some(Value::Int(file.bucket)))]);
        let data_file = record(vec![
            ("content", Value::Int(0)),
            ("file_path", Value::String(file.address.clone())),
            ("file_format", Value::String("PARQUET".into())),
            ("partition", partition),
            ("record_count", Value::Long(file.rows.cast_signed())),
            ("file_size_in_bytes", Value::Long(file.bytes.cast_signed())),
        ]);
        // Added, with the sequence number of the snapshot: a reader takes it from the list.
        record(vec![
            ("status", Value::Int(1)),
            ("snapshot_id", some(Value::Long(ids.id))),
            ("sequence_number", none()),
            ("file_sequence_number", none()),
            ("data_file", data_file),
        ])
    };
    encoded(&entry_schema(), &headers, files.iter().map(entry))
}

/// The new manifest as a list has it.
pub(super) fn listed(
    ids: SnapshotIds,
    address: &str,
    length: usize,
    files: &[DataFileWritten],
    day: i32,
    spec_id: i64,
) -> Listed {
    let rows: u64 = files.iter().map(|file| file.rows).sum();
    let buckets = files.iter().map(|file| file.bucket);
    let summary = |low: i32, high: i32| {
        let bytes = |value: i32| some(Value::Bytes(value.to_le_bytes().to_vec()));
        record(vec![
            ("contains_null", Value::Boolean(false)),
            ("contains_nan", some(Value::Boolean(false))),
            ("lower_bound", bytes(low)),
            ("upper_bound", bytes(high)),
        ])
    };
    let summaries =
        vec![summary(day, day), summary(buckets.clone().min().unwrap_or(0), buckets.max().unwrap_or(0))];
    let number = |name: &str| match name {
        "manifest_length" => i64::try_from(length).unwrap_or(i64::MAX),
        "partition_spec_id" => spec_id,
        "sequence_number" | "min_sequence_number" => ids.sequence,
        "added_snapshot_id" => ids.id,
        "added_files_count" => i64::try_from(files.len()).unwrap_or(i64::MAX),
        "added_rows_count" => rows.cast_signed(),
        _ => 0,
    };
    let mut fields = vec![("manifest_path", Value::String(address.to_owned()))];
    fields.extend(NUMBERS.iter().map(|(name, _, kind)| (*name, sized(number(name), kind))));
    fields.push(("partitions", some(Value::Array(summaries))));
    fields.push(("key_metadata", none()));
    Listed(record(fields))
}

fn sized(value: i64, kind: &str) -> Value {
    if kind == "int" { Value::Int(i32::try_from(value).unwrap_or(i32::MAX)) } else { Value::Long(value) }
}

pub(super) fn read_list(bytes: &[u8]) -> AvroResult<Vec<Listed>> {
    // Resolved to our fields by their names; those of other programs have the same.
    let schema = Schema::parse(&list_schema())?;
    let reader = Reader::with_schema(&schema, bytes)?;
    reader.map(|value| value.map(Listed).map_err(Box::new)).collect()
}

pub(super) fn list(ids: SnapshotIds, all: Vec<Listed>) -> AvroResult<Vec<u8>> {
    let mut headers = vec![
        ("snapshot-id", ids.id.to_string()),
        ("sequence-number", ids.sequence.to_string()),
        ("format-version", "2".to_owned()),
    ];
    headers.extend(ids.parent.map(|parent| ("parent-snapshot-id", parent.to_string())));
    encoded(&list_schema(), &headers, all.into_iter().map(|listed| listed.0))
}
