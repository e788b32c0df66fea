//! Use cases around history: sampling sources, and answering questions about the samples.
//!
//! Requests and dependencies (sources, a clock, a store) go in, typed events and plain values come out.
//! Nothing here knows about command lines or terminals.

mod advice;
mod alerting;
pub mod centre;
mod centre_error;
pub mod centre_protocol;
mod clock;
mod collector;
mod confirmed;
mod databases_near;
pub mod deploy;
mod destination;
mod drills;
mod endurance;
mod error;
mod feed;
mod figure;
mod file_watch;
mod fleet;
mod fleet_report;
mod follow;
mod import;
pub mod intake;
mod jobs;
mod metrics;
mod named;
mod note;
mod once;
pub mod pull;
mod push;
mod push_follow;
pub mod release;
mod release_error;
mod reported_volumes;
mod reports;
pub mod rollout;
mod sampling;
mod sent_runs;
mod service;
mod set_aside;
mod settings;
mod settings_history;
mod setup;
#[cfg(test)]
mod simulation;
mod slots;
mod state;
mod stored_feed;
mod stored_past;
mod tiers;
pub mod windows;
mod writer;

pub use advice::{Evidence, Outcome, Rule, RuleAdvice, SourceAdvice, Weight, advise, rules as advice_rules};
pub use alerting::{AlertEvent, Alerting, test_channels};
pub use clock::{MachineClock, WatchClock};
pub use collector::{CollectEvent, CollectObserver, Collector, Observers};
pub use confirmed::{Confirmed, SPOOL_AGE_MAX, SPOOL_BYTES_MAX, Unconfirmed, put_confirmed};
pub use databases_near::databases_near;
pub use destination::{Destination, Known};
pub use endurance::{
    EnduranceReport, EnduranceRequest, Judged, RatedLife, TypedRating, drive_endurance, rated_bytes,
    stored_endurance,
};
pub use error::{RatingsError, SetupError, WatchError};
pub use feed::{Feed, FeedEvent, FeedObserver, OpenSource, SampledFeed, Travel};
pub use figure::Figure;
pub use fleet::{SendEvent, initialise_repository, open_repository, send_history, wait_for_repositories};
pub use fleet_report::{
    DailyTrend, FleetCapacity, FleetDevice, FleetFile, FleetLoad, FleetReport, FleetRequest, ServerFault,
    ServerState, fleet_report,
};
pub use follow::{FollowEvent, Follower, follow_history};
pub use import::{Import, ImportEvent, ManagementDatabase};
pub use jobs::{
    Calendar, Job, JobEnd, JobReport, JobRunner, Jobs, ProcessRunner, RunningJob, units_text, write_units,
};
pub use metrics::{Metrics, SourceNow};
pub use named::{AskPassword, NamedSource, named_sources};
pub use note::add_note;
pub use once::{OnceEvent, sample_once};
pub use push::{BACKLOG, PushEvent, PushNow, PushTarget, WrittenPush};
pub use push_follow::{Asked, PushFollower};
pub use reports::{ReportRequest, TimeRange, check_window, compare, report};
pub use sampling::{Event, Missed, Next, Retry, Sampler, SamplerOptions, Sampling, Stopper};
pub use service::CollectorService;
pub use set_aside::{SetAside, set_aside};
pub use settings_history::{
    SourceChanges, SourceChoice, SourceSettings, setting_changes, setting_difference, settings_at,
};
pub use setup::{CollectorSetup, INTERVAL, KEEP_RAW, TIMEOUT, TypedSetup, WatchedSource};
pub use slots::{EachSlot, Slot, slots};
pub use stored_feed::StoredFeed;
pub use writer::WriterEvent;
