//! What becomes of a rule.

use jiff::Timestamp;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// What it is of; empty for the source itself.
    pub subject: String,
    pub name: String,
    pub value: String,
    pub since: Timestamp,
    /// What it is compared with, if that is not said by the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    Found { evidence: Vec<Evidence> },
    Unknown { reason: String },
    Fine,
    NotAbout,
}

impl Outcome {
    /// What was found; without evidence it is fine.
    pub(super) fn found(evidence: impl IntoIterator<Item = Evidence>) -> Self {
        let evidence: Vec<Evidence> = evidence.into_iter().collect();
        if evidence.is_empty() { Self::Fine } else { Self::Found { evidence } }
    }

    pub(super) fn unknown(reason: impl Into<String>) -> Self {
        Self::Unknown { reason: reason.into() }
    }

    pub(super) fn order(&self) -> u8 {
        match self {
            Self::Found { .. } => 0,
            Self::Unknown { .. } => 1,
            Self::Fine => 2,
            Self::NotAbout => 3,
        }
    }
}
