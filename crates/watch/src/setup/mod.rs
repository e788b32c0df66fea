//! What a collector is to do: its sources, its jobs and its alerts, as a file in TOML says it.

mod jobs;
mod place;
mod sources;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use iostall_collect::Filter;
use iostall_engine::Input;
use iostall_measure::{ByteCount, Nanos};
use iostall_model::alert::{Rule, RuleSource};
use iostall_notify::{AlertFile, AlertFileError, AlertTables, WrittenChannel, WrittenClass, WrittenRule};
use serde::Deserialize;

use crate::jobs::Job;
use crate::named::NamedSource;
use crate::setup_error::SetupError;

use place::length;
pub use sources::WatchedSource;

/// Thousands of sources.
const FILE: Input = Input { what: "collector's file", limit: ByteCount(4 << 20) };

/// From sample to sample, unless the file says otherwise.
pub const INTERVAL: Duration = Duration::from_secs(10);
/// How long a source may take to answer, unless the file says otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(10);
/// How long raw samples are kept, unless the file says otherwise.
pub const KEEP_RAW: Duration = Duration::from_secs(14 * 24 * 3600);

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectorSetup {
    /// What is sampled.
    pub sources: Vec<WatchedSource>,
    /// What runs at set times.
    pub jobs: Vec<Job>,
    /// Rules and channels.
    pub alerts: AlertFile,
    /// Where the alerts are, if in a file of their own.
    pub alerts_path: Option<PathBuf>,
    /// Where the current values are served to Prometheus.
    pub metrics: Option<String>,
    /// How long raw samples are kept.
    pub keep_raw: Duration,
}

/// What can be typed: one interval and one filter for all sources.
pub struct TypedSetup<'a> {
    /// What is sampled.
    pub sources: Vec<NamedSource>,
    /// From sample to sample.
    pub interval: Duration,
    /// How long a source may take to answer.
    pub timeout: Duration,
    /// Which rows are kept.
    pub filter: Filter,
    /// A file of alerts.
    pub alerts_path: Option<&'a Path>,
    /// Where the current values are served to Prometheus.
    pub metrics: Option<String>,
    /// How long raw samples are kept.
    pub keep_raw: Duration,
}

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    interval: Option<Nanos>,
    timeout: Option<Nanos>,
    keep_raw: Option<Nanos>,
    metrics: Option<String>,
    alerts: Option<PathBuf>,
    #[serde(default)]
    source: Vec<sources::Written>,
    #[serde(default)]
    job: Vec<jobs::Written>,
    #[serde(default)]
    channels: BTreeMap<String, WrittenChannel>,
    #[serde(default)]
    classes: Vec<WrittenClass>,
    #[serde(default)]
    rules: Vec<WrittenRule>,
}

impl CollectorSetup {
    /// Reads the file at `path`, and that of the alerts where it names one.
    pub fn read(path: &Path) -> Result<Self, SetupError> {
        Self::parse(&FILE.text(path)?, path)
    }

    /// Reads its text. A file of alerts is looked for beside `path`.
    pub fn parse(text: &str, path: &Path) -> Result<Self, SetupError> {
        let written: Written = toml::from_str(text).map_err(|error| SetupError::Form {
            path: path.to_owned(),
            reason: error.to_string().trim_end().to_owned(),
        })?;
        let wrong = |(place, reason)| SetupError::Value { path: path.to_owned(), place, reason };
        let (alerts, alerts_path) = match (written.alerts, &written.rules[..], written.channels.is_empty()) {
            (None, ..) => {
                let Written { channels, classes, rules, .. } = written;
                (AlertTables { channels, classes, rules }.checked(path)?, None)
            }
            (Some(named), [], true) if written.classes.is_empty() => {
                let named = path.parent().unwrap_or(Path::new("")).join(named);
                (AlertFile::read(&named)?, Some(named))
            }
            (Some(_), ..) => {
                let reason = "names a file, and there are rules, classes or channels here as well: one place is enough";
                return Err(wrong(("alerts".into(), reason.into())));
            }
        };
        let defaults = sources::Defaults {
            interval: length("interval", written.interval, INTERVAL).map_err(wrong)?,
            timeout: length("timeout", written.timeout, TIMEOUT).map_err(wrong)?,
        };
        if written.source.is_empty() && written.job.is_empty() {
            let reason = "there is no source and no job: nothing would ever be done";
            return Err(wrong(("[[source]]".into(), reason.into())));
        }
        let channels: BTreeSet<&str> = alerts.channels.iter().map(|channel| channel.name.as_str()).collect();
        let sources = sources::checked(written.source, &defaults).map_err(wrong)?;
        let jobs = jobs::checked(written.job, &channels).map_err(wrong)?;
        let keep_raw = length("keep-raw", written.keep_raw, KEEP_RAW).map_err(wrong)?;
        Ok(Self { sources, jobs, alerts, alerts_path, metrics: written.metrics, keep_raw })
    }

    /// What was typed instead of a file.
    pub fn typed(typed: TypedSetup<'_>) -> Result<Self, AlertFileError> {
        let TypedSetup { sources, interval, timeout, filter, alerts_path, metrics, keep_raw } = typed;
        let source = |source: NamedSource| WatchedSource {
            name: source.name().to_owned(),
            address: source.address,
            secret: Some(source.secret),
            tags: Vec::new(),
            interval,
            timeout,
            filter: filter.clone(),
        };
        let alerts = alerts_path.map(AlertFile::read).transpose()?.unwrap_or_default();
        Ok(Self {
            sources: sources.into_iter().map(source).collect(),
            jobs: Vec::new(),
            alerts,
            alerts_path: alerts_path.map(Path::to_owned),
            metrics,
            keep_raw,
        })
    }

    /// The names of rules that none of the sources fits.
    pub fn rules_about_nothing(&self) -> Vec<&str> {
        let known: Vec<RuleSource> = self.sources.iter().map(WatchedSource::for_rules).collect();
        let is_idle = |rule: &&Rule| !known.iter().any(|source| rule.matches.fits_source(source));
        self.alerts.book.rules.iter().filter(is_idle).map(|rule| rule.name.as_str()).collect()
    }
}
