//! A drive as a stored run measured it.

use iostall_model::capacity::CapacityPoint;
use iostall_model::profile::Access;
use iostall_model::{CapacityRecord, RunNumber};
use iostall_store::{Selector, Store};
use thiserror::Error;

use crate::error::{SessionError, UseCaseError};

#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredDrive {
    pub iops: f64,
    /// Mean latency of a random request at that rate, milliseconds.
    pub latency_ms: f64,
    /// Sequential bytes a second; `None` if the run has nothing sequential.
    pub bytes_per_s: Option<f64>,
    /// The run and the measurement that the figures come from, in a few words.
    pub from: String,
}

#[derive(Debug, Error)]
#[error("run {number} measured no random requests of a device")]
struct NothingRandom {
    number: u32,
}

/// The drive that the run `selector` measured. Of several shapes of random requests the slowest counts, because a build must do
/// with the worst of them.
pub fn measured_drive(store: &dyn Store, selector: &Selector) -> Result<MeasuredDrive, SessionError> {
    let stored = store.get(selector)?;
    let RunNumber(number) = stored.number;
    let records = CapacityRecord::of_run(&stored.run);
    let best = |access: Access| {
        let records = records.iter().filter(move |record| record.shape.access == access);
        records.filter_map(|record| Some((record, record.best()?)))
    };
    let slowest = best(Access::Random).min_by(|(_, one), (_, other)| one.iops.total_cmp(&other.iops));
    let Some((record, point)) = slowest.filter(|(_, point)| point.iops > 0.0) else {
        let hint = "`iostall load --preset random-read` measures them, and `iostall runs` lists the runs";
        return Err(SessionError::OfUseCase(UseCaseError::new(
            NothingRandom { number },
            Some(hint.to_owned()),
        )));
    };
    let rates = best(Access::Sequential).map(|(_, point)| point.mib_per_s * 1_048_576.0);
    Ok(MeasuredDrive {
        iops: point.iops,
        latency_ms: latency_ms(point),
        bytes_per_s: rates.reduce(f64::min).filter(|rate| *rate > 0.0),
        from: format!(
            "run {number}: random {}, {} writes, {} in flight",
            record.shape.block_size, record.shape.write_pct, point.in_flight
        ),
    })
}

/// By Little's law, as all requests in flight were always in use.
fn latency_ms(point: &CapacityPoint) -> f64 {
    point.in_flight as f64 / point.iops * 1e3
}
