//! The policy file of a server: who may push what to where. Nobody but who owns the machine writes it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use iostall_connect::address::PasswordFrom;
use iostall_connect::{Address, Engine};
use iostall_engine::Input;
use iostall_engine::files::{effective_user, stamp_of_path};
use iostall_measure::ByteCount;
use serde::Deserialize;

use super::pattern::{fits_name, fits_statement};
use crate::release::{Object, ObjectKind, PublicKey, SqlObject};
use crate::release_error::ReleaseError;

const FILE: Input = Input { what: "policy", limit: ByteCount(1 << 20) };
/// Permission bits with which users other than the owner change a file.
const OTHERS_WRITE: u32 = 0o022;
const ROOT: u32 = 0;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    path: PathBuf,
    pub(super) keys: Vec<PublicKey>,
    /// Where the agent keeps what it has to remember.
    pub(super) state: PathBuf,
    pub(super) lowest_version: u64,
    labels: BTreeMap<String, String>,
    sources: BTreeMap<String, Address>,
    rules: Vec<Rule>,
}

/// The form of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    keys: Vec<PublicKey>,
    state: PathBuf,
    #[serde(default)]
    lowest_version: u64,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// Addresses of databases, by what releases call them.
    #[serde(default)]
    sources: BTreeMap<String, String>,
    #[serde(default)]
    allow: Vec<Rule>,
}

/// Objects that may come, and where to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Rule {
    kind: ObjectKind,
    /// With `*` for any characters.
    names: Vec<String>,
    /// They go there under their own names.
    directory: Option<PathBuf>,
    /// They take the place of this file.
    file: Option<PathBuf>,
    /// Of kind `sql`: they run there.
    #[serde(default)]
    sources: Vec<String>,
    /// Patterns of what they may run.
    #[serde(default)]
    statements: Vec<String>,
    /// Patterns of what they may ask.
    #[serde(default)]
    verify: Vec<String>,
}

/// Where an object goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) path: PathBuf,
    /// The policy names the very file: what is there may be replaced, whoever put it there.
    pub(super) is_named: bool,
}

/// What programs for this machine are called.
pub fn platform() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}

impl Policy {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// If it is none, or somebody else than its owner could change it.
    pub fn read(path: &Path) -> Result<Self, ReleaseError> {
        let text = FILE.text(path)?;
        let stamp = stamp_of_path(path);
        let stamp = stamp.map_err(|source| ReleaseError::System { path: path.to_owned(), source })?;
        let invalid = |reason: String| ReleaseError::Policy { path: path.to_owned(), reason };
        if stamp.mode & OTHERS_WRITE != 0 {
            return Err(invalid("users other than its owner can change it (chmod go-w)".to_owned()));
        }
        if ![ROOT, effective_user()].contains(&stamp.uid) {
            return Err(invalid("it belongs to somebody else".to_owned()));
        }
        let written: Written =
            toml::from_str(&text).map_err(|error| invalid(error.to_string().trim_end().to_owned()))?;
        let Written { keys, state, lowest_version, labels, sources, allow: rules } = written;
        let sources = sources.into_iter().map(|(name, url)| Ok((address(&name, &url)?, name)));
        let sources = sources.map(|source| source.map(|(address, name)| (name, address)));
        let sources = sources.collect::<Result<_, String>>().map_err(invalid)?;
        let policy = Self { path: path.to_owned(), keys, state, lowest_version, labels, sources, rules };
        policy.check().map_err(invalid)?;
        Ok(policy)
    }

    fn check(&self) -> Result<(), String> {
        if self.keys.is_empty() {
            return Err("keys names nobody who may sign".to_owned());
        }
        if !self.state.is_absolute() {
            return Err("state is no absolute path".to_owned());
        }
        for rule in &self.rules {
            let kind = rule.kind.name();
            if rule.kind == ObjectKind::Sql {
                self.check_sql(rule)?;
                continue;
            }
            if !(rule.sources.is_empty() && rule.statements.is_empty() && rule.verify.is_empty()) {
                return Err(format!("allow {kind}: sources, statements and verify are for sql"));
            }
            let ((Some(place), None) | (None, Some(place))) = (&rule.directory, &rule.file) else {
                return Err(format!("allow {kind}: write either directory or file"));
            };
            if !place.is_absolute() {
                return Err(format!("allow {kind}: {} is no absolute path", place.display()));
            }
            if place.starts_with(&self.state) || rule.names.is_empty() {
                return Err(format!("allow {kind}: it names nothing, or lies within state"));
            }
        }
        Ok(())
    }

    fn check_sql(&self, rule: &Rule) -> Result<(), String> {
        if rule.directory.is_some() || rule.file.is_some() {
            return Err("allow sql: it goes to sources, and neither to a directory nor a file".to_owned());
        }
        if [&rule.names, &rule.sources, &rule.statements, &rule.verify].iter().any(|list| list.is_empty()) {
            return Err("allow sql: write names, sources, statements and verify".to_owned());
        }
        match rule.sources.iter().find(|source| !self.sources.contains_key(*source)) {
            Some(source) => Err(format!("allow sql: there is no {source:?} in [sources]")),
            None => Ok(()),
        }
    }

    /// What its keys are called in messages.
    pub(super) fn name(&self) -> String {
        format!("the policy {}", self.path.display())
    }

    /// What this server is, for releases and for the centre.
    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// Whether an object is meant for a server like this one.
    pub(super) fn is_meant(&self, object: &Object) -> bool {
        object.is_for(&self.labels) && (object.kind != ObjectKind::Program || object.name == platform())
    }

    /// The rule for an object, and the pattern that its name fits.
    fn rule(&self, kind: ObjectKind, name: &str) -> Result<Vec<(&Rule, &str)>, ReleaseError> {
        let mut of_kind = self.rules.iter().filter(|rule| rule.kind == kind).peekable();
        if of_kind.peek().is_none() {
            return Err(self.forbidden(kind, name, "no rule allows this kind of object"));
        }
        let fitting = of_kind.filter_map(|rule| {
            let pattern = rule.names.iter().find(|pattern| fits_name(pattern, name))?;
            Some((rule, pattern.as_str()))
        });
        let found: Vec<_> = fitting.collect();
        if found.is_empty() { Err(self.forbidden(kind, name, "no rule allows this name")) } else { Ok(found) }
    }

    fn forbidden(&self, kind: ObjectKind, name: &str, reason: &str) -> ReleaseError {
        ReleaseError::Forbidden {
            policy: self.path.clone(),
            object: format!("{}/{name}", kind.name()),
            reason: reason.to_owned(),
        }
    }

    /// Where an object goes.
    ///
    /// # Errors
    /// If nothing allows it.
    pub(super) fn destination(&self, kind: ObjectKind, name: &str) -> Result<Destination, ReleaseError> {
        let rules = self.rule(kind, name)?;
        let place = rules.first().and_then(|(rule, pattern)| match (&rule.file, &rule.directory) {
            (Some(file), _) => Some(Destination { path: file.clone(), is_named: true }),
            (None, Some(directory)) => {
                Some(Destination { path: directory.join(name), is_named: !pattern.contains('*') })
            }
            (None, None) => None,
        });
        place.ok_or_else(|| self.forbidden(kind, name, "its rule names no place"))
    }

    /// The database in which an object of kind `sql` runs.
    ///
    /// # Errors
    /// If no rule allows its name, its source and every statement of it.
    pub(super) fn database(&self, name: &str, object: &SqlObject) -> Result<&Address, ReleaseError> {
        let kind = ObjectKind::Sql;
        let rules = self.rule(kind, name)?;
        let here: Vec<&Rule> = rules
            .iter()
            .map(|(rule, _)| *rule)
            .filter(|rule| rule.sources.contains(&object.source))
            .collect();
        let source = self.sources.get(&object.source).filter(|_| !here.is_empty());
        let source = source.ok_or_else(|| {
            self.forbidden(kind, name, &format!("no rule allows the source {:?}", object.source))
        })?;
        let run = object.apply.iter().chain(&object.undo);
        let refused = |rule: &Rule| {
            let of = |patterns: &[String], text: &str| patterns.iter().any(|one| fits_statement(one, text));
            run.clone()
                .find(|text| !of(&rule.statements, text))
                .or_else(|| Some(&object.verify).filter(|text| !of(&rule.verify, text)))
        };
        let mut first = None;
        for rule in here {
            match refused(rule) {
                None => return Ok(source),
                Some(text) => first = first.or(Some(text)),
            }
        }
        let begin: String = first.map_or("", String::as_str).chars().take(80).collect();
        Err(self.forbidden(kind, name, &format!("no rule allows the statement {begin:?}")))
    }

    /// The database that releases call `source`, whatever runs there.
    pub(super) fn source(&self, source: &str) -> Option<&Address> {
        self.sources.get(source)
    }
}

/// The address of a database that nobody is asked for a password of.
fn address(name: &str, url: &str) -> Result<Address, String> {
    let wrong = |reason: &str| format!("sources: {name}: {reason}");
    let address: Address =
        url.parse().map_err(|error: iostall_connect::AddressError| wrong(&error.to_string()))?;
    if matches!(address.engine, Engine::Linux | Engine::Smart) {
        return Err(wrong("it is no database"));
    }
    if address.password == PasswordFrom::Prompt {
        return Err(wrong("nobody can be asked for a password here: write ?password-file=PATH"));
    }
    Ok(address)
}
