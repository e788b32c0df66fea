//! fio's job file: sections with options below them, `[global]` for all that follow it.

use super::error::FioError;
use super::job::FioJob;
use super::profile::{FioProfile, to_profile};
use super::values::with_variables;

/// Reads the text of a job file; the profile is called `name`, and `variable` is the environment. What cannot be had is refused
/// all at once.
pub fn read_jobs(
    name: &str,
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<FioProfile, FioError> {
    let mut global = FioJob::default();
    let mut jobs: Vec<FioJob> = Vec::new();
    let mut section: Option<String> = None;
    let mut errors = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        // fio cuts a line at either, wherever it stands.
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let syntax = |message| FioError::Syntax { line: number, message };
        if let Some(name) = line.strip_prefix('[') {
            let Some(name) = name.strip_suffix(']') else {
                errors.push(syntax("a section ends in ]"));
                continue;
            };
            let name = name.trim();
            section = Some(name.to_owned());
            if name != "global" {
                jobs.push(FioJob {
                    name: name.to_owned(),
                    section: Some(name.to_owned()),
                    has_own_files: false,
                    ..global.clone()
                });
            }
            continue;
        }
        let Some(name) = &section else {
            errors.push(syntax("an option stands below a [section]"));
            continue;
        };
        let job = if name == "global" { Some(&mut global) } else { jobs.last_mut() };
        if let Some(job) = job
            && let Err(error) = take(job, line, variable)
        {
            errors.push(FioError::Job { job: name.clone(), source: Box::new(error) });
        }
    }
    if jobs.is_empty() {
        errors.push(FioError::NoJobs);
    }
    match to_profile(name, &jobs) {
        Ok(found) => FioError::all(errors).map(|()| found),
        Err(FioError::Several(more)) => {
            Err(FioError::all([errors, more].concat()).err().unwrap_or(FioError::NoJobs))
        }
        Err(one) => Err(FioError::all([errors, vec![one]].concat()).err().unwrap_or(FioError::NoJobs)),
    }
}

fn take(job: &mut FioJob, line: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<(), FioError> {
    let line = with_variables(line, variable)?;
    let (option, value) = match line.split_once('=') {
        Some((option, value)) => (option.trim(), Some(value.trim())),
        None => (line.trim(), None),
    };
    job.take(option, value).map(drop)
}
