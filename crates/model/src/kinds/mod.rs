//! The kinds of run: one file each, and here what each of them has to say of itself.

mod copy;
mod load;
mod matrix;
mod max_rate;
mod sweep;
mod verify;
mod write;

use serde::{Deserialize, Serialize};

pub use self::copy::CopyOutcome;
pub use self::load::LoadOutcome;
pub use self::matrix::{MatrixOutcome, MatrixPlan};
pub use self::max_rate::MaxRateOutcome;
pub use self::sweep::SweepOutcome;
pub use self::verify::VerifyOutcome;
pub use self::write::{PacedOutcome, SweetSpot};
use crate::measured::Measured;
use crate::outcome::EngineUse;
use crate::point::Point;
use crate::profile::Profile;
use crate::summary::Summary;

/// What a run of any kind says of itself. Nothing has a default: a new kind answers all of it.
pub trait Outcome {
    /// Its word in listings, in the store and in names of files; the key of its outcome in documents.
    fn kind(&self) -> &'static str;
    /// How much of target `index`, which has `whole_bytes`, was used from its start; `None` where it does not say.
    fn used_bytes(&self, index: usize, whole_bytes: u64) -> Option<u64>;
    /// The load that was asked for; `None` where there is none, or more than one.
    fn profile(&self) -> Option<&Profile>;
    /// The engines that carried the requests out.
    fn engines(&self) -> Vec<&EngineUse>;
    /// What was measured setting by setting, in the order of measuring.
    fn points(&self) -> &[Point];
    /// What can be compared with another run's, by name.
    fn measured(&self) -> Vec<Measured>;
    /// The few numbers that a listing shows.
    fn summary(&self) -> Summary;
}

/// What kind of run, and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunBody {
    /// `iostall load` and everything that drives it.
    Load(LoadOutcome),
    /// `iostall sweep`.
    Sweep(Box<SweepOutcome>),
    /// `iostall matrix`.
    Matrix(Box<MatrixOutcome>),
    /// `iostall sweep --max-rate`.
    MaxRate(Box<MaxRateOutcome>),
    /// `iostall copy`.
    Copy(Box<CopyOutcome>),
    /// `iostall verify`.
    Verify(VerifyOutcome),
    /// `iostall write`.
    Write(PacedOutcome),
}

impl RunBody {
    /// The outcome, of whatever kind.
    pub fn outcome(&self) -> &dyn Outcome {
        match self {
            Self::Load(outcome) => outcome,
            Self::Sweep(outcome) => &**outcome,
            Self::Matrix(outcome) => &**outcome,
            Self::MaxRate(outcome) => &**outcome,
            Self::Copy(outcome) => &**outcome,
            Self::Verify(outcome) => outcome,
            Self::Write(outcome) => outcome,
        }
    }

    /// [`Outcome::kind`].
    pub fn kind(&self) -> &'static str {
        self.outcome().kind()
    }
}
