//! How many drives a demand takes.

use super::demand::{Demand, Drive};
use super::level::RaidLevel;

/// What the drives do for one random request of the host.
pub(super) fn operations_per_request(demand: &Demand, level: RaidLevel) -> f64 {
    let writes = demand.writes.fraction();
    (1.0 - writes) + writes * f64::from(level.write_penalty())
}

pub(super) fn drives_for_size(demand: &Demand, level: RaidLevel, drive: &Drive) -> f64 {
    let size = (drive.size.bytes() as f64).max(1.0);
    level.with_redundancy((demand.size.bytes() as f64 / size).ceil().max(1.0))
}

pub(super) fn drives_for_iops(demand: &Demand, level: RaidLevel, drive: &Drive) -> f64 {
    (demand.iops * operations_per_request(demand, level) / drive.iops).ceil()
}

/// Drives for the sequential bytes of a volume, a whole number: whole stripes, to each drive with data its part.
pub(super) fn drives_for_rate(demand: &Demand, level: RaidLevel, drive: &Drive) -> f64 {
    if demand.sequential_bytes_per_s <= 0.0 {
        return 0.0;
    }
    level.with_redundancy((demand.sequential_bytes_per_s / drive.bytes_per_s).ceil())
}
