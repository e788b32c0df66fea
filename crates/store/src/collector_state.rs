//! State of a collector besides samples: the runs of its jobs, and what must survive a restart.

use iostall_model::job::JobRun;
use iostall_model::{Note, Setting};
use jiff::Timestamp;

use crate::entry::RunNumber;
use crate::error::StoreError;
use crate::identity::SourceId;
use crate::store::Stored;

/// The name of the document with notes that were removed, and are still to be removed elsewhere.
pub const REMOVED_NOTES: &str = "removed-notes";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredNote {
    pub number: u32,
    /// The name of the source that it is about; `None` for all of them.
    pub source: Option<String>,
    pub note: Note,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingsRead {
    pub first: Timestamp,
    pub last: Timestamp,
}

pub trait CollectorState {
    /// Stores a run of a job, replacing the one with the same due time. Beyond a thousand runs of the job,
    /// the oldest are deleted.
    fn put_job_run(&mut self, run: &JobRun) -> Result<(), StoreError>;

    fn job_runs(&self, job: &str, most: u32) -> Result<Vec<JobRun>, StoreError>;

    /// The runs of `kind` that were stored after the run `after`, oldest first. One that cannot be read, such as that of a newer
    /// iostall, is passed over.
    fn runs_after(&self, kind: &str, after: Option<RunNumber>) -> Result<Vec<Stored>, StoreError>;

    /// Stores a note about `source`, or about all of them; one that is there already changes nothing.
    fn add_note(&mut self, source: Option<SourceId>, note: &Note) -> Result<(), StoreError>;

    /// The notes of people and programs in the window, about any source; not what [`History::notes`](crate::History::notes) adds
    /// of iostall's own runs and jobs.
    fn all_notes(&self, from: Timestamp, to: Timestamp) -> Result<Vec<StoredNote>, StoreError>;

    /// Removes a note. Whether there was one of that number.
    fn remove_note(&mut self, number: u32) -> Result<bool, StoreError>;

    /// Stores what was read of the settings of `source` at `at`: all of them. A value that is as it was adds nothing; one that is
    /// another, came, or is gone ends a version or begins one. What an unread one hides stays as it was.
    fn put_settings(
        &mut self,
        source: SourceId,
        at: Timestamp,
        settings: &[Setting],
    ) -> Result<(), StoreError>;

    fn put_state(&mut self, name: &str, document: &str) -> Result<(), StoreError>;

    /// The size of the file that it is in, bytes; `None` if that is not known.
    fn file_bytes(&self) -> Option<u64>;

    fn state(&self, name: &str) -> Result<Option<String>, StoreError>;

    fn state_names(&self) -> Result<Vec<String>, StoreError>;

    /// Keeps a document under another name, which is returned: under its own there is none then.
    fn set_state_aside(&mut self, name: &str) -> Result<String, StoreError>;

    /// How many samples of `source` have numbers after the one and up to the other.
    fn samples_between(&self, source: SourceId, after: u64, until: u64) -> Result<u64, StoreError>;
}
