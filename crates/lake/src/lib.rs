//! The history of watched sources as Parquet files, one row a counter row of a sample: what DuckDB and others read.

mod columns;
mod error;
mod export;
mod file;

pub use error::ExportError;
pub use export::{Exported, export};
