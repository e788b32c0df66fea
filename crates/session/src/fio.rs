//! fio's job files as loads: the profile, and the files that its jobs name.

use std::path::Path;

use iostall_engine::{Input, InputError};
use iostall_load::fio::{FioError, FioProfile, read_jobs};
use iostall_measure::ByteCount;
use thiserror::Error;

use crate::targets::{OwnSize, TargetBinding, TargetRequest};

/// Thousands of jobs are a hundredth of it.
const JOB_FILE: Input = Input { what: "job file", limit: ByteCount(1 << 20) };

#[derive(Debug, Error)]
pub enum JobFileError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("{path}: {source}")]
    Jobs { path: String, source: FioError },
}

pub fn read_job_file(path: &Path) -> Result<FioProfile, JobFileError> {
    let text = JOB_FILE.text(path)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    read_jobs(&name, &text).map_err(|source| JobFileError::Jobs { path: path.display().to_string(), source })
}

/// Has the jobs of `fio` work on the files that they name, each in its own size. Where `request` names files, they take their
/// place.
pub fn bind_files(request: &mut TargetRequest, fio: &FioProfile) {
    if !request.paths.is_empty() {
        return;
    }
    for file in &fio.files {
        request.bindings.push(TargetBinding { name: file.name.clone(), path: file.path.clone() });
        let own = OwnSize { made: file.size, in_spans: vec![file.size; fio.profile.spans.len()] };
        request.sizes.push((file.name.clone(), own));
    }
}
