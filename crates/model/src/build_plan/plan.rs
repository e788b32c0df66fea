//! What is to be built, and the build.

use iostall_measure::ByteCount;
use iostall_measure::number::number;
use serde::Serialize;

use super::demand::{Demand, Drive, Role};
use super::level::RaidLevel;

pub(super) const GB: f64 = 1e9;

#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    pub role: Role,
    pub demand: Demand,
    /// `None`: the usual one of its role.
    pub level: Option<RaidLevel>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BuildRequest {
    pub volumes: Vec<Volume>,
    pub drive: Drive,
    pub request_bytes: ByteCount,
    /// Drives that stand by for any array; `None`: one for each enclosure that is begun.
    pub hot_spares: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedArray {
    pub role: Role,
    pub demand: Demand,
    pub level: RaidLevel,
    pub drives: u64,
    /// Each with its formula, the numbers filled in.
    pub figures: Vec<Figure>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BuildPlan {
    pub drive: Drive,
    pub arrays: Vec<PlannedArray>,
    pub hot_spares: u64,
    /// With those that stand by.
    pub drives: u64,
    pub figures: Vec<Figure>,
}

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
