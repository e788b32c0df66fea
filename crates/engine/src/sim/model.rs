//! What a simulated device is made of: how long it takes for a request, given all that it has had before.

use std::fmt::Debug;

use crate::request::RequestOp;

/// A request that reaches the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// When, on the device's clock.
    pub now_ns: u64,
    /// What it asks for.
    pub op: RequestOp,
    /// Where in its file.
    pub offset: u64,
    /// How much.
    pub length: u32,
    /// A draw from the exponential distribution of mean 1, for models that vary: the same seed gives the same draws.
    pub exponential: f64,
}

impl Arrival {
    /// Whether it moves no data.
    pub fn is_sync(&self) -> bool {
        matches!(self.op, RequestOp::Fdatasync | RequestOp::Fsync)
    }
}

/// A device, as far as time is concerned.
pub trait DeviceModel: Debug + Send {
    /// When a request that arrives now is done. Asked once for every request, in the order they arrive; what the answer depends on
    /// is the model's own.
    fn end_ns(&mut self, arrival: &Arrival) -> u64;
}
