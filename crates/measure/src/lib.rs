//! Numbers with units, clocks, histograms and statistics. No I/O happens here.
//!
//! Everything in iostall that is counted, timed or averaged goes through this crate, so that a unit
//! or an error bound is decided once. So does text that others chose, before it is shown.

pub mod clock;
pub mod foreign;
pub mod histogram;
pub mod moments;
pub mod number;
pub mod percentile;
pub mod platform;
pub mod request;
pub mod unavailable;
pub mod units;

pub use clock::{Clock, ManualClock, MonotonicClock, RunClock};
pub use histogram::Histogram;
pub use moments::Moments;
pub use percentile::Percentile;
pub use request::{Caching, Durability, Op, SyncCall};
pub use unavailable::{Feature, Unavailable};
pub use units::{BlockSize, ByteCount, Nanos, Percent, Rate};
