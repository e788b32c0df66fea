//! What was done at a time, as people or programs note it.

use iostall_measure::named;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

named! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum NoteKind {
        /// None of the others, or one that only a newer iostall knows.
        #[default]
        Other = "other",
        /// A new version or another configuration of an application.
        Deploy = "deploy",
        /// Another server or another path took over.
        Failover = "failover",
        /// A backup or a restore, iostall's own included.
        Backup = "backup",
        /// A job, iostall's own included.
        Job = "job",
        Maintenance = "maintenance",
        /// A measurement or a copy by iostall itself.
        Run = "run",
        Setting = "setting",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Note {
    pub at: Timestamp,
    /// When it was over, if it took a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Timestamp>,
    #[serde(default)]
    pub kind: NoteKind,
    pub text: String,
}

impl Note {
    pub fn new(at: Timestamp, kind: NoteKind, text: impl Into<String>) -> Self {
        Self { at, end: None, kind, text: text.into() }
    }

    #[must_use]
    pub fn until(self, end: Timestamp) -> Self {
        Self { end: Some(end), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_one_name_everywhere() {
        for kind in NoteKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            assert_eq!(NoteKind::named(kind.name()), Some(kind));
        }
        assert_eq!(NoteKind::named("eclipse"), None);
    }
}
