//! Capacity records answer later questions about a device: how much headroom is left, is it slower than last
//! year.

use iostall_measure::Caching;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::capacity::{Capacity, CapacityPoint, IoShape};
use crate::device::DeviceIdentity;
use crate::entry::RunId;
use crate::run::Run;
use crate::warning::{Rank, WarningCode, names};

/// What a device achieved with one shape of I/O. This is a lower bound: more requests in flight might have
/// achieved more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapacityRecord {
    /// [`DeviceIdentity::key`]; `None` if the device has no persistent name.
    pub device_key: Option<String>,
    pub device: String,
    pub model: Option<String>,
    pub host: String,
    pub run: RunId,
    pub measured_utc: Timestamp,
    pub shape: IoShape,
    /// By requests in flight, ascending, then by rate.
    pub curve: Vec<CapacityPoint>,
    pub warnings: Vec<WarningCode>,
}

impl CapacityRecord {
    /// The records of a run for the devices under its targets. Targets in memory or on a network have no
    /// device and no record.
    pub fn of_run(run: &Run) -> Vec<Self> {
        let warnings: Vec<WarningCode> = run.warnings.iter().map(|warning| warning.code).collect();
        let record = |capacity: Capacity| {
            let index = capacity.target as usize;
            let device = run.targets.get(index)?.device.as_ref()?;
            let mut curve = capacity.curve;
            curve.sort_by(|one, other| {
                let rate = |point: &CapacityPoint| point.rate_iops.unwrap_or(0.0);
                one.in_flight.cmp(&other.in_flight).then(rate(one).total_cmp(&rate(other)))
            });
            Some(Self {
                device_key: run.devices.get(index).and_then(Option::as_ref).and_then(DeviceIdentity::key),
                device: device.name.clone(),
                model: device.model.clone(),
                host: run.host.hostname.clone(),
                run: run.id,
                measured_utc: run.started_utc,
                shape: capacity.shape,
                curve,
                warnings: warnings.clone(),
            })
        };
        let all = run.body.outcome().capacities(run.targets.len()).into_iter().filter_map(record);
        all.filter_map(Self::of_device).collect()
    }

    /// The one gate to all that is made of a record: `None` if it does not say what the device can do. The numbers may be those of
    /// something else, the page cache may have given them, or no more was asked for. What is stored may be older than this rule.
    pub fn of_device(mut self) -> Option<Self> {
        let is_valid = self.warnings.iter().all(|code| code.rank() != Rank::Invalidates);
        self.curve.retain(|point| !point.is_paced());
        let is_direct = self.shape.caching == Caching::Direct;
        (is_valid && is_direct && !self.curve.is_empty()).then_some(self)
    }

    /// What it is doubted for, in words; empty if it is not.
    pub fn warned_of(&self) -> String {
        names(self.warnings.iter().copied(), WarningCode::is_more_than_note)
    }

    pub fn best(&self) -> Option<&CapacityPoint> {
        self.curve.iter().max_by(|one, other| one.iops.total_cmp(&other.iops))
    }
}
