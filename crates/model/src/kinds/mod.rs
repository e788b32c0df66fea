//! The run kinds, one file each.

mod backup;
mod backup_drill;
mod backup_tune;
mod backup_verify;
mod copy;
mod flash;
mod fsync;
mod guard;
mod limits;
mod load;
mod matrix;
mod max_rate;
mod outcome;
mod qualify;
mod restore;
mod sqlserver_backup;
mod sqlserver_verify;
mod sweep;
mod verify;
mod write;

use std::any::Any;

use serde::{Deserialize, Serialize};

pub use self::backup::BackupOutcome;
pub use self::backup_drill::DrillOutcome;
pub use self::backup_tune::{
    BackupTuneOutcome, PartAlone, TuneAnswer, TuneLimit, TunePart, TunedRestore, TunedServer, TunedSetting,
};
pub use self::backup_verify::{BackupVerifyOutcome, BaseUse, Newest};
pub use self::copy::CopyOutcome;
pub use self::flash::{
    Between, ClosedForm, FlashLife, FlashOutcome, FlashTenth, FlashUpkeep, FlashWear, Nand, SpareFor,
};
pub use self::fsync::FsyncOutcome;
pub use self::guard::GuardOutcome;
pub use self::limits::LimitsOutcome;
pub use self::load::{AskedFormat, AskedProfile, LoadOutcome};
pub use self::matrix::{EarlierCells, MatrixOutcome, MatrixPlan};
pub use self::max_rate::MaxRateOutcome;
pub use self::outcome::Outcome;
pub use self::qualify::QualifyOutcome;
pub use self::restore::{RestoreOutcome, RestoredTablespace};
pub use self::sqlserver_backup::{
    BackupEnd, FileInBackup, HistoryEntry, ProgressPoint, ReadBack, SqlServerBackupOutcome,
};
pub use self::sqlserver_verify::{BackupHeader, SqlServerVerifyOutcome};
pub use self::sweep::SweepOutcome;
pub use self::verify::VerifyOutcome;
pub use self::write::{PacedOutcome, SweetSpot};
use crate::give_way::GiveWay;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunBody {
    /// `iostall load` and everything built on it.
    Load(LoadOutcome),
    Sweep(Box<SweepOutcome>),
    Matrix(Box<MatrixOutcome>),
    /// `iostall sweep --max-rate`.
    MaxRate(Box<MaxRateOutcome>),
    Copy(Box<CopyOutcome>),
    Verify(VerifyOutcome),
    Write(PacedOutcome),
    Fsync(FsyncOutcome),
    /// `iostall backup create`.
    Backup(Box<BackupOutcome>),
    Restore(Box<RestoreOutcome>),
    BackupVerify(Box<BackupVerifyOutcome>),
    BackupTune(Box<BackupTuneOutcome>),
    BackupDrill(Box<DrillOutcome>),
    /// `iostall backup run --sqlserver`.
    SqlServerBackup(Box<SqlServerBackupOutcome>),
    /// `iostall backup verify --sqlserver`.
    SqlServerVerify(Box<SqlServerVerifyOutcome>),
    Flash(Box<FlashOutcome>),
    Qualify(Box<QualifyOutcome>),
    Limits(Box<LimitsOutcome>),
    Guard(Box<GuardOutcome>),
}

impl RunBody {
    pub fn outcome(&self) -> &dyn Outcome {
        match self {
            Self::Load(outcome) => outcome,
            Self::Sweep(outcome) => &**outcome,
            Self::Matrix(outcome) => &**outcome,
            Self::MaxRate(outcome) => &**outcome,
            Self::Copy(outcome) => &**outcome,
            Self::Verify(outcome) => outcome,
            Self::Write(outcome) => outcome,
            Self::Fsync(outcome) => outcome,
            Self::Backup(outcome) => &**outcome,
            Self::Restore(outcome) => &**outcome,
            Self::BackupVerify(outcome) => &**outcome,
            Self::BackupTune(outcome) => &**outcome,
            Self::BackupDrill(outcome) => &**outcome,
            Self::SqlServerBackup(outcome) => &**outcome,
            Self::SqlServerVerify(outcome) => &**outcome,
            Self::Flash(outcome) => &**outcome,
            Self::Qualify(outcome) => &**outcome,
            Self::Limits(outcome) => &**outcome,
            Self::Guard(outcome) => &**outcome,
        }
    }

    pub fn as_kind<T: Outcome>(&self) -> Option<&T> {
        let outcome: &dyn Any = self.outcome();
        outcome.downcast_ref()
    }

    pub fn gave_way(&self) -> Option<&GiveWay> {
        match self {
            Self::Copy(outcome) => outcome.gave_way.as_ref(),
            Self::Write(outcome) => outcome.gave_way.as_ref(),
            Self::Backup(outcome) => outcome.gave_way.as_ref(),
            Self::Restore(outcome) => outcome.gave_way.as_ref(),
            Self::Load(_)
            | Self::Sweep(_)
            | Self::Matrix(_)
            | Self::MaxRate(_)
            | Self::Verify(_)
            | Self::Fsync(_)
            | Self::BackupVerify(_)
            | Self::BackupTune(_)
            | Self::BackupDrill(_)
            | Self::SqlServerBackup(_)
            | Self::SqlServerVerify(_)
            | Self::Flash(_)
            | Self::Qualify(_)
            | Self::Limits(_)
            | Self::Guard(_) => None,
        }
    }

    pub fn kind(&self) -> &'static str {
        self.outcome().kind()
    }
}
