//! Exports the whole history of a store to two files in a directory.

use std::fs;
use std::path::{Path, PathBuf};

use iostall_store::{History, SqliteHistory};

use crate::columns::{GAP_SCHEMA, of_gaps, of_samples, sample_schema};
use crate::error::ExportError;
use crate::file::ParquetFile;

/// Approximate rows per row group: a few megabytes of memory, and large enough for a dictionary.
const ROWS_AT_ONCE: usize = 200_000;
/// Most samples per row group, however few rows they have.
const SAMPLES_AT_ONCE_MAX: usize = 10_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    pub samples_file: PathBuf,
    pub gaps_file: PathBuf,
    pub sources: u64,
    pub samples: u64,
    pub rows: u64,
}

/// Writes every sample and every gap in the store at `store` to `samples.parquet` and `gaps.parquet` in
/// `directory`, which is created if it does not exist. Neither file may exist.
pub fn export(store: &Path, directory: &Path) -> Result<Exported, ExportError> {
    if !store.exists() {
        return Err(ExportError::NoStore { path: store.to_owned() });
    }
    let history = SqliteHistory::open(store)?;
    fs::create_dir_all(directory)
        .map_err(|source| ExportError::Create { path: directory.to_owned(), source })?;
    let mut samples = ParquetFile::create(directory, "samples.parquet", &sample_schema())?;
    let mut gaps = ParquetFile::create(directory, "gaps.parquet", GAP_SCHEMA)?;
    let mut exported = Exported::default();
    for watched in history.sources()? {
        let (source, mut sequence) = (watched.source.id, 0);
        let rows_each = history.last_sample(source)?.map_or(1, |sample| sample.rows.len().max(1));
        let count = (ROWS_AT_ONCE / rows_each).clamp(1, SAMPLES_AT_ONCE_MAX);
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        while let Some(batch) = history.batch_after(source, sequence, count)? {
            samples.write(&of_samples(&batch))?;
            if !batch.gaps.is_empty() {
                gaps.write(&of_gaps(&batch))?;
            }
            exported.samples += batch.samples.taken_utc.len() as u64;
            exported.rows += batch.rows.series.len() as u64;
            sequence = batch.sequence;
        }
        exported.sources += 1;
    }
    exported.samples_file = samples.finish()?;
    exported.gaps_file = gaps.finish()?;
    Ok(exported)
}

#[cfg(test)]
mod tests;
