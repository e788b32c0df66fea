//! Stores for runs and for the history of watched sources: a local SQLite file, so that a number measured
//! today can be found, compared and exported next year.
//!
//! [`Store`] is the interface for runs and [`History`] that for history; [`SqliteStore`] and
//! [`SqliteHistory`] are the
//! local implementations, in one file; [`PostgresHistory`] is the central repository of a fleet. Runs ([`Run`](iostall_model::Run)) are stored as JSON documents with a
//! few columns that listings show and filter by. The schema is in `migrations/`, the statements in
//! `queries/`.

mod collector_state;
mod document;
mod entry;
mod error;
mod fleet_run;
mod fleet_secret;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod history;
mod identity;
mod lake_day;
mod location;
mod member;
mod postgres;
mod push;
mod repository_error;
mod selector;
mod sent_run;
mod sheet;
mod sqlite;
mod store;

#[cfg(test)]
mod contract;
#[cfg(test)]
mod sample;

pub use collector_state::{CollectorState, REMOVED_NOTES, SettingsRead, StoredNote};
pub use document::DocumentError;
pub use entry::{Entry, Filter, RunNumber};
pub use error::StoreError;
pub use fleet_run::{FleetNote, FleetNoteFilter, FleetRun, FleetRunFilter, RunPut, ServerNames};
pub use fleet_secret::{FleetSecret, SecretHash};
pub use history::{
    Appended, BODY_BYTES_MAX, Batch, BatchError, History, ImportMark, Retention, RollupRow, RowColumns,
    SampleColumns, Seams, SeenWarning, SeriesId, Source, SourceId, StoreId, Watched, WireError,
};
pub use lake_day::{
    LakeDay, LakeEpoch, LakeHour, LakeMove, LakeReader, LakeRow, LakeSeal, LakeSeries, LakeSource,
    LakeSwitch, LakeTable,
};
pub use location::{default_path, default_path_in};
pub use member::{Contact, Joined, Joining, KnownServer, Member, MemberAppended, MemberState, Membership};
pub use postgres::{
    FleetServer, FleetSizes, FleetUse, Holder, Holding, Initialised, InitialisedRepository, PostgresHistory,
    PulledAppend, SharedDevice, StallDay,
};
pub use push::{
    AgentReport, NewPush, PushCounts, PushServer, PushedServer, StoredPush, UnreachedServer, WantedPush,
};
pub use repository_error::RepositoryError;
pub use selector::{FRAGMENT_DIGITS_MIN, Selector, SelectorError};
pub use sent_run::{RunMark, RunsToSend, SentRun, SentRunError};
pub use sheet::{
    SentSheet, SheetContent, SheetError, SheetKind, SheetMark, SheetNote, SheetPut, SheetSetting,
    SheetsToSend,
};
pub use sqlite::{SqliteHistory, SqliteStore};
pub use store::{Store, Stored, StoredCapacity};
