//! Commits as a database makes them: committers append records to a preallocated log and wait until they are durable.
//!
//! The log is what PostgreSQL's is: a segment of 16 MiB written with zeros in advance (`wal_init_zero`), so that a commit changes
//! neither the size nor the allocation of the file, records at advancing offsets, and the next segment after the last block. Like
//! `pg_test_fsync`, a commit is one write of a block and the call that makes it durable; unlike it, which writes the same block
//! again and again, the offset advances, as in a real log. The calls are made on the calling thread, with nothing in between.

mod group;
mod log;
mod run;

pub use log::{CommitError, CommitLog, Opened};
pub use run::{Committing, Logs, commit_for};
