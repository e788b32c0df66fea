//! The `[[job]]` tables.

use std::collections::BTreeSet;
use std::time::Duration;

use iostall_measure::Nanos;
use serde::Deserialize;

use super::sources::Wrong;
use crate::jobs::{Calendar, Job};

/// Default deadline.
const DEADLINE: Duration = Duration::from_secs(3600);
/// Default account of the systemd service.
const USER: &str = "iostall";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Written {
    name: String,
    calendar: String,
    zone: Option<String>,
    command: Vec<String>,
    deadline: Option<Nanos>,
    #[serde(default)]
    notify: Vec<String>,
    user: Option<String>,
}

pub(super) fn checked(written: Vec<Written>, channels: &BTreeSet<&str>) -> Result<Vec<Job>, Wrong> {
    let (mut jobs, mut names) = (Vec::new(), BTreeSet::new());
    for one in written {
        let place = format!("job {:?}", one.name);
        let job = job(one, channels).map_err(|reason| (place.clone(), reason))?;
        // Unit names allow fewer characters than job names, so two jobs may collide.
        if !names.insert(job.unit_name()) {
            return Err((place, format!("is there twice: both would be {}", job.unit_name())));
        }
        jobs.push(job);
    }
    Ok(jobs)
}

fn job(written: Written, channels: &BTreeSet<&str>) -> Result<Job, String> {
    if written.name.trim().is_empty() || written.name.contains(['\n', '\r']) {
        return Err("needs a name of one line".into());
    }
    if written.command.first().is_none_or(String::is_empty) {
        return Err(
            "command must be a program and its arguments: [\"iostall\", \"store\", \"rebuild\"]".into()
        );
    }
    if written.command.iter().any(|word| word.contains('\0')) {
        return Err("command must not hold a zero byte".into());
    }
    let deadline = written.deadline.map_or(DEADLINE, |length| Duration::from_nanos(length.nanos()));
    if deadline < Duration::from_secs(1) {
        return Err("the shortest deadline is 1s".into());
    }
    if let Some(unknown) = written.notify.iter().find(|name| !channels.contains(name.as_str())) {
        return Err(format!("there is no channel {unknown:?}: write [channels.{unknown}]"));
    }
    let user = written.user.unwrap_or_else(|| USER.to_owned());
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    if user.is_empty() || !user.chars().all(is_name) {
        return Err(format!("{user:?} is no name of an account"));
    }
    Ok(Job {
        name: written.name,
        calendar: Calendar::parse(&written.calendar, written.zone.as_deref())?,
        command: written.command,
        deadline,
        notify: written.notify,
        user,
    })
}
