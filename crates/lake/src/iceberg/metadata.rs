//! A table's metadata: a JSON file for every snapshot, each made of the one before.

use serde_json::{Map, Value as Json, json};

use super::manifest::{self, SnapshotIds};
use crate::data_file::DataFileWritten;
use crate::error::MoveError;
use crate::place;
use crate::table::{BUCKETS, Field, LakeTableKind, SERVER_ID};

const PROPERTIES: [(&str, &str); 2] = [("owner", "iostall"), ("write.parquet.compression-codec", "zstd")];

/// A table as it is before files are added, with every column that this program writes.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) kind: LakeTableKind,
    /// Where the metadata was read; `None` if there is no such table yet.
    pub(crate) address: Option<String>,
    metadata: Json,
}

pub(crate) struct Addition<'a> {
    pub(crate) files: &'a [DataFileWritten],
    /// Days since 1970.
    pub(crate) day: i32,
    pub(crate) snapshot: i64,
    /// Milliseconds since 1970, UTC.
    pub(crate) at_ms: i64,
    pub(crate) addresses: [String; 3],
}

impl Table {
    /// A new table below `location`, which is called `uuid`.
    pub(crate) fn new(kind: LakeTableKind, location: &str, uuid: &str) -> Self {
        let fields: Vec<Json> = (1..).zip(kind.fields()).map(|(id, field)| field.json(id)).collect();
        let id_of = |name: &str| {
            fields.iter().find(|field| field["name"] == name).map_or(Json::Null, |field| field["id"].clone())
        };
        let spec = json!([
            { "source-id": id_of(kind.time()), "field-id": 1000, "name": "day", "transform": "day" },
            { "source-id": id_of(SERVER_ID), "field-id": 1001, "name": "server_bucket",
              "transform": format!("bucket[{BUCKETS}]") },
        ]);
        let properties: Map<String, Json> =
            PROPERTIES.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let metadata = json!({
            "format-version": 2, "table-uuid": uuid, "location": location, "last-sequence-number": 0,
            "last-updated-ms": 0, "last-column-id": fields.len(), "current-schema-id": 0,
            "schemas": [{ "type": "struct", "schema-id": 0, "fields": fields }],
            "default-spec-id": 0, "partition-specs": [{ "spec-id": 0, "fields": spec }], "last-partition-id": 1001,
            "default-sort-order-id": 0, "sort-orders": [{ "order-id": 0, "fields": [] }],
            "properties": properties, "refs": {}, "snapshots": [], "snapshot-log": [], "metadata-log": [],
        });
        Self { kind, address: None, metadata }
    }

    /// The table whose metadata is at `address`; it must lie at `location`.
    pub(crate) fn read(kind: LakeTableKind, address: &str, location: &str) -> Result<Self, MoveError> {
        let wrong = |what: String| MoveError::Metadata { address: address.to_owned(), what };
        let metadata: Json =
            serde_json::from_slice(&place::read(address)?).map_err(|error| wrong(error.to_string()))?;
        let found = metadata["location"].as_str().unwrap_or_default();
        if found != location {
            return Err(MoveError::Elsewhere {
                table: kind.name(),
                found: found.to_owned(),
                place: location.to_owned(),
            });
        }
        if metadata["format-version"] != 2 {
            return Err(wrong(format!("its format version is {}, not 2", metadata["format-version"])));
        }
        let mut table = Self { kind, address: Some(address.to_owned()), metadata };
        let expected = Self::new(kind, location, "");
        let transforms = |table: &Self| -> Option<Vec<String>> {
            let fields = table.spec()?["fields"].as_array()?;
            Some(fields.iter().map(|field| field["transform"].to_string()).collect())
        };
        if transforms(&table).is_none() || transforms(&table) != transforms(&expected) {
            return Err(wrong("another program has changed how it is partitioned".into()));
        }
        table.add_missing_fields().ok_or_else(|| wrong("it has no current schema".into()))?;
        Ok(table)
    }

    fn one_of(&self, list: &str, id_name: &str, current: &str) -> Option<&Json> {
        self.metadata[list].as_array()?.iter().find(|one| one[id_name] == self.metadata[current])
    }

    fn schema(&self) -> Option<&Json> {
        self.one_of("schemas", "schema-id", "current-schema-id")
    }

    fn spec(&self) -> Option<&Json> {
        self.one_of("partition-specs", "spec-id", "default-spec-id")
    }

    /// The columns that this program writes, with their numbers in this table.
    pub(crate) fn fields(&self) -> Vec<(i32, Field)> {
        let known = self.schema().and_then(|schema| schema["fields"].as_array());
        let id_of = |name: &str| {
            let field = known?.iter().find(|field| field["name"] == name)?;
            i32::try_from(field["id"].as_i64()?).ok()
        };
        let numbered = |field: Field| id_of(&field.name).map(|id| (id, field));
        self.kind.fields().into_iter().filter_map(numbered).collect()
    }

    /// Adds columns that a newer iostall writes: a schema of their own, since old snapshots keep theirs.
    fn add_missing_fields(&mut self) -> Option<()> {
        let mut schema = self.schema()?.clone();
        let known = schema["fields"].as_array()?.clone();
        let mut last = self.metadata["last-column-id"].as_i64()?;
        let mut fields = known.clone();
        for field in self.kind.fields() {
            if !known.iter().any(|known| known["name"] == field.name.as_str()) {
                last += 1;
                // Older rows have no value of it.
                let field = Field { is_required: false, ..field };
                fields.push(field.json(i32::try_from(last).ok()?));
            }
        }
        if fields.len() == known.len() {
            return Some(());
        }
        let schemas = self.metadata["schemas"].as_array_mut()?;
        let id = schemas.iter().filter_map(|schema| schema["schema-id"].as_i64()).max()? + 1;
        schema["schema-id"] = json!(id);
        schema["fields"] = json!(fields);
        schemas.push(schema);
        self.metadata["current-schema-id"] = json!(id);
        self.metadata["last-column-id"] = json!(last);
        Some(())
    }

    fn manifests(&self) -> Result<Vec<manifest::Listed>, MoveError> {
        let current = &self.metadata["current-snapshot-id"];
        let snapshots = self.metadata["snapshots"].as_array();
        let snapshot = snapshots.and_then(|all| all.iter().find(|one| one["snapshot-id"] == *current));
        let Some(address) = snapshot.and_then(|snapshot| snapshot["manifest-list"].as_str()) else {
            return Ok(Vec::new());
        };
        manifest::read_list(&place::read(address)?)
            .map_err(|error| MoveError::Metadata { address: address.to_owned(), what: error.to_string() })
    }

    /// How many snapshots it has had, for the name of its next metadata.
    pub(crate) fn version(&self) -> i64 {
        self.number("last-sequence-number").unwrap_or(0)
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.metadata[name].as_i64().filter(|number| *number >= 0)
    }
}

/// The files that make `addition` a snapshot of `table`, in the order in which they must be written, each with its address.
pub(crate) fn added(table: &Table, addition: &Addition<'_>) -> Result<Vec<(String, Vec<u8>)>, MoveError> {
    let [manifest_at, list_at, metadata_at] = &addition.addresses;
    let wrong = |what: String| MoveError::Metadata { address: metadata_at.clone(), what };
    let (Some(schema), Some(spec)) = (table.schema(), table.spec()) else {
        return Err(wrong("no schema".into()));
    };
    let (schema_id, spec_id) =
        (schema["schema-id"].as_i64().unwrap_or(0), spec["spec-id"].as_i64().unwrap_or(0));
    let sequence = table.number("last-sequence-number").unwrap_or(0) + 1;
    let parent = table.number("current-snapshot-id");
    let ids = SnapshotIds { id: addition.snapshot, parent, sequence };
    let about = (schema, schema_id, &spec["fields"], spec_id);
    let avro = |error: Box<apache_avro::Error>| wrong(error.to_string());
    let of_files = manifest::manifest(ids, addition.files, addition.day, about).map_err(avro)?;
    let mut all =
        vec![manifest::listed(ids, manifest_at, of_files.len(), addition.files, addition.day, spec_id)];
    all.extend(table.manifests()?);
    let list = manifest::list(ids, all).map_err(avro)?;
    let metadata = with_snapshot(table, addition, ids, schema_id);
    Ok(vec![
        (manifest_at.clone(), of_files),
        (list_at.clone(), list),
        (metadata_at.clone(), metadata.to_string().into_bytes()),
    ])
}

fn with_snapshot(table: &Table, addition: &Addition<'_>, ids: SnapshotIds, schema_id: i64) -> Json {
    let mut metadata = table.metadata.clone();
    let rows: u64 = addition.files.iter().map(|file| file.rows).sum();
    let bytes: u64 = addition.files.iter().map(|file| file.bytes).sum();
    let before = |name: &str| {
        let snapshots = table.metadata["snapshots"].as_array();
        let parent = snapshots.and_then(|all| all.iter().find(|one| one["snapshot-id"] == json!(ids.parent)));
        parent.and_then(|parent| parent["summary"][name].as_str()?.parse::<u64>().ok()).unwrap_or(0)
    };
    let files = addition.files.len() as u64;
    let mut snapshot = json!({
        "snapshot-id": ids.id, "sequence-number": ids.sequence, "timestamp-ms": addition.at_ms,
        "manifest-list": addition.addresses[1], "schema-id": schema_id,
        "summary": {
            "operation": "append", "added-data-files": files.to_string(), "added-records": rows.to_string(),
            "added-files-size": bytes.to_string(),
            "total-data-files": (before("total-data-files") + files).to_string(),
            "total-records": (before("total-records") + rows).to_string(),
            "total-files-size": (before("total-files-size") + bytes).to_string(),
            "total-delete-files": "0", "total-position-deletes": "0", "total-equality-deletes": "0",
        },
    });
    if let Some(parent) = ids.parent {
        snapshot["parent-snapshot-id"] = json!(parent);
    }
    if let (Some(address), Some(log)) = (&table.address, metadata["metadata-log"].as_array_mut()) {
        let at = table.metadata["last-updated-ms"].clone();
        log.push(json!({ "timestamp-ms": at, "metadata-file": address }));
    }
    push(&mut metadata, "snapshots", snapshot);
    push(&mut metadata, "snapshot-log", json!({ "timestamp-ms": addition.at_ms, "snapshot-id": ids.id }));
    metadata["last-sequence-number"] = json!(ids.sequence);
    metadata["last-updated-ms"] = json!(addition.at_ms);
    metadata["current-snapshot-id"] = json!(ids.id);
    metadata["refs"]["main"] = json!({ "snapshot-id": ids.id, "type": "branch" });
    metadata
}

fn push(metadata: &mut Json, list: &str, one: Json) {
    match metadata[list].as_array_mut() {
        Some(all) => all.push(one),
        None => metadata[list] = json!([one]),
    }
}
