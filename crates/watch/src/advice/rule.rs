//! What a rule is.

use serde::Serialize;

use super::facts::{Evidence, Facts};

/// What is at stake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// Data may be lost.
    Safety,
    /// I/O takes longer than it must.
    Speed,
    /// Something will be missed later: measurements, space, time for a restart.
    Care,
}

impl Weight {
    /// The name in documents and in text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Safety => "safety",
            Self::Speed => "speed",
            Self::Care => "care",
        }
    }
}

/// A named piece of advice.
#[derive(Debug, Serialize)]
pub struct Rule {
    /// Stays the same in every version.
    pub id: &'static str,
    pub weight: Weight,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// What to do.
    #[serde(rename = "what_to_do")]
    pub action: &'static str,
    /// Who says so.
    pub reference: &'static str,
    #[serde(skip)]
    pub(super) check: fn(&Facts<'_>) -> Outcome,
}

/// What became of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// It speaks.
    Found { evidence: Vec<Evidence> },
    /// What it needs is not known.
    Unknown { reason: String },
    /// It looked and has nothing to say.
    Fine,
    /// There is nothing here that it is about.
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

    /// What speaks comes first.
    pub(super) fn order(&self) -> u8 {
        match self {
            Self::Found { .. } => 0,
            Self::Unknown { .. } => 1,
            Self::Fine => 2,
            Self::NotAbout => 3,
        }
    }
}
