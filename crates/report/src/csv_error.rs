//! Errors in writing or reading CSV tables.

use std::io;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum CsvError {
    #[error("cannot write the series: {0}")]
    Write(#[from] io::Error),
    #[error("cannot write a row of the series: {0}")]
    Row(#[from] ::csv::Error),
    #[error("cannot read the table: {0}")]
    Read(::csv::Error),
    #[error("line {line}: a job's name and its seconds are wanted, here are {name:?} and {seconds:?}")]
    Work {
        /// Line, from 1.
        line: u64,
        name: String,
        seconds: String,
    },
}
