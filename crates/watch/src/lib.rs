//! Use cases around history: sampling sources, and answering questions about the samples.
//!
//! Requests and dependencies (sources, a clock, a store) go in, typed events and plain values come out.
//! Nothing here knows about command lines or terminals.

mod alerting;
mod channels;
mod clock;
mod collector;
mod drills;
mod endurance;
mod error;
mod feed;
mod file_watch;
mod fleet;
mod import;
mod jobs;
mod metrics;
mod named;
mod note;
mod once;
mod push;
mod ratings_error;
mod reports;
mod sampling;
mod service;
mod settings;
mod setup;
mod setup_error;
#[cfg(test)]
mod simulation;
mod slots;
mod stored_feed;
mod stored_past;
mod tiers;
pub mod windows;
mod writer;

pub use alerting::{AlertEvent, Alerting};
pub use channels::test_channels;
pub use clock::{MachineClock, WatchClock};
pub use collector::{CollectEvent, CollectObserver, Collector, Observers};
pub use endurance::{EnduranceReport, EnduranceRequest, TypedRating, drive_endurance, stored_endurance};
pub use error::WatchError;
pub use feed::{Feed, FeedEvent, FeedObserver, OpenSource, SampledFeed, Travel};
pub use fleet::{initialise_repository, open_repository, send_history};
pub use import::{Import, ImportEvent, ManagementDatabase};
pub use jobs::{
    Calendar, Job, JobEnd, JobReport, JobRunner, Jobs, ProcessRunner, RunningJob, units_text, write_units,
};
pub use metrics::{Metrics, SourceNow};
pub use named::{AskPassword, NamedSource, named_sources};
pub use note::add_note;
pub use once::{OnceEvent, sample_once};
pub use push::{BACKLOG, PushEvent, PushTarget, WrittenPush};
pub use ratings_error::RatingsError;
pub use reports::{ReportRequest, TimeRange, compare, report};
pub use sampling::{Event, Missed, Next, Retry, Sampler, SamplerOptions, Sampling, Stopper};
pub use service::CollectorService;
pub use setup::{CollectorSetup, INTERVAL, KEEP_RAW, TIMEOUT, TypedSetup, WatchedSource};
pub use setup_error::SetupError;
pub use slots::{EachSlot, Slot, slots};
pub use stored_feed::StoredFeed;
pub use writer::WriterEvent;
