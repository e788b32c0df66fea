//! Collector files, alert files and job results as text.

mod jobs;
mod sources;

use iostall_measure::foreign::shown;
use iostall_watch::{CollectorSetup, WatchedSource};

use crate::alerts::listing;

pub use jobs::{PlannedJob, planned_jobs, run_lines};
pub use sources::{SourceEntry, watched_sources};

/// Lists sources, jobs, rules and channels of a collector's file, one per line.
pub fn setup(setup: &CollectorSetup) -> String {
    let mut text: String = setup.sources.iter().map(source).collect();
    for job in &setup.jobs {
        let notifies = match job.notify.as_slice() {
            [] => "notifies nobody".to_owned(),
            names => format!("notifies {}", shown(&names.join(", "))),
        };
        text.push_str(&format!(
            "job {:?}: at {}, {} within {:?}, {notifies}\n",
            job.name,
            shown(&job.calendar.to_string()),
            shown(&job.command.join(" ")),
            job.deadline
        ));
    }
    for push in &setup.pushes {
        text.push_str(&format!("samples are sent to {}\n", shown(&push.name())));
    }
    let used: Vec<&String> = setup.jobs.iter().flat_map(|job| &job.notify).collect();
    text.push_str(&listing(&setup.alerts, &used));
    text
}

fn source(source: &WatchedSource) -> String {
    let mut text = format!("source {:?}: every {:?}", source.name, source.interval);
    let address = source.address.to_string();
    if address != source.name {
        text.push_str(&format!(", {}", shown(&address)));
    }
    for (word, parts) in
        [("tags", &source.tags), ("databases", &source.filter.databases), ("files", &source.filter.names)]
    {
        if !parts.is_empty() {
            text.push_str(&format!(", {word} {}", shown(&parts.join(" "))));
        }
    }
    text.push('\n');
    text
}
