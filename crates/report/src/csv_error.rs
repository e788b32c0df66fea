//! Why a table in CSV was not written or read.

use std::io;

use thiserror::Error;

/// Why a table was not written or read.
#[derive(Debug, Error)]
pub enum CsvError {
    /// The writer failed.
    #[error("cannot write the series: {0}")]
    Write(#[from] io::Error),
    /// A row was refused by the CSV writer.
    #[error("cannot write a row of the series: {0}")]
    Row(#[from] ::csv::Error),
    /// What was to be read is no CSV.
    #[error("cannot read the table: {0}")]
    Read(::csv::Error),
    /// A row of a table of jobs has no name or no seconds.
    #[error("line {line}: a job's name and its seconds are wanted, here are {name:?} and {seconds:?}")]
    Work {
        /// Line, from 1.
        line: u64,
        /// What stands where the name should.
        name: String,
        /// What stands where the seconds should.
        seconds: String,
    },
}
