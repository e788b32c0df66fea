//! What measured numbers say about storage: where its knee is, whether something throttles it, how sure a number
//! is. Pure: numbers in, numbers out; no clock, no device, no formatting.

pub mod compare;
pub mod confidence;
pub mod knee;
pub mod rate;
pub mod throttle;
