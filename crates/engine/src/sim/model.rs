//! Service times of a simulated device, given all previous requests.

use std::fmt::Debug;

use crate::request::{FileIndex, RequestOp};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// On the device's clock.
    pub now_ns: u64,
    pub op: RequestOp,
    /// Files may stand on devices of different speed.
    pub file: FileIndex,
    pub offset: u64,
    pub length: u32,
    /// A draw from the exponential distribution of mean 1, for models with random service times: the same
    /// seed gives the same draws.
    pub exponential: f64,
}

impl Arrival {
    pub fn is_sync(&self) -> bool {
        matches!(self.op, RequestOp::Fdatasync | RequestOp::Fsync | RequestOp::SyncFileRange)
    }
}

pub trait DeviceModel: Debug + Send {
    /// When a request that arrives now ends. Called once for every request, in order of arrival; the model
    /// keeps its own state.
    fn end_ns(&mut self, arrival: &Arrival) -> u64;
}
