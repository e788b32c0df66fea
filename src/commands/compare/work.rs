//! Tables of real work: CSV with a job's name and its seconds in each row; a job may occur several times.

use std::path::{Path, PathBuf};

use iostall_report::csv::{CsvError, read_work};
use iostall_session::names::read_whole;
use iostall_stats::work::{Job, pair};

use crate::failure::hinted;

/// Enough for a hundred thousand jobs.
const TABLE_BYTES_MAX: u64 = 16 << 20;

pub(super) fn read(paths: &[PathBuf]) -> anyhow::Result<Vec<Job>> {
    let [before, after] = paths else {
        anyhow::bail!("--work takes two files, {} given", paths.len());
    };
    Ok(pair(&table(before)?, &table(after)?))
}

fn table(path: &Path) -> anyhow::Result<Vec<(String, f64)>> {
    let bytes = read_whole("table of jobs", TABLE_BYTES_MAX, path)?;
    let rows = read_work(bytes.as_slice()).map_err(|error: CsvError| {
        hinted(
            anyhow::Error::new(error).context(format!("{} is not a table of jobs", path.display())),
            "write a job's name and its seconds in each row, such as: nightly load,1218.5",
        )
    })?;
    if rows.is_empty() {
        let error = anyhow::anyhow!("{} has no jobs", path.display());
        return Err(hinted(
            error,
            "write a job's name and its seconds in each row, such as: nightly load,1218.5",
        ));
    }
    Ok(rows)
}
