//! fio's job file: sections with options below them, `[global]` for all that follow it.

use iostall_model::Profile;

use super::error::FioError;
use super::job::FioJob;
pub use super::profile::FioFile;
use super::profile::to_profile;

#[derive(Clone, Debug, PartialEq)]
pub struct FioProfile {
    pub profile: Profile,
    pub files: Vec<FioFile>,
    /// What is otherwise than fio does it, a sentence each.
    pub notes: Vec<String>,
}

/// Reads the text of a job file; the profile is called `name`.
pub fn read_jobs(name: &str, text: &str) -> Result<FioProfile, FioError> {
    let mut global = FioJob::default();
    let mut jobs: Vec<FioJob> = Vec::new();
    let mut section: Option<&str> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with([';', '#']) {
            continue;
        }
        let syntax = |message| FioError::Syntax { line: number, message };
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']').ok_or_else(|| syntax("a section ends in ]"))?.trim();
            section = Some(name);
            if name != "global" {
                let mut job = global.clone();
                name.clone_into(&mut job.name);
                jobs.push(job);
            }
            continue;
        }
        let name = section.ok_or_else(|| syntax("an option stands below a [section]"))?;
        let (option, value) = match line.split_once('=') {
            Some((option, value)) => (option.trim(), Some(value.trim())),
            None => (line, None),
        };
        let job = if name == "global" { Some(&mut global) } else { jobs.last_mut() };
        if let Some(job) = job {
            let wrong = |source| FioError::Job { job: name.to_owned(), source: Box::new(source) };
            job.take(option, value).map_err(wrong)?;
        }
    }
    if jobs.is_empty() {
        return Err(FioError::NoJobs);
    }
    let notes = notes(&jobs);
    let (profile, files) = to_profile(name, &jobs)?;
    Ok(FioProfile { profile, files, notes })
}

fn notes(jobs: &[FioJob]) -> Vec<String> {
    let mut notes = Vec::new();
    for job in jobs {
        let name = &job.name;
        if job.depth_is_ignored() {
            notes.push(format!("job {name:?}: without ioengine=io_uring or libaio fio keeps one request in flight, whatever iodepth says"));
        }
        if job.runtime.is_none() {
            notes.push(format!(
                "job {name:?} has no runtime, where fio ends with its size: it is measured for 30 s"
            ));
        }
    }
    notes
}
