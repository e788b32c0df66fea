//! State of a collector besides samples: the runs of its jobs, and what must survive a restart.

use iostall_model::job::JobRun;

use crate::error::StoreError;

/// Stores the state of collectors. Each call is one transaction.
pub trait CollectorState {
    /// Stores a run of a job, replacing the one with the same due time. Beyond a thousand runs of the job,
    /// the oldest are deleted.
    fn put_job_run(&mut self, run: &JobRun) -> Result<(), StoreError>;

    /// Up to `most` runs of `job`, newest first.
    fn job_runs(&self, job: &str, most: u32) -> Result<Vec<JobRun>, StoreError>;

    /// Stores a JSON document under `name`, replacing the previous one.
    fn put_state(&mut self, name: &str, document: &str) -> Result<(), StoreError>;

    /// The document stored under `name`.
    fn state(&self, name: &str) -> Result<Option<String>, StoreError>;
}
