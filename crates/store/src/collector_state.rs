//! What a collector remembers beside the samples: the runs of its jobs, and what it has to know again after a restart.

use iostall_model::job::JobRun;

use crate::error::StoreError;

/// A place where that is kept. Each call is one transaction.
pub trait CollectorState {
    /// Keeps a run of a job, in place of what was kept of the run that was due at the same time. The oldest beyond
    /// a thousand runs of that job are deleted.
    fn put_job_run(&mut self, run: &JobRun) -> Result<(), StoreError>;

    /// At most so many runs of `job`, the newest first.
    fn job_runs(&self, job: &str, most: u32) -> Result<Vec<JobRun>, StoreError>;

    /// Keeps a JSON document under `name`, in place of the one that was there.
    fn put_state(&mut self, name: &str, document: &str) -> Result<(), StoreError>;

    /// The document under `name`.
    fn state(&self, name: &str) -> Result<Option<String>, StoreError>;
}
