//! A collector's setup: sources, jobs and alerts, from a TOML file or from the command line.

mod jobs;
mod sources;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use iostall_collect::Filter;
use iostall_engine::Input;
use iostall_measure::{ByteCount, Nanos};
use iostall_model::Kind;
use iostall_model::alert::{Rule, RuleSource, kinds_of};
use iostall_notify::{AlertFile, AlertTables, WrittenChannel, WrittenClass, WrittenRule};
use serde::Deserialize;

use self::sources::length;
use crate::error::SetupError;
use crate::jobs::Job;
use crate::named::NamedSource;
use crate::push::{PushTarget, WrittenPush};

pub(crate) use sources::Purpose;
pub use sources::WatchedSource;

/// Enough for thousands of sources.
const FILE: Input = Input { what: "collector's file", limit: ByteCount(4 << 20) };

/// Default interval between samples.
pub const INTERVAL: Duration = Duration::from_secs(10);
/// Default timeout of a reading.
pub const TIMEOUT: Duration = Duration::from_secs(10);
/// Default retention of raw samples.
pub const KEEP_RAW: Duration = Duration::from_secs(14 * 24 * 3600);

#[derive(Clone, Debug, PartialEq)]
pub struct CollectorSetup {
    pub sources: Vec<WatchedSource>,
    pub jobs: Vec<Job>,
    pub alerts: AlertFile,
    pub path: Option<PathBuf>,
    pub alerts_path: Option<PathBuf>,
    /// The address for Prometheus.
    pub metrics: Option<String>,
    pub pushes: Vec<PushTarget>,
    pub keep_raw: Duration,
}

/// A setup from the command line: one interval and one filter for all sources.
pub struct TypedSetup<'a> {
    pub sources: Vec<NamedSource>,
    pub interval: Duration,
    pub timeout: Duration,
    pub filter: Filter,
    pub alerts_path: Option<&'a Path>,
    /// The address for Prometheus.
    pub metrics: Option<String>,
    pub push: Option<WrittenPush>,
    pub keep_raw: Duration,
}

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
    push: Vec<WrittenPush>,
    #[serde(default)]
    job: Vec<jobs::Written>,
    #[serde(default)]
    channels: BTreeMap<String, WrittenChannel>,
    #[serde(default)]
    classes: Vec<WrittenClass>,
    #[serde(default)]
    rules: Vec<WrittenRule>,
}

/// The receivers, each once.
fn pushes(written: Vec<WrittenPush>, directory: &Path) -> Result<Vec<PushTarget>, sources::Wrong> {
    let (mut checked, mut names) = (Vec::new(), BTreeSet::new());
    for (place, one) in written.into_iter().enumerate() {
        // An invalid address may be a secret, so the label does not show it.
        let label = format!("push {}", place + 1);
        let one = PushTarget::checked(one, directory).map_err(|reason| (label.clone(), reason))?;
        if !names.insert(one.identity()) {
            return Err((label, format!("{} is there twice: everything would be sent twice", one.name())));
        }
        checked.push(one);
    }
    Ok(checked)
}

impl CollectorSetup {
    /// Reads the file at `path`, and the alert file it names, if any.
    pub fn read(path: &Path) -> Result<Self, SetupError> {
        Self::read_for(path, Purpose::Collect)
    }

    /// The same of a file whose sources are pulled into a repository.
    pub fn read_pulled(path: &Path) -> Result<Self, SetupError> {
        Self::read_for(path, Purpose::Pull)
    }

    pub(crate) fn read_for(path: &Path, purpose: Purpose) -> Result<Self, SetupError> {
        Self::parse_for(&FILE.text(path)?, path, purpose)
    }

    /// Parses the text. The path of an alert file is relative to `path`.
    pub fn parse(text: &str, path: &Path) -> Result<Self, SetupError> {
        Self::parse_for(text, path, Purpose::Collect)
    }

    fn parse_for(text: &str, path: &Path, purpose: Purpose) -> Result<Self, SetupError> {
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
        let channels = alerts.notified();
        let sources = sources::checked(written.source, &defaults, purpose).map_err(wrong)?;
        let jobs = jobs::checked(written.job, &channels).map_err(wrong)?;
        let keep_raw = length("keep-raw", written.keep_raw, purpose.keep_raw(KEEP_RAW)).map_err(wrong)?;
        let pushes = pushes(written.push, path.parent().unwrap_or(Path::new(""))).map_err(wrong)?;
        let path = Some(path.to_owned());
        Ok(Self { sources, jobs, alerts, path, alerts_path, metrics: written.metrics, pushes, keep_raw })
    }

    pub fn typed(typed: TypedSetup<'_>) -> Result<Self, SetupError> {
        let TypedSetup { sources, interval, timeout, filter, alerts_path, metrics, push, keep_raw } = typed;
        let source = |source: NamedSource| WatchedSource {
            name: source.name().to_owned(),
            secret: Some(source.secret),
            tags: Vec::new(),
            interval: sources::usual_interval(source.address.engine, interval),
            timeout,
            filter: filter.clone(),
            address: source.address,
            server: None,
        };
        let alerts = alerts_path.map(AlertFile::read).transpose()?.unwrap_or_default();
        let push = push.map(|push| PushTarget::checked(push, Path::new("")));
        let pushes = push.transpose().map_err(SetupError::Push)?.into_iter().collect();
        Ok(Self {
            sources: sources.into_iter().map(source).collect(),
            jobs: Vec::new(),
            alerts,
            path: None,
            alerts_path: alerts_path.map(Path::to_owned),
            metrics,
            pushes,
            keep_raw,
        })
    }

    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.path.iter().chain(&self.alerts_path).cloned().collect()
    }

    pub fn rules_about_nothing(&self) -> Vec<&str> {
        let known: Vec<RuleSource> = self.sources.iter().map(WatchedSource::for_rules).collect();
        let is_idle = |rule: &&Rule| {
            !rule.condition.is_about_drills() && !known.iter().any(|source| rule.matches.fits_source(source))
        };
        self.alerts.book.rules.iter().filter(is_idle).map(|rule| rule.name.as_str()).collect()
    }

    /// What is to be said of rules before any of them is evaluated.
    pub fn doubtful_rules(&self) -> Vec<String> {
        let idle = self.rules_about_nothing().into_iter();
        let idle = idle.map(|rule| format!("the rule {rule:?} is about none of these sources"));
        let never = self.rules_that_never_fire().into_iter();
        let never = never.map(|(rule, reason)| format!("the rule {rule:?} can never fire: {reason}"));
        idle.chain(never).collect()
    }

    /// Rules that can fire on none of the sources that they are about, each with why.
    pub fn rules_that_never_fire(&self) -> Vec<(&str, String)> {
        let never = |rule: &'_ Rule| {
            let its = self.sources.iter().filter(|source| rule.matches.fits_source(&source.for_rules()));
            let kinds: Vec<Kind> = its.flat_map(|source| kinds_of(source.address.engine.scheme())).collect();
            if kinds.is_empty() { None } else { rule.why_never(&kinds) }
        };
        let rules = self.alerts.book.rules.iter();
        rules.filter_map(|rule| Some((rule.name.as_str(), never(rule)?))).collect()
    }
}
