//! What a rule is.

use serde::Serialize;

use super::facts::Facts;
use super::outcome::Outcome;

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
