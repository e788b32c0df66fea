//! Use cases over history: what samples sources, and what answers questions about the samples.
//!
//! Requests and dependencies (sources, a clock, a store) go in, typed events and plain values come out. Nothing here knows
//! a command line or a terminal.

mod alerting;
mod clock;
mod collector;
mod error;
mod feed;
mod metrics;
mod once;
mod reports;
mod sampling;
#[cfg(test)]
mod simulation;
mod tiers;
pub mod windows;
mod writer;

pub use alerting::{AlertEvent, Alerting};
pub use clock::{MachineClock, WatchClock};
pub use collector::{CollectEvent, CollectObserver, Collector, Observers};
pub use error::WatchError;
pub use feed::{Feed, FeedEvent, FeedObserver, OpenSource, SampledFeed, StoredFeed};
pub use metrics::{Metrics, SourceNow};
pub use once::{OnceEvent, sample_once};
pub use reports::{ReportRequest, TimeRange, compare, report};
pub use sampling::{Event, Missed, Next, Retry, Sampler, SamplerOptions, Sampling, Stopper};
pub use writer::WriterEvent;
