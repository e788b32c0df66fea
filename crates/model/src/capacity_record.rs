//! What a device gave for one shape of I/O, as later questions ask for it: how much headroom is left, is it slower than last year.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::capacity::{Capacity, CapacityPoint, IoShape};
use crate::device::DeviceIdentity;
use crate::run::Run;
use crate::run_id::RunId;
use crate::warning::WarningCode;

/// What a device gave for one shape of I/O. It gave *at least* this: more in flight might have given more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapacityRecord {
    /// [`DeviceIdentity::key`]; `None` where the device has no name that outlives a boot.
    pub device_key: Option<String>,
    /// Its name on that host at that time.
    pub device: String,
    /// Model, as the device says.
    pub model: Option<String>,
    /// Host it was measured on.
    pub host: String,
    /// The run that it is from.
    pub run: RunId,
    /// When that began, UTC.
    pub measured_utc: Timestamp,
    /// What was asked.
    pub shape: IoShape,
    /// By requests in flight, ascending, then by rate.
    pub curve: Vec<CapacityPoint>,
    /// Reasons to doubt the run's numbers.
    pub warnings: Vec<WarningCode>,
}

impl CapacityRecord {
    /// What `run` says of the devices under its targets. Targets in memory or on a network have no device and no record.
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
            (!curve.is_empty()).then(|| Self {
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
        run.body.outcome().capacities(run.targets.len()).into_iter().filter_map(record).collect()
    }

    /// The point with the most requests a second.
    pub fn best(&self) -> Option<&CapacityPoint> {
        self.curve.iter().max_by(|one, other| one.iops.total_cmp(&other.iops))
    }
}
