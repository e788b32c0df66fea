//! Verdicts: what was measured, against a requirement.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FigureUnit {
    #[serde(rename = "ns")]
    Nanoseconds,
    #[serde(rename = "bytes_per_s")]
    BytesPerSecond,
    #[serde(rename = "per_s")]
    PerSecond,
    #[serde(rename = "count")]
    Count,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// As typed.
    pub requirement: String,
    pub met: bool,
    /// The part of the run that decided: the worst of those that the requirement names. Absent: the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// What was measured; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<f64>,
    /// Absent where the requirement is not about a figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<FigureUnit>,
    /// Why it is not met, where the figure does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
