//! A number that was found, and how.

use serde::Serialize;

/// A number and what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    pub value: f64,
    pub basis: String,
}
