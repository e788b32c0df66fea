//! The policy file of a server: who may push what to where. Nobody but who owns the machine writes it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use iostall_engine::Input;
use iostall_engine::files::{effective_user, open_to_others, stamp_of_path};
use iostall_measure::ByteCount;
use serde::Deserialize;

use crate::release::{ObjectKind, PublicKey};
use crate::release_error::ReleaseError;

const FILE: Input = Input { what: "policy", limit: ByteCount(1 << 20) };
/// Permission bits with which users other than the owner change a file.
const OTHERS_WRITE: u32 = 0o022;
const ROOT: u32 = 0;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    path: PathBuf,
    pub(super) keys: Vec<PublicKey>,
    pub(super) state: PathBuf,
    pub(super) lowest_version: u64,
    labels: BTreeMap<String, String>,
    rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    keys: Vec<PublicKey>,
    state: PathBuf,
    #[serde(default)]
    lowest_version: u64,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    allow: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Rule {
    kind: ObjectKind,
    /// With `*` for any characters.
    names: Vec<String>,
    /// They go there under their own names.
    directory: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) path: PathBuf,
    /// The policy names the very file: what is there may be replaced, whoever put it there.
    pub(super) is_named: bool,
}

impl Policy {
    pub fn read(path: &Path) -> Result<Self, ReleaseError> {
        // Where it lies, and where a link there leads to.
        let real = path.canonicalize();
        for place in [Some(path), real.as_deref().ok()].into_iter().flatten() {
            let parent =
                place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if let Ok(Some(directory)) = open_to_others(parent) {
                let reason = format!("another account can change what is in {}", directory.display());
                return Err(ReleaseError::Policy { path: path.to_owned(), reason });
            }
        }
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
        let Written { keys, state, lowest_version, labels, allow: rules } = written;
        let policy = Self { path: path.to_owned(), keys, state, lowest_version, labels, rules };
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
            let place = &rule.directory;
            if !place.is_absolute() {
                return Err(format!("allow {kind}: {} is no absolute path", place.display()));
            }
            if place.starts_with(&self.state) || rule.names.is_empty() {
                return Err(format!("allow {kind}: it names nothing, or lies within state"));
            }
        }
        Ok(())
    }

    pub(super) fn name(&self) -> String {
        format!("the policy {}", self.path.display())
    }

    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    pub(super) fn destination(&self, kind: ObjectKind, name: &str) -> Result<Destination, ReleaseError> {
        let mut of_kind = self.rules.iter().filter(|rule| rule.kind == kind).peekable();
        if of_kind.peek().is_none() {
            return Err(self.forbidden(kind, name, "no rule allows this kind of object"));
        }
        let mut places = of_kind.filter_map(|rule| {
            let pattern = rule.names.iter().find(|pattern| fits(pattern, name))?;
            Some(Destination { path: rule.directory.join(name), is_named: !pattern.contains('*') })
        });
        places.next().ok_or_else(|| self.forbidden(kind, name, "no rule allows this name"))
    }

    fn forbidden(&self, kind: ObjectKind, name: &str, reason: &str) -> ReleaseError {
        ReleaseError::Forbidden {
            policy: self.path.clone(),
            object: format!("{}/{name}", kind.name()),
            reason: reason.to_owned(),
        }
    }
}

/// For an agent that does what a centre tells it: who owns the server's files decides by their owner what it can write.
pub fn refuse_root() -> Result<(), ReleaseError> {
    if effective_user() == ROOT { Err(ReleaseError::Root) } else { Ok(()) }
}

/// Whether a name fits a pattern, in which `*` is any characters.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((begin, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(begin) else { return false };
    let mut parts = rest.split('*');
    let end = parts.next_back().unwrap_or_default();
    for part in parts {
        // The first place will do: it leaves most for what follows.
        let Some((_, after)) = name.split_once(part) else { return false };
        name = after;
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_in_a_name_is_any_characters() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "a.toml"),
            ("a.toml", "a.toml"),
            ("site-*.toml", "site-berlin.toml"),
            ("*.toml", ".toml"),
            ("a*b*c", "abbbc"),
            ("*a*", "xax"),
            ("**", "x"),
            ("a*a", "aa"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("", "a"),
            ("a.toml", "a.tomlx"),
            ("a.toml", "b.toml"),
            ("site-*.toml", "site-.tom"),
            ("*.toml", "a.toml.bak"),
            ("a*a", "a"),
            ("a*b*c", "acb"),
            ("a.c", "abc"),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }
}
