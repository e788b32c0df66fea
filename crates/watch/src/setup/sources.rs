//! Sources as they are written.

use std::collections::BTreeSet;
use std::time::Duration;

use iostall_collect::address::PasswordFrom;
use iostall_collect::{Address, Filter, Secret};
use iostall_measure::Nanos;
use iostall_model::alert::RuleSource;
use serde::Deserialize;

use super::place::{Wrong, length};

/// A source, how often it is sampled, and what of it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchedSource {
    /// The name that its history goes by.
    pub name: String,
    /// Where it is.
    pub address: Address,
    /// Its password, if that is known already.
    pub secret: Option<Secret>,
    /// What it belongs to, for rules and reports.
    pub tags: Vec<String>,
    /// From sample to sample.
    pub interval: Duration,
    /// How long it may take to answer.
    pub timeout: Duration,
    /// Which rows are kept.
    pub filter: Filter,
}

impl WatchedSource {
    /// What rules know of it.
    pub(crate) fn for_rules(&self) -> RuleSource {
        let interval_ns = u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX);
        RuleSource { name: self.name.clone(), tags: self.tags.clone(), interval_ns }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Written {
    url: String,
    name: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    interval: Option<Nanos>,
    timeout: Option<Nanos>,
    #[serde(default)]
    databases: Vec<String>,
    #[serde(default)]
    files: Vec<String>,
}

/// What counts for a source that says nothing else.
pub(super) struct Defaults {
    pub(super) interval: Duration,
    pub(super) timeout: Duration,
}

pub(super) fn checked(written: Vec<Written>, defaults: &Defaults) -> Result<Vec<WatchedSource>, Wrong> {
    let (mut sources, mut names) = (Vec::new(), BTreeSet::new());
    for (place, one) in written.into_iter().enumerate() {
        // An address that cannot be read may hold a password: the place says which it is.
        let label =
            one.name.clone().map_or(format!("source {}", place + 1), |name| format!("source {name:?}"));
        let source = source(one, defaults).map_err(|reason| (label.clone(), reason))?;
        if !names.insert(source.name.clone()) {
            return Err((label, format!("{:?} is there twice: its samples would mix", source.name)));
        }
        sources.push(source);
    }
    Ok(sources)
}

fn source(written: Written, defaults: &Defaults) -> Result<WatchedSource, String> {
    let address: Address = written
        .url
        .parse()
        .map_err(|error: iostall_collect::AddressError| format!("{error}: {}", error.hint()))?;
    if address.password == PasswordFrom::Prompt {
        return Err("nobody can be asked for a password here: write ?password-file=PATH".into());
    }
    let name = written.name.unwrap_or_else(|| address.to_string());
    if name.trim().is_empty() || name.contains(['\n', '\r']) {
        return Err("the name must be a line with something in it".into());
    }
    if written.tags.iter().any(|tag| tag.trim().is_empty()) {
        return Err("a tag must have a letter in it".into());
    }
    let longer = |(key, reason): Wrong| format!("{key} {reason}");
    let interval = length("interval", written.interval, defaults.interval).map_err(longer)?;
    if interval < Duration::from_secs(1) {
        return Err("the shortest interval is 1s".into());
    }
    Ok(WatchedSource {
        name,
        address,
        secret: None,
        tags: written.tags,
        interval,
        timeout: length("timeout", written.timeout, defaults.timeout).map_err(longer)?,
        filter: Filter { databases: written.databases, names: written.files },
    })
}
