//! The checks of a restored backup.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckState {
    Passed,
    Failed,
    /// Nothing is known: it cannot be made on this machine, or on this database.
    #[default]
    NotAvailable,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrillCheck {
    /// Such as `recovery` or `amcheck of shop`.
    pub name: String,
    pub state: CheckState,
    /// What was looked at, what is wrong, or why it could not be made.
    pub detail: String,
    pub elapsed_ns: u64,
}

impl DrillCheck {
    /// The name of the check that a database starts.
    pub const RECOVERY: &'static str = "recovery";
}
