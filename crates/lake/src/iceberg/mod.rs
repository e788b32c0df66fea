//! Snapshots of Iceberg tables (format version 2): what is added to a table's metadata when files are.

mod bucket;
mod manifest;
mod metadata;

pub(crate) use bucket::bucket_of;
pub(crate) use metadata::{Addition, Table, added};
