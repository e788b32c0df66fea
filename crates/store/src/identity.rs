//! Ids of stores, sources and series, the same wherever their history goes.

use std::fmt;
use std::str::FromStr;

use iostall_model::Subject;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoreId(Uuid);

/// The id of a watched source: the same in its own store and in every store that receives its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceId(Uuid);

/// The id of one subject of one source. Derived from the subject, so that every store arrives at the same
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesId(Uuid);

impl StoreId {
    pub(crate) fn new(at: Timestamp) -> Self {
        Self(at_time(at))
    }

    /// The id of a server without a store of its own, by the name under which `repository` has its sources sampled.
    pub(crate) fn of_pulled(repository: Self, server: &str) -> Self {
        Self(derived(repository.0, &["pulled server", server]))
    }

    /// Whether it is that of a server without a store of its own, whose sources are pulled.
    pub fn is_of_pulled(&self) -> bool {
        self.0.get_version_num() == 5
    }
}

impl SourceId {
    pub fn new(at: Timestamp) -> Self {
        Self(at_time(at))
    }

    pub(crate) fn of_pulled(server: StoreId, name: &str) -> Self {
        Self(derived(server.0, &["pulled source", name]))
    }
}

impl SeriesId {
    /// The id of `subject` in `source`. It survives a rename or a move.
    pub fn of(source: SourceId, subject: &Subject) -> Self {
        let scope = subject.scope.name().as_bytes();
        let mut text = vec![subject.kind as u8, subject.scope.number()];
        // Preceded by its length, so that the scope's name cannot be confused with the start of the identity.
        text.extend((scope.len() as u64).to_le_bytes());
        text.extend(scope);
        text.extend(subject.identity.as_bytes());
        Self(Uuid::new_v5(&source.0, &text))
    }
}

/// The id of what is known by `parts` in a source, such as an epoch by its document and its clock.
pub(crate) fn derived_id(source: SourceId, parts: &[&str]) -> Uuid {
    derived(source.0, parts)
}

fn derived(space: Uuid, parts: &[&str]) -> Uuid {
    let mut text = Vec::new();
    for part in parts {
        // Preceded by its length, so that the end of one part cannot be confused with the start of the next.
        text.extend((part.len() as u64).to_le_bytes());
        text.extend(part.as_bytes());
    }
    Uuid::new_v5(&space, &text)
}

fn at_time(at: Timestamp) -> Uuid {
    let seconds = u64::try_from(at.as_second()).unwrap_or(0);
    let nanos = u32::try_from(at.subsec_nanosecond()).unwrap_or(0);
    Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos))
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for SeriesId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for StoreId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        text.parse().map(Self)
    }
}

impl FromStr for SourceId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_model::{Kind, Scope};

    #[test]
    fn a_series_is_what_a_thing_is_and_not_what_it_is_called() {
        let source: SourceId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        let subject = |scope, name: &str, identity: &str| Subject {
            kind: Kind::SqlServerFile,
            scope,
            name: name.into(),
            identity: identity.into(),
            volume: None,
        };
        let sales = || Scope::Database("sales".into());
        let id = SeriesId::of(source, &subject(sales(), "a.mdf", "1"));
        assert_eq!(id, SeriesId::of(source, &subject(sales(), "b.mdf", "1")), "renamed");
        assert_ne!(id, SeriesId::of(source, &subject(Scope::Database("sales1".into()), "a.mdf", "")));
        assert_ne!(id, SeriesId::of(source, &subject(Scope::Cgroup("sales".into()), "a.mdf", "1")));
        // Stores of different years must agree.
        assert_eq!(id.to_string(), "d3603551-39bf-5832-be61-4fb66e2650fd");
    }
}
