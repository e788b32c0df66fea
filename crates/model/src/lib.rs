//! The data types that iostall stores and shows. No I/O, no clock, no formatting.

pub mod alert;
pub mod atomic;
pub mod backup;
pub mod backup_entry;
pub mod backup_plan;
pub mod build_plan;
pub mod capacity;
mod capacity_record;
pub mod claim;
pub mod comparable;
pub mod counter;
pub mod delta;
pub mod device;
pub mod distribution;
pub mod drill;
pub mod drive;
mod entry;
pub mod figures;
pub mod flash;
pub mod give_way;
pub mod guard;
pub mod identity;
pub mod job;
pub mod kind;
pub mod kinds;
pub mod level;
pub mod limits;
pub mod measured;
pub mod metric;
mod newest_backup;
mod note;
pub mod outcome;
pub mod paced;
pub mod part;
pub mod point;
pub mod powerfail;
pub mod profile;
pub mod qualify;
pub mod requirement;
pub mod reset;
pub mod retention;
pub mod rollup;
pub mod run;
pub mod sample;
pub mod scope;
mod setting;
pub mod slots;
mod spelling;
pub mod sqlserver_backup;
pub mod stack_check;
pub mod stripe;
pub mod sync;
mod target_identity;
pub mod totals;
pub mod transfer;
mod transfer_use;
mod unread;
pub mod verdict;
pub mod volume_log;
pub mod wal_archive;
pub mod warning;

pub use capacity_record::CapacityRecord;
pub use counter::{Counter, Counters};
pub use delta::{Change, Step};
pub use entry::{Entry, RunId, RunNumber, Summary};
pub use give_way::GiveWay;
pub use identity::{Identity, PathIdentity};
pub use kind::Kind;
pub use kinds::{
    AskedFormat, AskedProfile, BackupEnd, BackupHeader, BackupOutcome, BackupTuneOutcome,
    BackupVerifyOutcome, BaseUse, CopyOutcome, DrillOutcome, EarlierCells, FileInBackup, FlashOutcome,
    FsyncOutcome, GuardOutcome, HistoryEntry, LimitsOutcome, LoadOutcome, MatrixOutcome, MatrixPlan,
    MaxRateOutcome, Newest, Outcome, PacedOutcome, PartAlone, ProgressPoint, QualifyOutcome, ReadBack,
    RestoreOutcome, RestoredTablespace, RunBody, SqlServerBackupOutcome, SqlServerVerifyOutcome,
    SweepOutcome, TuneAnswer, TuneLimit, TunePart, TunedRestore, TunedServer, TunedSetting, VerifyOutcome,
};
pub use level::Level;
pub use measured::{IntervalFigures, Measured};
pub use newest_backup::{BackupSort, NewestBackup};
pub use note::{Note, NoteKind};
pub use outcome::{Cell, OpOutcome, RoleOutcome, SpanOutcome};
pub use point::{Point, Repeat};
pub use profile::{Profile, RoleProfile, SpanProfile};
pub use reset::ResetReason;
pub use rollup::{Peak, Rollup, StallHistogram, Tier};
pub use run::Run;
pub use sample::{Epoch, Gap, Row, Sample, SampleTime, Subject};
pub use scope::{DeviceRole, Scope};
pub use setting::{
    Setting, SettingChange, SettingClass, SettingVersion, changes_in, difference, notes_of_changes,
};
pub use target_identity::{FileIdentity, TargetIdentity};
pub use totals::Totals;
pub use transfer_use::TransferUse;
pub use unread::with_unread_of;
pub use verdict::{FigureUnit, Verdict};
pub use warning::{Warning, WarningCode};

#[cfg(test)]
mod tests;
