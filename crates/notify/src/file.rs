//! The file with rules, storage classes and channels.

mod channels;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use iostall_engine::{Input, InputError};
use iostall_measure::ByteCount;
use iostall_model::alert::{Match, RuleBook, StorageClass};
use serde::Deserialize;
use thiserror::Error;

pub use self::channels::{Pulse, Written as WrittenChannel};
pub use self::rules::Written as WrittenRule;
use crate::channel::{Channel, Transport};

/// Enough for thousands of rules.
const ALERTS: Input = Input { what: "file of alerts", limit: ByteCount(1 << 20) };

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlertFile {
    pub book: RuleBook,
    pub channels: Vec<Channel>,
    pub pulses: Vec<Pulse>,
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AlertFileError {
    #[error(transparent)]
    Read(#[from] InputError),
    #[error("{path} is not a file of alerts: {reason}", path = path.display())]
    Form {
        path: PathBuf,
        /// The parser's message, with the line.
        reason: String,
    },
    #[error("{path}: {place}: {reason}", path = path.display())]
    Value {
        path: PathBuf,
        place: String,
        /// What is wrong, and what to write.
        reason: String,
    },
}

type Wrong = (String, String);

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AlertTables {
    #[serde(default)]
    pub channels: BTreeMap<String, WrittenChannel>,
    #[serde(default)]
    pub classes: Vec<WrittenClass>,
    #[serde(default)]
    pub rules: Vec<WrittenRule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenClass {
    name: String,
    source: Option<String>,
    tag: Option<String>,
    database: Option<String>,
    file: Option<String>,
    volume: Option<String>,
}

impl AlertFile {
    pub fn read(path: &Path) -> Result<Self, AlertFileError> {
        Self::parse(&ALERTS.text(path)?, path)
    }

    /// Parses its text; `path` is for messages.
    pub fn parse(text: &str, path: &Path) -> Result<Self, AlertFileError> {
        let tables: AlertTables = toml::from_str(text).map_err(|error| AlertFileError::Form {
            path: path.to_owned(),
            reason: error.to_string().trim_end().to_owned(),
        })?;
        let is_heartbeat = |channel: &WrittenChannel| channel.is_heartbeat();
        if tables.rules.is_empty() && !tables.channels.values().any(is_heartbeat) {
            return Err(AlertFileError::Value {
                path: path.to_owned(),
                place: "[[rules]]".into(),
                reason: "there is no rule, so no alert would ever be sent".into(),
            });
        }
        tables.checked(path)
    }
}

impl AlertTables {
    pub fn checked(self, path: &Path) -> Result<AlertFile, AlertFileError> {
        checked(self, path.parent().unwrap_or(Path::new("")))
            .map_err(|(place, reason)| AlertFileError::Value { path: path.to_owned(), place, reason })
    }
}

fn checked(written: AlertTables, base: &Path) -> Result<AlertFile, Wrong> {
    let classes: Vec<StorageClass> = written
        .classes
        .into_iter()
        .map(|WrittenClass { name, source, tag, database, file, volume }| StorageClass {
            name,
            matches: Match { source, tag, database, file, volume },
        })
        .collect();
    let mut names = BTreeSet::new();
    for class in &classes {
        let place = format!("class {:?}", class.name);
        if !names.insert(&class.name) {
            return Err((place, "is there twice".into()));
        }
        if class.matches == Match::default() {
            return Err((place, "fits everything: say which source, tag, database, file or volume".into()));
        }
    }
    let (mut channels, mut pulses) = (Vec::new(), Vec::new());
    for (name, channel) in written.channels {
        let place = format!("channel {name:?}");
        let checked = channel.checked(name, base).map_err(|reason| (place, reason))?;
        channels.push(checked.channel);
        pulses.extend(checked.pulse);
    }
    let known = notified(&channels);
    let mut rules = Vec::new();
    for rule in written.rules {
        let place = format!("rule {:?}", rule.name());
        if rules.iter().any(|other: &iostall_model::alert::Rule| other.name == rule.name()) {
            return Err((place, "is there twice".into()));
        }
        rules.push(rule.checked(&classes, &known).map_err(|reason| (place, reason))?);
    }
    Ok(AlertFile { book: RuleBook { classes, rules }, channels, pulses })
}

fn notified(channels: &[Channel]) -> BTreeSet<&str> {
    let is_notified = |channel: &&Channel| !matches!(channel.transport, Transport::Heartbeat(_));
    channels.iter().filter(is_notified).map(|channel| channel.name.as_str()).collect()
}

impl AlertFile {
    pub fn notified(&self) -> BTreeSet<&str> {
        notified(&self.channels)
    }
}

#[cfg(test)]
mod tests;
