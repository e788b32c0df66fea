//! A number that was found, and how.

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    pub value: f64,
    pub basis: String,
}
