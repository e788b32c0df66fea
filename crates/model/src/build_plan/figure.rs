//! A figure with its formula.

use iostall_measure::number::number;
use serde::Serialize;

pub(super) const GB: f64 = 1e9;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    pub name: &'static str,
    pub value: f64,
    pub unit: &'static str,
    /// With the numbers filled in.
    pub formula: String,
}

impl Figure {
    pub(super) fn new(name: &'static str, value: f64, unit: &'static str, formula: String) -> Self {
        Self { name, value, unit, formula }
    }

    pub fn shown(&self) -> String {
        shown(self.value)
    }
}

/// A number with three digits, also a very small one; a whole one without decimals.
pub(super) fn shown(value: f64) -> String {
    let whole = value.round();
    let is_whole = value.abs() < 100.0 && (value - whole).abs() <= 1e-9 * whole.abs();
    match value.abs() {
        _ if is_whole => format!("{value:.0}"),
        small if small < 0.01 => format!("{value:.2e}"),
        _ => number(value),
    }
}
