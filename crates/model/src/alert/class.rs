//! Selects the rows that a rule applies to, and their storage class.

use serde::{Deserialize, Serialize};

use crate::kind::Kind;
use crate::sample::Subject;

/// Parts of names that a row must contain. Absent parts match every row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Match {
    pub source: Option<String>,
    /// A tag of the source, exact match.
    pub tag: Option<String>,
    pub database: Option<String>,
    /// In its own name: a path, a relation, a device.
    pub file: Option<String>,
    /// In the name of its volume; for a device also in its own name.
    pub volume: Option<String>,
}

impl Match {
    pub fn fits(&self, source: &RuleSource, subject: &Subject) -> bool {
        let has = |part: &Option<String>, text: &str| part.as_ref().is_none_or(|part| text.contains(part));
        let in_database = self.database.is_none()
            || subject.scope.database().is_some_and(|database| has(&self.database, database));
        let on_volume = has(&self.volume, subject.volume.as_deref().unwrap_or_default())
            || subject.kind == Kind::LinuxDevice && has(&self.volume, &subject.name);
        self.fits_source(source) && in_database && has(&self.file, &subject.name) && on_volume
    }

    pub fn fits_source(&self, source: &RuleSource) -> bool {
        self.source.as_ref().is_none_or(|part| source.name.contains(part))
            && self.tag.as_ref().is_none_or(|tag| source.tags.contains(tag))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageClass {
    pub name: String,
    pub matches: Match,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSource {
    pub name: String,
    pub tags: Vec<String>,
    /// Time between ticks, nanoseconds.
    pub interval_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::{DeviceRole, Scope};

    #[test]
    fn every_part_that_is_given_must_be_there_and_a_device_is_found_by_its_own_name() {
        let subject = Subject {
            kind: Kind::LinuxDevice,
            scope: Scope::Device(DeviceRole::Disk),
            name: "nvme0n1".into(),
            identity: "259:0".into(),
            volume: Some("/var/lib/data".into()),
        };
        let linux = RuleSource { name: "linux:".into(), tags: vec!["prod".into()], interval_ns: 1 };
        let part = |text: &str| Some(text.to_owned());
        assert!(Match { tag: part("prod"), ..Match::default() }.fits(&linux, &subject));
        assert!(
            !Match { tag: part("pro"), ..Match::default() }.fits(&linux, &subject),
            "a tag is no part of one"
        );
        assert!(Match::default().fits(&linux, &subject));
        assert!(Match { volume: part("nvme"), ..Match::default() }.fits(&linux, &subject));
        assert!(Match { volume: part("/var/lib"), ..Match::default() }.fits(&linux, &subject));
        assert!(!Match { volume: part("sda"), ..Match::default() }.fits(&linux, &subject));
        let two = Match { source: part("linux"), file: part("sda"), ..Match::default() };
        assert!(!two.fits(&linux, &subject));
        let database = Match { database: part("disk"), ..Match::default() };
        assert!(!database.fits(&linux, &subject), "a role is no database");
    }
}
