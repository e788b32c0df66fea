//! What is to be built, and the build.

use iostall_measure::ByteCount;
use serde::Serialize;

use super::demand::{Demand, Drive, Role};
use super::figure::Figure;
use super::level::RaidLevel;

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
