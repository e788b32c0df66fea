//! Numbers with units, clocks, histograms and statistics. No I/O.
//!
//! Every count, time and average in iostall goes through this crate, so that units and error bounds are
//! decided in one place. So does text from outside before it is shown.

pub mod clock;
pub mod foreign;
pub mod hint;
pub mod histogram;
pub mod moments;
mod named;
pub mod number;
pub mod percentile;
pub mod platform;
pub mod request;
pub mod unavailable;
pub mod units;
pub mod windows_path;

pub use clock::{Clock, ManualClock, MonotonicClock, RunClock};
pub use histogram::Histogram;
pub use moments::Moments;
pub use percentile::Percentile;
pub use request::{Caching, Durability, Op, SyncCall};
pub use unavailable::{Feature, Unavailable};
pub use units::{BlockSize, ByteCount, Nanos, Percent, Rate, Throughput, as_typed};
pub use windows_path::WindowsPath;
