//! Exports the history of watched sources as Parquet files with one row per counter row of a sample, for
//! DuckDB and others.

mod columns;
mod error;
mod export;
mod file;

pub use error::ExportError;
pub use export::{Exported, export};
