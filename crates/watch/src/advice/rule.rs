//! What a rule is.

use iostall_measure::named;
use serde::Serialize;

use super::facts::Facts;
use super::outcome::Outcome;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Weight {
        /// Data may be lost.
        Safety = "safety",
        /// I/O takes longer than it must.
        Speed = "speed",
        /// Something will be missed later: measurements, space, time for a restart.
        Care = "care",
    }
}

#[derive(Debug, Serialize)]
pub struct Rule {
    /// Stays the same in every version.
    pub id: &'static str,
    pub weight: Weight,
    pub title: &'static str,
    pub why: &'static str,
    #[serde(rename = "what_to_do")]
    pub action: &'static str,
    pub reference: &'static str,
    #[serde(skip)]
    pub(super) check: fn(&Facts<'_>) -> Outcome,
}
